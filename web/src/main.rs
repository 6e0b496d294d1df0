//! Dueling Teapots in the browser.
fn main() {}
