//! The relay and native robots, without a browser.
