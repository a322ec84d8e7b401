-- Serials for which there is neither a bundle nor a ticket. A chain begins with serial 1. Tickets that the issuer gave up
-- before a session was reported have no bundle.
SELECT key, seat, serial, CAST(NULL AS VARCHAR) AS bundle,
    concat('sessions ', before + 1, ' to ', serial - 1, ' are missing') AS detail
FROM (
    SELECT key, seat, serial,
        coalesce(lag(serial) OVER (PARTITION BY key, seat ORDER BY serial), CAST(0 AS BIGINT UNSIGNED)) AS before
    FROM (
        SELECT key, seat, serial FROM chain
        UNION SELECT key, seat, serial FROM issued
        UNION SELECT l.key, l.seat, l.serial FROM logged l
            JOIN chain c ON c.key = l.key AND c.seat = l.seat
            WHERE l.abandoned AND NOT l.opened
    )
)
WHERE serial > before AND serial - before > 1
