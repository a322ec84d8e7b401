-- A witness saw more checkpoints of a session than its bundle shows.
SELECT w.key, w.seat, w.serial, min(s.name) AS bundle,
    concat('a witness saw checkpoint ', max(w.checkpoint), ', and the bundle ends before it') AS detail
FROM witnessed w
JOIN (
    SELECT key, seat, serial, min(name) AS name, max(checkpoints) AS checkpoints FROM chain GROUP BY key, seat, serial
) s ON s.key = w.key AND s.seat = w.seat AND s.serial = w.serial
WHERE w.checkpoint >= s.checkpoints
GROUP BY w.key, w.seat, w.serial
