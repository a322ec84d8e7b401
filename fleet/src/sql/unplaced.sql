-- Bundles that the verifier read, and whose card or ticket it does not know.
SELECT key, seat, serial, name AS bundle, 'its card or ticket is not known: it has no place in a chain' AS detail
FROM sessions
WHERE read AND (key IS NULL OR serial IS NULL)
