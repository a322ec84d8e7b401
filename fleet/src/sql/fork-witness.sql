-- A witness saw another checkpoint for a place than the bundles of that session show.
SELECT w.key, w.seat, w.serial, min(s.name) AS bundle,
    concat('a witness saw another checkpoint ', w.checkpoint, ' than the bundle shows') AS detail
FROM witnessed w
JOIN chain s ON s.key = w.key AND s.seat = w.seat AND s.serial = w.serial
JOIN checkpoints c ON c.bundle = s.bundle AND c.serial = w.checkpoint
GROUP BY w.key, w.seat, w.serial, w.checkpoint, w.digest
HAVING NOT bool_or(c.digest = w.digest)
