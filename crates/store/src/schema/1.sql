-- Times are microseconds since 1970 (UTC); ticks are those of the run's clock, run.hz of them a second.
-- What is large comes last in a row: a query that does not ask for it does not read it.

CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    started_us  INTEGER NOT NULL,
    ended_us    INTEGER,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'complete', 'interrupted', 'failed')),
    pid         INTEGER NOT NULL,                  -- the process that measures, or measured
    title       TEXT    NOT NULL,
    version     TEXT    NOT NULL,                  -- of Tollway
    machine     TEXT    NOT NULL,
    hz          REAL    NOT NULL CHECK (hz > 0),   -- ticks per second
    seed        INTEGER NOT NULL,                  -- 64 bits, read as unsigned
    argv        TEXT    NOT NULL,                  -- JSON: a list of words
    sides       TEXT    NOT NULL,                  -- JSON: a list of labels
    fingerprint TEXT    NOT NULL,                  -- JSON
    plan        TEXT    NOT NULL                   -- JSON: what the lab needs to go on
) STRICT;

CREATE INDEX run_of_machine ON run (machine, started_us);

CREATE TABLE point (
    id        INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES run (id),
    trials    INTEGER NOT NULL DEFAULT 0,          -- how many, kept by a trigger
    state     TEXT    NOT NULL DEFAULT 'pending',
    batch     INTEGER CHECK (batch > 0),           -- operations that a sample covers, from the pilot
    side      TEXT,
    path      TEXT    NOT NULL,
    variant   TEXT    NOT NULL,
    toll      TEXT,                                -- the toll key that its trials measure
    boundary  TEXT,
    operation TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    params    TEXT    NOT NULL,                    -- JSON
    caveats   TEXT    NOT NULL,
    missing   TEXT,                                -- JSON: why it was skipped, and the remedy
    error     TEXT,                                -- why it failed
    CHECK (state IN ('pending', 'done', 'skipped', 'failed')),
    CHECK ((state = 'skipped') = (missing IS NOT NULL)),
    CHECK ((state = 'failed') = (error IS NOT NULL))
) STRICT;

CREATE INDEX point_of_run ON point (run);
CREATE INDEX point_of_toll ON point (toll) WHERE toll IS NOT NULL;

CREATE TABLE trial (
    id           INTEGER PRIMARY KEY,
    point        INTEGER NOT NULL REFERENCES point (id),
    block        INTEGER NOT NULL CHECK (block >= 0),     -- which set of freshly started processes
    ordinal      INTEGER NOT NULL CHECK (ordinal >= 0),   -- place in the order of the run
    started_us   INTEGER NOT NULL,
    median_ticks REAL    NOT NULL,                 -- ticks per operation, like the next four
    mean_ticks   REAL    NOT NULL,
    p99_ticks    REAL    NOT NULL,
    min_ticks    REAL    NOT NULL,
    max_ticks    REAL    NOT NULL,
    ops          INTEGER NOT NULL CHECK (ops > 0),
    samples      INTEGER NOT NULL CHECK (samples > 0),
    batch        INTEGER NOT NULL CHECK (batch > 0),      -- operations that a sample covers
    lost_ticks   REAL    NOT NULL,                 -- ticks of the window that something else took
    noise        TEXT,                             -- why it is not quiet
    quiet        INTEGER GENERATED ALWAYS AS (noise IS NULL) VIRTUAL,
    cpu_ns       TEXT    NOT NULL,                 -- JSON: CPU time by role, in nanoseconds
    tally        TEXT    NOT NULL,                 -- JSON
    meters       TEXT    NOT NULL,                 -- JSON
    spread       BLOB    NOT NULL,                 -- the distribution, as tollway-core writes it
    UNIQUE (point, block, ordinal)
) STRICT;

CREATE TABLE prediction (
    id         INTEGER PRIMARY KEY,
    point      INTEGER NOT NULL UNIQUE REFERENCES point (id),
    made_at_us INTEGER NOT NULL,
    forecast   TEXT    NOT NULL                    -- JSON: ticks per operation, interval, model, tolls
) STRICT;

CREATE TRIGGER trial_counts AFTER INSERT ON trial BEGIN
    UPDATE point SET trials = trials + 1 WHERE id = NEW.point;
END;

CREATE TRIGGER trial_is_new BEFORE INSERT ON trial
WHEN EXISTS (SELECT 1 FROM trial WHERE id = NEW.id)
OR EXISTS (SELECT 1 FROM trial WHERE point = NEW.point AND block = NEW.block AND ordinal = NEW.ordinal) BEGIN
    SELECT RAISE(ABORT, 'the point has a trial of that block and ordinal already; measure again in a new run');
END;

CREATE TRIGGER trial_is_not_changed BEFORE UPDATE ON trial BEGIN
    SELECT RAISE(ABORT, 'what was measured is not changed; measure again in a new run');
END;

CREATE TRIGGER trial_is_not_deleted BEFORE DELETE ON trial BEGIN
    SELECT RAISE(ABORT, 'what was measured is not deleted; measure again in a new run');
END;

CREATE TRIGGER prediction_comes_first BEFORE INSERT ON prediction
WHEN EXISTS (SELECT 1 FROM trial WHERE point = NEW.point) BEGIN
    SELECT RAISE(ABORT, 'a prediction comes before the first trial of its point; predict a new run');
END;

CREATE TRIGGER prediction_is_made_once BEFORE INSERT ON prediction
WHEN EXISTS (SELECT 1 FROM prediction WHERE point = NEW.point OR id = NEW.id) BEGIN
    SELECT RAISE(ABORT, 'a prediction is made once; predict a new run');
END;

CREATE TRIGGER prediction_is_not_changed BEFORE UPDATE ON prediction BEGIN
    SELECT RAISE(ABORT, 'a prediction is frozen; predict a new run');
END;

CREATE TRIGGER prediction_is_not_deleted BEFORE DELETE ON prediction BEGIN
    SELECT RAISE(ABORT, 'a prediction is frozen; predict a new run');
END;
