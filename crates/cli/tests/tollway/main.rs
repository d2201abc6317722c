//! What the program says, reads, keeps and refuses; how it runs, and what a run leaves that ends before its time.
//! What wants the machine's processors or guests is tested in `bills`, `machine` and `paths`.

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod captures;
mod conduct;
mod crash;
mod doctor;
mod documents;
mod edges;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod feeds;
mod fit;
mod interruption;
mod models;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod plans;
#[path = "../program/mod.rs"]
mod program;
mod randomness;
mod self_documentation;
mod simulations;
mod standard_input;
mod stores;
mod streams;
mod units;
