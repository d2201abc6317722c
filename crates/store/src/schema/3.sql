-- What an operation of a point passes, as its variant planned it: what a bill adds up.

ALTER TABLE point ADD COLUMN gates TEXT NOT NULL DEFAULT '[]';  -- JSON: name, role, visits, toll
ALTER TABLE point ADD COLUMN changes TEXT;  -- the variant that this one is a change of
