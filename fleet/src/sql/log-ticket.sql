-- The public log has another ticket of this serial, or none although witnesses saw it after the session began.
SELECT s.key, s.seat, s.serial, s.name AS bundle, 'the public log has another ticket of this serial' AS detail
FROM chain s JOIN logged l ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial
WHERE l.ticket <> s.ticket
UNION ALL
SELECT key, seat, serial, name AS bundle,
    'witnesses saw the public log after this session began, and its ticket was not in it' AS detail
FROM unlogged
WHERE settled > first_seen
