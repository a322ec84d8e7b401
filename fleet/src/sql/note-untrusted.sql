-- Notes that were given by themselves, and that no trusted witness signed or that are no notes.
SELECT key, seat, serial, name AS bundle, 'no trusted witness signed this note' AS detail
FROM notes
WHERE bundle IS NULL AND note_signer(content) IS NULL
