-- One ticket permits one session. Two checkpoints for one place in it are two histories.
SELECT f.key, f.seat, f.serial, min(s.name) AS bundle,
    concat(
        'one ticket, and two histories from checkpoint ', f.place, ' on: ', string_agg(s.name, ', ' ORDER BY s.name)
    ) AS detail
FROM forks f JOIN chain s ON s.ticket = f.ticket
WHERE s.genuine
GROUP BY f.key, f.seat, f.serial, f.ticket, f.place
