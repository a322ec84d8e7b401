-- Tickets that were issued, and of which the issuer knows no session. The last ticket of a chain can be such a one.
SELECT l.key, l.seat, l.serial, CAST(NULL AS VARCHAR) AS bundle,
    'the public log says that this ticket was issued, and that no session was reported' AS detail
FROM logged l
JOIN (SELECT DISTINCT key, seat FROM chain) c ON c.key = l.key AND c.seat = l.seat
LEFT JOIN chain s ON s.key = l.key AND s.seat = l.seat AND s.serial = l.serial
WHERE NOT l.opened AND NOT l.ended AND s.bundle IS NULL
