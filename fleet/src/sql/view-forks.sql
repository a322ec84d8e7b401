-- The first place at which two genuine bundles of one ticket have different checkpoints. A bundle whose signatures are
-- wrong shows no history of the card, so it makes no fork.
CREATE VIEW forks AS
SELECT key, seat, serial, ticket, min(place) AS place
FROM (
    SELECT s.key, s.seat, s.serial, s.ticket, c.serial AS place
    FROM chain s JOIN checkpoints c ON c.bundle = s.bundle
    WHERE s.genuine
    GROUP BY s.key, s.seat, s.serial, s.ticket, c.serial
    HAVING count(DISTINCT c.digest) > 1
)
GROUP BY key, seat, serial, ticket
