-- Tickets and witnessed sessions of which no bundle is there.
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
