-- Cards and seats of the public log of which neither a bundle nor a ticket is there.
SELECT l.key, l.seat, CAST(NULL AS BIGINT UNSIGNED) AS serial, CAST(NULL AS VARCHAR) AS bundle,
    concat('the public log has ', count(*), ' opened sessions of this card and seat') AS detail
FROM logged l
LEFT JOIN (SELECT key, seat FROM chain UNION SELECT key, seat FROM issued) c ON c.key = l.key AND c.seat = l.seat
WHERE l.opened AND c.key IS NULL
GROUP BY l.key, l.seat
