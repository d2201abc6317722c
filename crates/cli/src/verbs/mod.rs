//! One file a verb; `work` is what those that measure have in common, and `resumed` what they show of a run that has gone on.

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
mod kept_bill;
pub mod list;
pub mod machine;
pub mod measure;
pub mod model;
pub mod plan;
mod planned_bill;
mod price_list;
mod program_bill;
pub mod report;
pub mod reproduce;
mod resumed;
pub mod run;
pub mod simulate;
mod work;
