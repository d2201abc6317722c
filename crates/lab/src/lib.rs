//! Plan, order, run, verify: coordinates the actors of every trial.
