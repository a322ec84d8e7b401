-- The last session of a chain, if it is not closed, and a later one that is open in the public log.
SELECT s.key, s.seat, s.serial, s.name AS bundle,
    concat('session ', s.serial, ' is the last of its chain and is not closed') AS detail
FROM chain s
JOIN (SELECT key, seat, max(serial) AS serial FROM chain GROUP BY key, seat) l
    ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial
WHERE NOT s.closed
UNION ALL
SELECT l.key, l.seat, l.serial, CAST(NULL AS VARCHAR) AS bundle,
    'this session is in no bundle; it is open in the public log' AS detail
FROM logged l
JOIN (SELECT key, seat, max(serial) AS last FROM chain GROUP BY key, seat) c ON c.key = l.key AND c.seat = l.seat
WHERE l.opened AND NOT l.ended AND l.serial > c.last
