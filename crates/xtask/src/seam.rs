//! Shortens the names between the page's module and its script. wasm-bindgen makes hundreds of them, long and without
//! common parts. Each is in both files, and no person reads them. The script also loses its indentation. Together
//! this saves 10 KB of Brotli.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::process::{Explain, Failure, Result};

/// Magic number and version, in front of a module's sections.
const HEAD: usize = 8;
/// A section of notes for tools, which no browser reads.
const NOTES: u8 = 0;
/// The section of imports.
const IMPORTS: u8 = 2;
/// The kind of an import that is a function.
const FUNCTION: u8 = 0;
/// The short name of the module that the imports come from. wasm-bindgen takes a file's name for it.
const GIVER: &str = "b";
/// Helpers that wasm-bindgen's script calls in many places, and no other code knows.
const HELPERS: [&str; 8] = [
    "getDataViewMemory0",
    "passStringToWasm0",
    "isLikeNone",
    "getStringFromWasm0",
    "getArrayU8FromWasm0",
    "handleError",
    "WASM_VECTOR_LEN",
    "debugString",
];

/// Shortens the names between a module and the script that loads it, in both files.
///
/// # Errors
/// A file cannot be read or written, or is not in wasm-bindgen's form.
pub(crate) fn shorten(module: &Path, script: &Path) -> Result<()> {
    let bytes = fs::read(module).explain(module.display())?;
    let text = fs::read_to_string(script).explain(script.display())?;
    let (bytes, names) = renamed(&bytes).ok_or_else(|| not_expected(module))?;
    let text = rewritten(&text, &names).ok_or_else(|| not_expected(script))?;
    let text = tightened(&with_short_locals(&abridged(&compact(&text))));
    fs::write(module, bytes).explain(module.display())?;
    fs::write(script, text).explain(script.display())
}

fn not_expected(file: &Path) -> Failure {
    Failure::new(format!("{} is not what wasm-bindgen writes", file.display()))
}

/// The imports of a module under their long names.
#[derive(Debug, Default)]
struct Names {
    /// The one module that the imports come from.
    giver: String,
    /// Short names by the long ones.
    short: BTreeMap<String, String>,
}

/// The module with short names. `None` if it imports anything but functions, or from several modules.
fn renamed(module: &[u8]) -> Option<(Vec<u8>, Names)> {
    let (mut renamed, mut rest) = (module.get(..HEAD)?.to_vec(), module.get(HEAD..)?);
    let mut names = Names::default();
    while let Some((&kind, behind)) = rest.split_first() {
        rest = behind;
        let length = number(&mut rest)?;
        let body = take(&mut rest, length)?;
        if kind == NOTES {
            continue;
        }
        renamed.push(kind);
        let shorter = if kind == IMPORTS { imports(body, &mut names)? } else { body.to_vec() };
        put_number(&mut renamed, shorter.len());
        renamed.extend(shorter);
    }
    Some((renamed, names))
}

fn imports(mut body: &[u8], names: &mut Names) -> Option<Vec<u8>> {
    let count = number(&mut body)?;
    let mut shorter = Vec::new();
    put_number(&mut shorter, count);
    for index in 0..count {
        let giver = name(&mut body)?;
        if index > 0 && giver != names.giver {
            return None;
        }
        names.giver = giver;
        let long = name(&mut body)?;
        let next = names.short.len();
        let short = names.short.entry(long).or_insert_with(|| short_name(next)).clone();
        let (&kind, behind) = body.split_first()?;
        body = behind;
        let signature = number(&mut body)?;
        if kind != FUNCTION {
            return None;
        }
        for name in [GIVER, &short] {
            put_number(&mut shorter, name.len());
            shorter.extend(name.as_bytes());
        }
        shorter.push(kind);
        put_number(&mut shorter, signature);
    }
    body.is_empty().then_some(shorter)
}

/// A short name: `i` and the number to base 26, with a capital before the last letter. So no name is a word of the
/// script's language.
fn short_name(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + (digit % 26) as u8);
    let mut name = String::from("i");
    let mut left = number / 26;
    while left >= 26 {
        name.push(letter(left));
        left /= 26;
    }
    name.extend([letter(left).to_ascii_uppercase(), letter(number)]);
    name
}

