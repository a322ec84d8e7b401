-- The tickets that were given by themselves, and that a trusted issuer signed.
CREATE VIEW issued AS
SELECT name, key, seat, serial, digest AS ticket
FROM tickets
WHERE bundle IS NULL AND ticket_signer(content) IS NOT NULL
