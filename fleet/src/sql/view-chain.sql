-- The sessions that have a place in a chain: card, seat and serial are known, and not the operator issued the ticket.
CREATE VIEW chain AS
SELECT * FROM sessions WHERE key IS NOT NULL AND seat IS NOT NULL AND serial IS NOT NULL AND NOT self_issued
