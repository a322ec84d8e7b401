-- A session that ran before the session with the serial before. Times are those of trusted witnesses, whose
-- clocks can differ.
SELECT key, seat, serial, bundle, concat('a witness saw it end before session ', earlier, ' began') AS detail
FROM (
    SELECT key, seat, serial, bundle, last_seen,
        lag(serial) OVER (PARTITION BY key, seat ORDER BY serial) AS earlier,
        lag(first_seen) OVER (PARTITION BY key, seat ORDER BY serial) AS began
    FROM (
        SELECT key, seat, serial, min(name) AS bundle, min(first_seen) AS first_seen, max(last_seen) AS last_seen
        FROM chain
        WHERE first_seen IS NOT NULL
        GROUP BY key, seat, serial
        HAVING count(*) = 1
    )
)
WHERE last_seen + $skew < began
