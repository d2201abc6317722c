//! Sessions against vectors of standards, and against another library.

mod ciphers;
mod curves;
mod digests;
mod memory;
mod openssl;
mod refusals;
mod rsa;
mod vectors;
