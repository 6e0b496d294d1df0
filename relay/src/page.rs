//! The page's files, kept in memory, each with its headers for a browser.

mod policy;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::error::RelayError;
use crate::frames::FrameAncestors;

/// The most bytes of a page, all files together. A larger directory is probably no page but a home directory.
const PAGE_MAX: u64 = 64 * 1_024 * 1_024;
/// The greatest depth of directories.
const DEPTH_MAX: usize = 8;
/// The suffix of a file's name that marks its Brotli form.
const BROTLI: &str = ".br";
/// The fewest hexadecimal digits of the hash that trunk puts into a file's name. Such a name changes with the
/// content.
const HASH_LENGTH: usize = 16;

/// A built page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The files by path, without the slash in front.
    files: BTreeMap<String, Asset>,
    /// The content security policy of its documents.
    policy: HeaderValue,
}

#[derive(Debug)]
struct Asset {
    bytes: Bytes,
    brotli: Option<Bytes>,
    kind: &'static str,
    tag: HeaderValue,
    /// Whether the file's name changes with its content.
    hashed: bool,
}

impl Page {
    /// Reads the page in a directory.
    ///
    /// # Errors
    /// The directory cannot be read, or holds no page.
    pub(crate) fn read(directory: &Path, frames: &FrameAncestors) -> Result<Self, RelayError> {
        let mut files = BTreeMap::new();
        let mut left = PAGE_MAX;
        let mut open = vec![(directory.to_owned(), 0)];
        while let Some((place, depth)) = open.pop() {
            let failed = |source| RelayError::Page { path: place.clone(), source };
            for entry in fs::read_dir(&place).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.is_dir() && depth < DEPTH_MAX {
                    open.push((path, depth + 1));
                } else if path.is_file() {
                    let bytes = read_file(&path, &mut left)
                        .map_err(|source| RelayError::Page { path: path.clone(), source })?
                        .ok_or_else(|| RelayError::NoPage { path: directory.to_owned() })?;
                    files.insert(name(directory, &path), bytes);
                }
            }
        }
        Self::new(files, frames).ok_or_else(|| RelayError::NoPage { path: directory.to_owned() })
    }

    /// The built-in page.
    #[cfg(feature = "embed-page")]
    pub(crate) fn built_in(frames: &FrameAncestors) -> Option<Self> {
        static DIST: include_dir::Dir<'static> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/../dist");
        let mut files = BTreeMap::new();
        let mut open = vec![&DIST];
        while let Some(directory) = open.pop() {
            open.extend(directory.dirs());
            let here = directory.files();
            files.extend(
                here.map(|file| (name(Path::new(""), file.path()), Bytes::from_static(file.contents()))),
            );
        }
        Self::new(files, frames)
    }

    /// No page is built in.
    #[cfg(not(feature = "embed-page"))]
    pub(crate) const fn built_in(_: &FrameAncestors) -> Option<Self> {
        None
    }

    /// The page of these files; `None` without an `index.html`.
    fn new(mut files: BTreeMap<String, Bytes>, frames: &FrameAncestors) -> Option<Self> {
        let index = files.get("index.html")?.clone();
        let policy = policy::for_document(&String::from_utf8_lossy(&index), frames);
        let small: BTreeMap<_, _> = files.extract_if(.., |name, _| name.ends_with(BROTLI)).collect();
        let assets = files.into_iter().map(|(name, bytes)| {
            let brotli = small.get(&format!("{name}{BROTLI}")).cloned();
            (name.clone(), Asset::new(&name, bytes, brotli))
        });
        Some(Self { files: assets.collect(), policy })
    }

    /// Answers a GET or HEAD.
    pub(crate) fn respond(&self, path: &str, headers: &HeaderMap) -> axum::response::Response {
        let name = match path.trim_start_matches('/') {
            "" => "index.html",
            name => name,
        };
        let Some(asset) = self.files.get(name) else { return status(StatusCode::NOT_FOUND, "Not found.\n") };
        let mut answer = Response::builder()
            .header(header::ETAG, &asset.tag)
            .header(header::VARY, "accept-encoding")
            .header(header::REFERRER_POLICY, "no-referrer")
            .header(header::CACHE_CONTROL, asset.cache_control());
        if asset.is_document() {
            answer = answer.header(header::CONTENT_SECURITY_POLICY, &self.policy);
        }
        if headers.get_all(header::IF_NONE_MATCH).iter().any(|tags| lists(tags, &asset.tag)) {
            answer = answer.status(StatusCode::NOT_MODIFIED);
            return finish(answer.body(Body::empty()));
        }
        answer = answer.header(header::CONTENT_TYPE, asset.kind);
        let body = match &asset.brotli {
            Some(brotli) if accepts_brotli(headers) => {
                answer = answer.header(header::CONTENT_ENCODING, "br");
                brotli.clone()
            }
            _ => asset.bytes.clone(),
        };
        finish(answer.body(Body::from(body)))
    }
}

impl Asset {
    fn new(name: &str, bytes: Bytes, brotli: Option<Bytes>) -> Self {
        let digest = Sha256::digest(&bytes);
        let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let tag =
            HeaderValue::try_from(format!("\"{hex}\"")).expect("quoted hexadecimal digits are a header");
        Self { bytes, brotli, kind: content_type(name), tag, hashed: is_hashed(name) }
    }

