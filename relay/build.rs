//! Fails a build with the feature `embed-page` if there is no page, and says what to do.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_EMBED_PAGE").is_none() {
        return;
    }
    println!("cargo::rerun-if-changed=../dist");
    if !Path::new("../dist/index.html").is_file() {
        println!(
            "cargo::error=the feature `embed-page` builds the page of dist/ into the relay, and dist/index.html is \
             not there: run `trunk build --release` at the root of the repository first"
        );
    }
}
