//! All paths together: what claims and price lists need of each of them.

mod ipc_claims;
mod price_list;
