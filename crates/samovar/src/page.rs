//! The address of the page: where its relay is, and which game it names.

use samovar_peer_web::scope::scope;
use web_sys::Url;

/// The address of the relay that serves this page: `ws` beside the page, or of this server in a
/// worker, for [`join_or_create`](crate::join_or_create).
#[must_use]
pub fn relay() -> String {
    let of_page = document().and_then(|document| document.base_uri().ok().flatten());
    // A worker lies anywhere below the page.
    let base = of_page.or_else(|| scope().location().origin().ok()).unwrap_or_default();
    let url = Url::new_with_base("ws", &base).map_or_else(|_| "ws".to_owned(), |url| url.href());
    // `http` becomes `ws`, and `https` becomes `wss`.
    url.strip_prefix("http").map_or_else(|| url.clone(), |rest| ["ws", rest].concat())
}

/// The code behind the `#` of the page's address, which a link to the game carries. A browser does not tell it to
/// servers.
#[must_use]
pub fn code() -> Option<String> {
    let hash = scope().location().hash().ok()?;
    let code = hash.strip_prefix('#')?;
    (!code.is_empty()).then(|| code.to_owned())
}

/// Writes the code into the page's address, so that a reload comes back to the game and the address is a link to it.
pub fn set_code(code: &str) {
    let window = scope();
    let (path, query) = (window.location().pathname(), window.location().search());
    if let (Ok(history), Ok(path), Ok(query)) = (window.history(), path, query) {
        let state = history.state().unwrap_or_default();
        // If the browser forbids this, the player loses only the convenience.
        let _ = history.replace_state_with_url(&state, "", Some(&format!("{path}{query}#{code}")));
    }
}

fn document() -> Option<web_sys::Document> {
    scope().document()
}
