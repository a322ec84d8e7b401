-- All tickets, decoded from their bytes. `bundle` is null for a ticket that was given by itself.
CREATE VIEW tickets AS
SELECT
    bundle, name, content,
    get_field(t, 'digest') AS digest,
    get_field(t, 'key') AS key,
    get_field(t, 'seat') AS seat,
    get_field(t, 'serial') AS serial,
    get_field(t, 'policy') AS policy,
    get_field(t, 'previous_close') AS previous_close,
    get_field(t, 'not_before') AS not_before,
    get_field(t, 'not_after') AS not_after,
    get_field(t, 'issuer') AS issuer
FROM (SELECT bundle, name, content, decode_ticket(content) AS t FROM ticket_files)
