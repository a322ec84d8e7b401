-- The checkpoints of each bundle in order, and whether a certified card signed them.
SELECT c.bundle, c.message, c.sizes, get_field(decode_checkpoint(c.message), 'digest') AS digest,
    checkpoint_signed(c.message, b.certificate, b.chain) AS signed
FROM checkpoint_files c JOIN bundles b ON b.bundle = c.bundle
WHERE c.bundle IN ($bundles)
ORDER BY c.bundle, c.place
