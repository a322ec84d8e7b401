-- The notes that were given by themselves, and that a trusted witness signed.
CREATE VIEW witnessed AS
SELECT name, key, seat, serial, checkpoint, digest
FROM notes
WHERE bundle IS NULL AND note_signer(content) IS NOT NULL
