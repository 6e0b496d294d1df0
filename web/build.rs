//! Shaders without what only their readers need: comments and indentation. Lines keep their numbers, which drivers name.

use std::env::var;
use std::fs;
use std::path::Path;

const SHADERS: &str = "src/view/shaders";

fn main() {
    println!("cargo:rerun-if-changed={SHADERS}");
    let out = var("OUT_DIR").expect("cargo sets it for build scripts");
    for entry in fs::read_dir(SHADERS).expect("the shaders are in the package") {
        let path = entry.expect("a folder of the package can be read").path();
        let source = fs::read_to_string(&path).expect("a shader is a text");
        let lines = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim());
        let stripped = lines.collect::<Vec<_>>().join("\n");
        let name = path.file_name().expect("an entry of a folder has a name");
        fs::write(Path::new(&out).join(name), stripped + "\n").expect("cargo's folder can be written");
    }
}
