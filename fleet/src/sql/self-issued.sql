-- The operator numbers its own tickets freely, so such a session is in no chain.
SELECT key, seat, serial, name AS bundle, 'the operator issued its ticket: it is in no chain' AS detail
FROM sessions
WHERE self_issued AND key IS NOT NULL AND serial IS NOT NULL
