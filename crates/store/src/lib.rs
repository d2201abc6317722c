//! The SQLite file that holds runs, trials, tolls and predictions.
