//! A session: links, objects and roster composed, the session clock, the public API.