/// The script with short names in the list of functions that it gives to the module. A name after a point stays as it
/// is, because the script takes it from the module. `None` if one of the module's names is not in the script.
fn rewritten(script: &str, names: &Names) -> Option<String> {
    let mut found = 0;
    let rewritten = with_words(script, |before, word, out| {
        let short = names.short.get(word).filter(|_| !before.ends_with('.'));
        found += usize::from(short.is_some());
        out.push_str(short.map_or(word, String::as_str));
    });
    let giver = format!("\"{}\"", names.giver);
    let is_whole = found == names.short.len() && rewritten.matches(&giver).count() == 1;
    is_whole.then(|| rewritten.replace(&giver, GIVER))
}

/// Replaces words of a script: `put` gets the text before each word and the word, and appends the new word.
fn with_words(script: &str, mut put: impl FnMut(&str, &str, &mut String)) -> String {
    let mut out = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(start) = rest.find(is_of_word) {
        let word = &rest[start..];
        let word = &word[..word.find(|letter| !is_of_word(letter)).unwrap_or(word.len())];
        out.push_str(&rest[..start]);
        put(&rest[..start], word, &mut out);
        rest = &rest[start + word.len()..];
    }
    out.push_str(rest);
    out
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// A script, a style sheet or a document without indentation, empty lines and lines of comment. A file with texts
/// over several lines stays unchanged.
pub(crate) fn compact(script: &str) -> String {
    if script.lines().any(|line| line.matches('`').count() % 2 == 1) {
        return script.to_owned();
    }
    let mut is_comment = false;
    let mut compact = String::with_capacity(script.len());
    for line in script.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            compact.push_str(line);
            compact.push('\n');
        }
        is_comment &= !line.ends_with("*/");
    }
    compact
}

/// Abridges a compact script. A function returns a value directly instead of naming it first. A field that holds a
/// function becomes a method. Helpers that are called often get short names.
fn abridged(script: &str) -> String {
    let mut parts = script.split("\nconst ret = ");
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(";\nreturn ret;") {
            Some((value, rest)) if !value.contains('\n') => short.extend(["\nreturn ", value, ";", rest]),
            _ => short.extend(["\nconst ret = ", part]),
        }
    }
    let short = short.replace(": function(", "(");
    ('a'..).zip(HELPERS).fold(short, |short, (letter, helper)| short.replace(helper, &format!("{letter}1")))
}

/// Gives short names to a script's arguments and to the values computed from them. No helper's name has these
/// letters.
fn with_short_locals(script: &str) -> String {
    with_words(script, |_, word, out| {
        let (name, number) = word.split_at(word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len()));
        let short = match (name, number.is_empty()) {
            ("arg", false) => "x",
            ("ptr", false) => "y",
            ("len", false) => "z",
            ("ret", _) => "r",
            _ => name,
        };
        out.extend([short, number]);
    })
}

/// A compact script without meaningless blanks and line ends. Lines with texts keep their blanks.
fn tightened(script: &str) -> String {
    let mut tight = String::with_capacity(script.len());
    for line in script.lines() {
        if line.contains(['"', '\'', '`', '/']) {
            tight.push_str(line);
        } else {
            let signs = ["=", "===", "!==", "?", ":", "=>", "&&", "||", "+"];
            let line =
                signs.iter().fold(line.to_owned(), |line, sign| line.replace(&format!(" {sign} "), sign));
            tight.push_str(&line.replace(", ", ",").replace(") {", "){"));
        }
        if line.contains("//") || !line.ends_with([';', '{', ',']) {
            tight.push('\n');
        }
    }
    tight.replace("\n}", "}").replace(";}", "}")
}

/// A compact style sheet that is also without meaningless blanks.
pub(crate) fn compact_style(style: &str) -> String {
    let mut short = String::with_capacity(style.len());
    for (index, part) in compact(style).split('"').enumerate() {
        if index > 0 {
            short.push('"');
        }
        if index % 2 == 1 {
            short.push_str(part);
            continue;
        }
        for letter in part.chars() {
            if letter.is_whitespace() && short.ends_with(['{', '}', ';', ',', ':']) {
                continue;
            }
            if matches!(letter, '{' | '}' | ';' | ',') {
                short.truncate(short.trim_end().len());
            }
            if letter == '}' && short.ends_with(';') {
                short.pop();
            }
            short.push(letter);
        }
    }
    short
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

fn name(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)?;
    String::from_utf8(take(rest, length)?.to_vec()).ok()
}

