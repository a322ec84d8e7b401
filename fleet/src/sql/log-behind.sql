-- The public log ends before the session, and nothing shows that it should not.
SELECT key, seat, serial, name AS bundle, 'the public log has no session of this serial' AS detail
FROM unlogged
WHERE NOT coalesce(settled > first_seen, false)
