//! Load generators: closed loops that time what they repeat.
