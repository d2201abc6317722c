//! What lies between a program and a network: namespaces and veth pairs made for a test, packet sockets and the rings
//! that the kernel shares with them.
