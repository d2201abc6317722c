-- What each actor of a trial did and used, where there was processor time by role only. What older trials kept of their
-- actors is taken from `meters`; where they lived and how long their windows were was not kept.

ALTER TABLE trial RENAME COLUMN cpu_ns TO actors;  -- JSON: one record an actor

DROP TRIGGER trial_is_not_changed;

UPDATE trial SET
    actors = coalesce(
        (SELECT json_group_array(json_object(
            'role', value ->> 'role',
            'number', number,
            'own_ns', value ->> 'cpu_ns',
            'given_ns', value ->> 'cpu_ns',
            'late_ticks', coalesce(value ->> 'late', 0),
            'voluntary_switches', value ->> 'voluntary_switches',
            'involuntary_switches', value ->> 'involuntary_switches',
            'minor_faults', value ->> 'minor_faults',
            'major_faults', value ->> 'major_faults') ORDER BY place)
        FROM (SELECT value, key AS place,
                     row_number() OVER (PARTITION BY value ->> 'role' ORDER BY key) - 1 AS number
              FROM json_each(meters, '$.actors'))
        HAVING count(*) > 0),
        (SELECT json_group_array(json_object(
            'role', key, 'number', 0, 'own_ns', value, 'given_ns', value, 'late_ticks', 0))
        FROM json_each(actors))),
    meters = CASE WHEN meters ->> '$.machine' IS NULL THEN meters ELSE json_remove(meters, '$.actors') END;

CREATE TRIGGER trial_is_not_changed BEFORE UPDATE ON trial BEGIN
    SELECT RAISE(ABORT, 'what was measured is not changed; measure again in a new run');
END;

ALTER TABLE run ADD COLUMN guests TEXT NOT NULL DEFAULT '{}';  -- JSON: the virtual machines that it used
