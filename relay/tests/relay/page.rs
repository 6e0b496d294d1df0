//! The page over HTTP.

use std::fs;

use crate::process::{RelayProcess, Scratch, refusal};

#[tokio::test]
async fn a_built_page_is_served_with_its_headers() {
    let (data, web) = (Scratch::new(), Scratch::new());
    for (name, text) in [
        ("index.html", "<!doctype html><script type=\"module\">go()</script>"),
        ("web-0123456789abcdef.js", "long long long"),
        ("web-0123456789abcdef.js.br", "short"),
    ] {
        fs::write(web.path().join(name), text).expect("writes");
    }
    let directory = web.path().to_str().expect("text");
    let relay = RelayProcess::start_with(data.path(), &["--web", directory]);
    let (head, body) = relay.get("/?game=TEA&name=%3Cb%3E").await;
    assert!(head.starts_with("http/1.1 200") && body.starts_with("<!doctype html>"), "{head}");
    for line in ["content-type: text/html", "cache-control: no-cache", "x-content-type-options: nosniff"] {
        assert!(head.contains(line), "{line} is not in {head}");
    }
    assert!(head.contains(
        "content-security-policy: default-src 'self'; script-src 'self' 'wasm-unsafe-eval' 'sha256"
    ));
    let (head, body) = relay.get("/web-0123456789abcdef.js").await;
    assert!(head.contains("content-encoding: br") && head.contains("immutable"), "{head}");
    assert_eq!(body, "short");
    for path in ["/nothing.html", "/../relay.key", "//etc/passwd", "/ws"] {
        let (head, _) = relay.get(path).await;
        assert!(head.starts_with("http/1.1 4"), "{path}: {head}");
    }
}

#[tokio::test]
async fn only_pages_that_the_operator_names_may_frame_the_page() {
    let (data, web) = (Scratch::new(), Scratch::new());
    fs::write(web.path().join("index.html"), "<!doctype html>").expect("writes");
    let directory = web.path().to_str().expect("text");
    let flags =
        ["--web", directory, "--frame-ancestors", "self", "--frame-ancestors", "https://arcade.example"];
    let relay = RelayProcess::start_with(data.path(), &flags);
    let (head, _) = relay.get("/").await;
    assert!(head.contains("frame-ancestors 'self' https://arcade.example\r\n"), "{head}");
}

#[tokio::test]
async fn a_relay_without_a_page_says_so() {
    let (data, empty) = (Scratch::new(), Scratch::new());
    let text = refusal("127.0.0.1:0", data.path(), &["--web", empty.path().to_str().expect("text")]);
    assert!(text.contains("not a built page") && text.contains("--web"), "{text}");
    let text = refusal("127.0.0.1:0", data.path(), &["--web", "/nowhere/at/all"]);
    assert!(text.contains("/nowhere/at/all") && text.contains("--web"), "{text}");
    if cfg!(not(feature = "embed-page")) {
        let relay = RelayProcess::start(data.path());
        let (head, body) = relay.get("/").await;
        assert!(head.starts_with("http/1.1 404") && body.contains("--web"), "{head}");
    }
}
