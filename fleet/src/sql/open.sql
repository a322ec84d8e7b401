-- The last session of a chain, if it is not closed.
SELECT s.key, s.seat, s.serial, s.name AS bundle,
    concat('session ', s.serial, ' is the last of its chain and is not closed') AS detail
FROM chain s
JOIN (SELECT key, seat, max(serial) AS serial FROM chain GROUP BY key, seat) l
    ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial
WHERE NOT s.closed
