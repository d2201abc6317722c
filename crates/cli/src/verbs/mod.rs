//! One file a verb, and what a run shows that was measured.

pub mod agent;
pub mod bill;
pub mod capture;
pub mod cipher;
pub mod compare;
pub mod doctor;
pub mod entropy;
pub mod export;
pub mod fit;
pub mod generate;
pub mod history;
pub mod ipc;
pub mod list;
pub mod measure;
pub mod measured;
pub mod model;
pub mod plan;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod simulate;
