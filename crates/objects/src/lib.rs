//! Replicated objects: creation, updates against acked state, ownership by stamp.
