//! Reports in every form, made of stores whose trials are made up.

mod bills;
mod card;
mod claims;
mod claims_of_runs;
mod classes;
mod comparisons;
mod crossovers;
mod documents;
mod guests;
mod history;
mod page;
mod remarkable_paths;
mod remarks;
mod synthetic;
mod texts;
