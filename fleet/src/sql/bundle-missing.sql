-- Tickets, witnessed sessions and sessions in the public log of which no bundle is there.
SELECT i.key, i.seat, i.serial, i.name AS bundle,
    'an issuer gave this ticket, and its session is in no bundle' AS detail
FROM issued i LEFT JOIN chain s ON s.ticket = i.ticket
WHERE s.bundle IS NULL
UNION ALL
SELECT w.key, w.seat, w.serial, min(w.name) AS bundle,
    'a witness saw this session, and it is in no bundle' AS detail
FROM witnessed w LEFT JOIN chain s ON s.key = w.key AND s.seat = w.seat AND s.serial = w.serial
WHERE s.bundle IS NULL
GROUP BY w.key, w.seat, w.serial
UNION ALL
SELECT l.key, l.seat, l.serial, CAST(NULL AS VARCHAR) AS bundle,
    'the public log says that this session was opened, and it is in no bundle' AS detail
FROM logged l
JOIN (SELECT DISTINCT key, seat FROM chain) c ON c.key = l.key AND c.seat = l.seat
LEFT JOIN chain s ON s.key = l.key AND s.seat = l.seat AND s.serial = l.serial
WHERE l.opened AND l.ended AND s.bundle IS NULL
