-- A seat is one card, and a card has one session at a time. Times are those of trusted witnesses. Serials with more
-- than one bundle are left out: other checks report them. The clocks of two witnesses can differ; one witness refuses
-- such a session.
SELECT key, seat, serial, bundle,
    concat('a witness saw it begin while session ', earlier, ' of this seat ran') AS detail
FROM (
    SELECT key, seat, serial, bundle, first_seen, last_seen,
        lag(serial) OVER (PARTITION BY key, seat ORDER BY serial) AS earlier,
        lag(first_seen) OVER (PARTITION BY key, seat ORDER BY serial) AS began,
        lag(last_seen) OVER (PARTITION BY key, seat ORDER BY serial) AS ended
    FROM (
        SELECT key, seat, serial, min(name) AS bundle, min(first_seen) AS first_seen, max(last_seen) AS last_seen
        FROM chain
        WHERE first_seen IS NOT NULL
        GROUP BY key, seat, serial
        HAVING count(*) = 1
    )
)
WHERE first_seen + $skew < ended AND last_seen + $skew >= began