    fn is_document(&self) -> bool {
        self.kind.starts_with("text/html")
    }

    const fn cache_control(&self) -> &'static str {
        if self.hashed { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}

fn read_file(path: &PathBuf, left: &mut u64) -> io::Result<Option<Bytes>> {
    let length = fs::metadata(path)?.len();
    let Some(rest) = left.checked_sub(length) else { return Ok(None) };
    *left = rest;
    fs::read(path).map(|bytes| Some(bytes.into()))
}

/// The path of a file in a URL.
fn name(directory: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(directory).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Whether a part of the path has a hash of the content, as trunk and wasm-bindgen write it: `web-0123…_bg.wasm`.
fn is_hashed(name: &str) -> bool {
    name.split('/').any(|part| {
        part.split('-').skip(1).any(|piece| {
            piece.bytes().take_while(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()).count()
                >= HASH_LENGTH
        })
    })
}

/// Whether a list of entity tags has this one, or `*`, by the weak comparison (RFC 9110 §8.8.3.2).
fn lists(tags: &HeaderValue, tag: &HeaderValue) -> bool {
    let mut tags = tags.as_bytes().split(|&b| b == b',').map(<[u8]>::trim_ascii);
    tags.any(|one| one == b"*" || opaque(one) == opaque(tag.as_bytes()))
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let refused = quality.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case("br") && !refused
    })
}

fn status(code: StatusCode, text: &'static str) -> axum::response::Response {
    finish(Response::builder().status(code).body(Body::from(text)))
}

fn finish(answer: Result<axum::response::Response, axum::http::Error>) -> axum::response::Response {
    answer.expect("every header is a constant or was checked before")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let files = [
            ("index.html", "<html><script>go()</script></html>"),
            ("web-0123456789abcdef_bg.wasm", "wasm"),
            ("web-0123456789abcdef_bg.wasm.br", "small"),
            ("snippets/glue-fedcba9876543210/inline0.js", "js"),
            ("arial-black.css", "css"),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), Bytes::from_static(text.as_bytes())));
        Page::new(BTreeMap::from(files), &FrameAncestors::default()).expect("it has an index")
    }

    fn ask(path: &str, name: header::HeaderName, value: &'static str) -> axum::response::Response {
        page().respond(path, &HeaderMap::from_iter([(name, HeaderValue::from_static(value))]))
    }

    fn header_of(response: &axum::response::Response, name: header::HeaderName) -> &str {
        response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
    }

    #[test]
    fn only_files_with_a_hash_in_their_name_are_immutable() {
        for (path, cached) in [
            ("/", false),
            ("/index.html", false),
            ("/arial-black.css", false),
            ("/web-0123456789abcdef_bg.wasm", true),
            ("/snippets/glue-fedcba9876543210/inline0.js", true),
        ] {
            let response = ask(path, header::ACCEPT, "*/*");
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(header_of(&response, header::CACHE_CONTROL).contains("immutable"), cached, "{path}");
        }
    }

    #[test]
    fn brotli_goes_only_to_clients_that_accept_it() {
        let wasm = "/web-0123456789abcdef_bg.wasm";
        for (accept, coded) in
            [("gzip, deflate, br", true), ("gzip", false), ("br;q=0", false), ("BR;q=0.5", true)]
        {
            let response = ask(wasm, header::ACCEPT_ENCODING, accept);
            assert_eq!(header_of(&response, header::CONTENT_ENCODING) == "br", coded, "{accept}");
            assert_eq!(header_of(&response, header::CONTENT_TYPE), "application/wasm");
        }
        let response = ask("/web-0123456789abcdef_bg.wasm.br", header::ACCEPT_ENCODING, "br");
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn a_file_that_a_browser_has_is_not_sent_again() {
        let first = ask("/", header::ACCEPT, "*/*");
        let tag = header_of(&first, header::ETAG).to_owned();
        for (sent, status) in [
            (format!("\"old\", {tag}"), StatusCode::NOT_MODIFIED),
            (tag.trim_start_matches("W/").to_owned(), StatusCode::NOT_MODIFIED),
            ("\"old\"".to_owned(), StatusCode::OK),
        ] {
            let headers = HeaderMap::from_iter([(
                header::IF_NONE_MATCH,
                HeaderValue::try_from(sent).expect("a header"),
            )]);
            assert_eq!(page().respond("/", &headers).status(), status);
        }
    }

    #[test]
    fn only_documents_carry_the_content_security_policy() {
        let document = ask("/", header::ACCEPT, "*/*");
        assert!(
            header_of(&document, header::CONTENT_SECURITY_POLICY).contains("'wasm-unsafe-eval' 'sha256-")
        );
        let style = ask("/arial-black.css", header::ACCEPT, "*/*");
        assert_eq!(header_of(&style, header::CONTENT_SECURITY_POLICY), "");
        for path in ["/nothing", "/../Cargo.toml", "/%2e%2e/x", "/snippets"] {
            assert_eq!(ask(path, header::ACCEPT, "*/*").status(), StatusCode::NOT_FOUND, "{path}");
        }
        assert!(Page::new(BTreeMap::new(), &FrameAncestors::default()).is_none());
    }
}
