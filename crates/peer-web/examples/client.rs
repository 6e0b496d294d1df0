//! The smallest client with which a page takes part in a session; `cargo xtask size` prints its weight.
#![cfg(target_arch = "wasm32")]

use std::cell::RefCell;

use samovar_peer::{PathPolicy, PeerConfig, PeerEvent, Purpose, Rules, Schemas};
use samovar_peer_web::{WebPeer, entropy};
use samovar_wire::GameCode;
use samovar_wire::object::Traits;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static PEER: RefCell<Option<WebPeer>> = const { RefCell::new(None) };
}

/// Joins the game with this code, or founds a game when the text is no code.
#[wasm_bindgen]
pub fn join(relay_url: &str, code: &str, name: &str) {
    let purpose = GameCode::parse(code).map_or(Purpose::Create(None), Purpose::Join);
    let config = PeerConfig {
        entropy: entropy(),
        purpose,
        token: None,
        ticket: None,
        kept: None,
        name: name.to_owned(),
        attributes: 0,
        params: 0,
        schemas: Schemas::new(),
        paths: PathPolicy::Auto,
        capacity: 8,
        public: true,
        rules: Rules::default(),
    };
    let peer = WebPeer::start(relay_url, config, || ());
    PEER.with_borrow_mut(|place| *place = Some(peer));
}

/// Plays one step of the game. Returns the number of objects, or nothing while there is no session.
#[wasm_bindgen]
pub fn step(bytes: &[u8]) -> Option<usize> {
    let peer = PEER.with_borrow(Clone::clone)?;
    peer.with(|peer, now| {
        let mut has_joined = false;
        while let Some(event) = peer.poll_event() {
            has_joined |= matches!(event, PeerEvent::Entered(_));
        }
        let session = peer.session_mut()?;
        session.stepped(now);
        if has_joined {
            // Fails when there are too many objects already.
            let _ = session.edit(now).create(Traits::of(samovar_wire::Kind(1)), &[bytes]);
        }
        let mine = session.objects().find(|object| object.owner() == session.me()).map(|object| object.id());
        if let Some(id) = mine {
            let _ = session.edit(now).set(id, 0, bytes);
        }
        Some(session.objects().count())
    })
}
