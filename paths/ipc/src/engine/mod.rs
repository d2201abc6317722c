//! The applications: what is asked, and by whom it is answered.

pub mod tcp;
