-- A policy that was in force before, and that another policy had replaced.
SELECT r.key, r.seat, r.serial, r.name AS bundle,
    concat('the policy of session ', f.first, ' is in force again, after another policy') AS detail
FROM (
    SELECT key, seat, serial, name, policy,
        lag(policy) OVER (PARTITION BY key, seat ORDER BY serial, name) AS before
    FROM chain
    WHERE policy IS NOT NULL
) r
JOIN (SELECT key, seat, policy, min(serial) AS first FROM chain WHERE policy IS NOT NULL GROUP BY key, seat, policy) f
    ON f.key = r.key AND f.seat = r.seat AND f.policy = r.policy
WHERE r.before IS NOT NULL AND r.before <> r.policy AND f.first < r.serial
