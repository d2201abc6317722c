//! The TCP server whole: a client on Linux's TCP, the network stack, the application, in namespaces of their own.

mod other;
mod setting;

mod answering;
mod betrayed;
mod frames;
mod leaving;
mod linux;
mod vanishing;
