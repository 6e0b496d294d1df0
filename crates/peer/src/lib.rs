//! A running peer: a session, one path per peer, and the relay's client.
