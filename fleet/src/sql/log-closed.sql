-- The public log has the end of the session, and the bundle does not.
SELECT s.key, s.seat, s.serial, s.name AS bundle, 'the public log says that the session was closed' AS detail
FROM chain s JOIN logged l ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial AND l.ticket = s.ticket
WHERE l.closed AND s.known AND NOT s.closed
