-- All notes of witnesses, decoded from their bytes. `bundle` is null for a note that was given by itself; `serial` is
-- that of the ticket, and `checkpoint` that of the checkpoint in its session.
CREATE VIEW notes AS
SELECT
    bundle, name, content,
    get_field(n, 'key') AS key,
    get_field(n, 'seat') AS seat,
    get_field(n, 'serial') AS serial,
    get_field(n, 'checkpoint') AS checkpoint,
    get_field(n, 'digest') AS digest
FROM (SELECT bundle, name, content, decode_note(content) AS n FROM note_files)
