-- The subtrees over the records of each lane under each checkpoint, and the number of rows with wrong decoded columns.
-- The column `checkpoint` is not trusted: with a wrong value, the segments do not tile the lane.
SELECT bundle, lane, checkpoint, tree(record) AS tree,
    sum(
        CASE
            WHEN columns_hold(record, record_index, tick, kind, slot, sequence, determination, stage, fault) THEN 0
            ELSE 1
        END
    ) AS wrong
FROM records
WHERE bundle IN ($bundles)
GROUP BY bundle, lane, checkpoint
