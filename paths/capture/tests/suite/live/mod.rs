//! Live sources on cables of their own: what is sent comes, whole and in order, and every frame is accounted for.

mod books;
pub mod cable;
mod filters;
mod frames;
mod groups;
mod trouble;
