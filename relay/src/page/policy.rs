//! The content security policy: the page runs only its own code and talks only to relays.

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::frames::FrameAncestors;

/// The policy for a document. Its inline scripts (trunk writes one that starts the wasm) are allowed by their hashes;
/// inline style is allowed, because it cannot run code. The timer of a hidden page runs in a worker from a blob,
/// which only an allowed script can make.
pub(super) fn for_document(html: &str, frames: &FrameAncestors) -> HeaderValue {
    let hashes: String = inline_scripts(html)
        .map(|script| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes()))))
        .collect();
    let policy = format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'{hashes}; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob:; worker-src 'self' blob:; connect-src 'self' ws: wss:; object-src 'none'; \
         base-uri 'self'; form-action 'self'; frame-ancestors {}",
        frames.to_csp()
    );
    HeaderValue::try_from(policy).expect("words and base64 are a header")
}

/// The texts of scripts without a source.
fn inline_scripts(html: &str) -> impl Iterator<Item = &str> {
    html.split("<script").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let (text, _) = rest.split_once("</script>")?;
        let has_source = attributes.split_whitespace().any(|attribute| attribute.starts_with("src="));
        (!has_source).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_scripts_are_allowed_by_hash_and_others_by_origin() {
        let html =
            "<script src=\"a.js\"></script>\n<script type=\"module\">\nimport a from './a.js';\n</script>";
        let scripts: Vec<_> = inline_scripts(html).collect();
        assert_eq!(scripts, ["\nimport a from './a.js';\n"]);
        // The example of CSP level 2 §7.17.
        let policy = for_document("<script>alert('Hello, world.');</script>", &FrameAncestors::default());
        let text = policy.to_str().expect("text");
        assert!(text.contains("'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"), "{text}");
        assert!(!text.contains("script-src 'self' 'unsafe-inline'"));
        assert!(text.ends_with("frame-ancestors 'self'"), "{text}");
    }
}
