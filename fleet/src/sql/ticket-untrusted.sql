-- Tickets that were given by themselves, and that no trusted issuer signed or that are no tickets.
SELECT key, seat, serial, name AS bundle, 'no trusted issuer signed this ticket' AS detail
FROM tickets
WHERE bundle IS NULL AND ticket_signer(content) IS NULL
