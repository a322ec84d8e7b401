-- A session that was not closed, and that the next ticket calls abandoned.
WITH before AS (
    SELECT key, seat, serial, bool_and(closed) AS closed, bool_and(known) AS known
    FROM chain
    GROUP BY key, seat, serial
)
SELECT s.key, s.seat, s.serial, s.name AS bundle, 'the session before it was abandoned' AS detail
FROM chain s
JOIN before b ON b.key = s.key AND b.seat = s.seat AND b.serial + 1 = s.serial
WHERE b.known AND s.previous_close IS NULL AND NOT b.closed
