//! Causal order: nothing is delivered before what its sender had delivered or sent before it (seed 002).
