-- A ticket names the last checkpoint of the session before it, or none if that session was abandoned.
WITH before AS (
    SELECT key, seat, serial, bool_and(closed) AS closed, bool_and(known) AS known
    FROM chain
    GROUP BY key, seat, serial
)
SELECT s.key, s.seat, s.serial, s.name AS bundle,
    CASE
        WHEN s.previous_close IS NULL THEN 'its ticket says that the session before was abandoned, but that was closed'
        ELSE 'its ticket names another end of the session before than that bundle shows'
    END AS detail
FROM chain s
JOIN before b ON b.key = s.key AND b.seat = s.seat AND b.serial + 1 = s.serial
LEFT JOIN chain m
    ON m.key = s.key AND m.seat = s.seat AND m.serial + 1 = s.serial AND m.last_checkpoint = s.previous_close
WHERE b.known AND ((s.previous_close IS NOT NULL AND m.bundle IS NULL) OR (s.previous_close IS NULL AND b.closed))
UNION ALL
SELECT s.key, s.seat, s.serial, s.name AS bundle,
    'its ticket names an end of the session before, and the public log says that it was abandoned' AS detail
FROM chain s JOIN logged l ON l.key = s.key AND l.seat = s.seat AND l.serial + 1 = s.serial
WHERE l.abandoned AND s.previous_close IS NOT NULL
