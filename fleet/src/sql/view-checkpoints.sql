-- The checkpoints of all bundles, decoded from their bytes. `place` is the number of the file in the bundle.
CREATE VIEW checkpoints AS
SELECT
    bundle, place, message,
    get_field(c, 'digest') AS digest,
    get_field(c, 'serial') AS serial,
    get_field(c, 'size') AS size,
    get_field(c, 'tick') AS tick,
    get_field(c, 'state') AS state,
    get_field(c, 'root') AS root,
    get_field(c, 'policy') AS policy,
    get_field(c, 'ticket') AS ticket,
    get_field(c, 'lanes') AS lanes,
    get_field(c, 'epoch') AS epoch
FROM (SELECT bundle, place, message, decode_checkpoint(message) AS c FROM checkpoint_files)
