-- A session that was not closed, and that the next ticket calls abandoned; a ticket that its issuer gave up.
WITH before AS (
    SELECT key, seat, serial, bool_and(closed) AS closed, bool_and(known) AS known
    FROM chain
    GROUP BY key, seat, serial
)
SELECT s.key, s.seat, s.serial, s.name AS bundle, 'the session before it was abandoned' AS detail
FROM chain s
JOIN before b ON b.key = s.key AND b.seat = s.seat AND b.serial + 1 = s.serial
WHERE b.known AND s.previous_close IS NULL AND NOT b.closed
UNION ALL
SELECT l.key, l.seat, l.serial, CAST(NULL AS VARCHAR) AS bundle,
    'the public log says that the issuer gave this ticket up before a session was reported' AS detail
FROM logged l
JOIN (SELECT DISTINCT key, seat FROM chain) c ON c.key = l.key AND c.seat = l.seat
LEFT JOIN chain s ON s.key = l.key AND s.seat = l.seat AND s.serial = l.serial
WHERE l.abandoned AND NOT l.opened AND s.bundle IS NULL
