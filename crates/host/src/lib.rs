//! Clocks, counters, samplers, CPU features and requirement checks of this machine.
