-- Which points tell most of their path: those are tried until their intervals are narrow.

ALTER TABLE point ADD COLUMN headline INTEGER NOT NULL DEFAULT 0 CHECK (headline IN (0, 1));
