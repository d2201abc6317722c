-- What an operation of a point gives, where it gives something that a rate is told of.

ALTER TABLE point ADD COLUMN yields TEXT NOT NULL DEFAULT '[]';  -- JSON: unit, each; the first is the headline
