-- Several bundles of one ticket that show one history would count twice.
SELECT s.key, s.seat, s.serial, min(s.name) AS bundle,
    concat('one session in several bundles: ', string_agg(s.name, ', ' ORDER BY s.name)) AS detail
FROM chain s LEFT JOIN forks f ON f.ticket = s.ticket
WHERE f.ticket IS NULL AND s.ticket IS NOT NULL
GROUP BY s.key, s.seat, s.serial, s.ticket
HAVING count(*) > 1
