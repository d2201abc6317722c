//! Curves of those who share something: what each gets, against what the caps say.

pub(crate) mod terminal;
pub(crate) mod words;