/// An unsigned number of at most 32 bits, seven bits to a byte (LEB128).
fn number(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_loses_blanks_and_keeps_its_texts() {
        let script = "f(arg0, arg1) {\nconst ret = arg0 + arg1;\nif (ret === len0) {\nthrow 'a = b, c';\n}\n}\nlet args = target;\n";
        let tight = tightened(&with_short_locals(script));
        assert_eq!(tight, "f(x0,x1){const r=x0+x1;if (r===z0){throw 'a = b, c'}}\nlet args=target;");
    }

    /// A module that imports two functions, with a section of another kind after them, and with notes unless it has
    /// the short name.
    fn module(giver: &str, functions: [&str; 2], kind: u8) -> Vec<u8> {
        let mut body = vec![2];
        for function in functions {
            for name in [giver, function] {
                put_number(&mut body, name.len());
                body.extend(name.as_bytes());
            }
            body.extend([kind, 5]);
        }
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.push(IMPORTS);
        put_number(&mut module, body.len());
        module.extend(body);
        module.extend([3, 1, 0]);
        module.extend([NOTES, 2, 1, b'n'].iter().filter(|_| giver != GIVER));
        module
    }

    const SCRIPT: &str = "
    // A line that is left out.
    const imports = {
        __wbg_log_0123: function(text) { console.log(text); },
        __wbg_new_4567: function() { return handle(wasm.__wbg_new_4567); },
    };
    /* Nor
     * this. */
    return { \"./a_bg.js\": imports };
";

    #[test]
    fn module_and_script_get_the_same_short_names() {
        let long = module("./a_bg.js", ["__wbg_log_0123", "__wbg_new_4567"], FUNCTION);
        let (short, names) = renamed(&long).unwrap();
        assert_eq!(short, module(GIVER, ["iAa", "iAb"], FUNCTION));
        let script = compact(&rewritten(SCRIPT, &names).unwrap());
        assert_eq!(
            script,
            "const imports = {\niAa: function(text) { console.log(text); },\n\
             iAb: function() { return handle(wasm.__wbg_new_4567); },\n};\nreturn { b: imports };\n"
        );
    }

    #[test]
    fn a_module_of_another_form_is_refused() {
        let functions = ["__wbg_log_0123", "__wbg_new_4567"];
        assert!(renamed(&module("./a_bg.js", functions, FUNCTION + 1)).is_none(), "a table");
        let whole = module("./a_bg.js", functions, FUNCTION);
        assert!(renamed(&whole[..whole.len() - 1]).is_none(), "cut off");
        let (_, names) =
            renamed(&module("./a_bg.js", ["__wbg_log_0123", "__wbg_old_89ab"], FUNCTION)).unwrap();
        assert!(rewritten(SCRIPT, &names).is_none(), "an import that the script does not give");
    }

    #[test]
    fn texts_over_several_lines_keep_their_indentation() {
        let script = "a = `\n  two\n`;\n";
        assert_eq!(compact(script), script);
    }

    #[test]
    fn a_value_that_is_only_returned_gets_no_name() {
        let named = "a: function(b) {\nconst ret = b.c();\nreturn ret;\n},\n";
        assert_eq!(abridged(named), "a(b) {\nreturn b.c();\n},\n");
        assert_eq!(
            abridged("const ptr0 = passStringToWasm0(a, WASM_VECTOR_LEN);"),
            "const ptr0 = b1(a, g1);"
        );
        for used in ["{\nconst ret = b();\nc(ret);\nreturn ret;\n}", "{\nconst ret = b();\nreturn c(ret);\n}"]
        {
            assert_eq!(abridged(used), used);
        }
    }

    #[test]
    fn a_style_sheet_loses_blanks_but_not_those_of_its_texts() {
        let style = "/* Paper. */\n.a > .b,\n.c:hover {\n  margin: 0 auto;\n  font: \"A, B ;\" , serif;\n}\n\n@media (width: 1px) { i::before { content: \": \"; } }\n";
        let short = ".a > .b,.c:hover{margin:0 auto;font:\"A, B ;\",serif}@media (width:1px){i::before{content:\": \"}}";
        assert_eq!(compact_style(style), short);
    }

    #[test]
    fn short_names_differ_and_are_no_keywords() {
        let names: std::collections::BTreeSet<_> = (0..20_000).map(short_name).collect();
        assert_eq!(names.len(), 20_000);
        assert!(["if", "in", "is"].iter().all(|word| !names.contains(*word)));
    }
}
