//! Time-stamp order: messages are delivered in the order of the times at which they happened (seed 002).
