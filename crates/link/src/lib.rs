//! One association with one peer: packet numbers, acks, loss, lanes, suspicion, close.
