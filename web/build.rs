//! Copies the shaders without the parts that only people need: comments, indentation, and spaces beside signs. Lines
//! keep their numbers, since graphics drivers name lines in their errors.

use std::env::var;
use std::fs;
use std::path::Path;

const SHADERS: &str = "src/view/shaders";
/// Signs that need no space beside them. Minus is not among them: two minuses without a space form the operator `--`.
const SIGNS: [char; 14] = [',', ';', '=', '(', ')', '{', '}', '*', '/', '<', '>', '?', ':', '&'];

fn main() {
    println!("cargo:rerun-if-changed={SHADERS}");
    let out = var("OUT_DIR").expect("cargo sets it for build scripts");
    for entry in fs::read_dir(SHADERS).expect("the shaders are in the package") {
        let path = entry.expect("a folder of the package can be read").path();
        let source = fs::read_to_string(&path).expect("a shader is a text");
        let lines = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim());
        let stripped = lines.map(squeeze).collect::<Vec<_>>().join("\n");
        let name = path.file_name().expect("an entry of a folder has a name");
        fs::write(Path::new(&out).join(name), stripped + "\n").expect("cargo's folder can be written");
    }
}

fn squeeze(line: &str) -> String {
    if line.starts_with('#') {
        return line.to_owned();
    }
    let mut squeezed = String::new();
    for sign in line.chars() {
        if SIGNS.contains(&sign) {
            squeezed.truncate(squeezed.trim_end().len());
        }
        if sign != ' ' || !squeezed.ends_with(SIGNS) {
            squeezed.push(sign);
        }
    }
    squeezed
}
