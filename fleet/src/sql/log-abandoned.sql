-- The public log calls a session abandoned, and its bundle shows that it was closed.
SELECT s.key, s.seat, s.serial, s.name AS bundle,
    'the public log says that the session was abandoned, and its bundle is closed' AS detail
FROM chain s JOIN logged l ON l.key = s.key AND l.seat = s.seat AND l.serial = s.serial AND l.ticket = s.ticket
WHERE l.abandoned AND s.known AND s.closed
