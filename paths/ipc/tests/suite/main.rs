//! The variants and engines of this path, in threads of one process. The TCP server, in namespaces and with other processes, is a test of its own.

mod forbidden;
mod matrices;
mod memory;
mod ping_pong;
mod played;
mod tcp_variants;
