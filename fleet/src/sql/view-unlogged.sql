-- The sessions that the public log does not have: it is that of their issuer, or has other sessions of their chain.
CREATE VIEW unlogged AS
SELECT s.key, s.seat, s.serial, s.name, s.first_seen, h.settled
FROM chain s
CROSS JOIN log_heads h
LEFT JOIN logged l ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial
LEFT JOIN (SELECT DISTINCT key, seat FROM logged) c ON c.key = s.key AND c.seat = s.seat
WHERE l.serial IS NULL AND (c.key IS NOT NULL OR s.issuer_key = h.issuer)
