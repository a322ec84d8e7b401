-- An issuer gives each serial once. Tickets count whether or not their sessions are in a bundle.
SELECT key, seat, serial, min(name) AS bundle,
    concat('one serial, and more than one ticket: ', string_agg(name, ', ' ORDER BY name)) AS detail
FROM (
    SELECT key, seat, serial, ticket, name FROM chain WHERE ticket IS NOT NULL
    UNION
    SELECT key, seat, serial, ticket, name FROM issued
)
GROUP BY key, seat, serial
HAVING count(DISTINCT ticket) > 1
