//! Total order: all members deliver the same messages in the same order, which the host decides (seeds 002, 004).
