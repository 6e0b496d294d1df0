//! A peer in a page: the handle that the page holds.

use std::rc::{Rc, Weak};

use samovar_peer::{Peer, PeerConfig};
use samovar_wire::Time;

use crate::connection::WebConfig;
use crate::driver::Driver;
use crate::inquiry::Obstacle;
use crate::name::fit_name;

/// A running peer; clones are handles of the same one. When the last is dropped its connections are closed, without
/// a word to the other members: [`Peer::leave`] says goodbye.
#[derive(Clone)]
pub struct WebPeer(Rc<Driver>);

impl WebPeer {
    /// Starts a peer that talks to the relay at `relay_url` (`wss://host/ws`).
    ///
    /// `on_wake` is called after something arrived or a timer ran out, in a hidden tab, too: look for events with
    /// [`with`](Self::with) then. While there is a session that is several times a second, so it is also what the game makes
    /// its steps by while the browser withholds frames: a host whose game makes none is one no longer
    /// ([`samovar_peer::Rules::steps_within`]). It is not called before `start` has returned. It should hold the page weakly: one
    /// that owns this peer would otherwise never be dropped, nor the peer.
    #[must_use]
    pub fn start(relay_url: &str, peer: PeerConfig, on_wake: impl FnMut() + 'static) -> Self {
        Self::start_with(relay_url, peer, WebConfig::default(), on_wake)
    }

    /// As [`start`](Self::start), with another configuration of direct connections.
    #[must_use]
    pub fn start_with(
        relay_url: &str,
        mut peer: PeerConfig,
        config: WebConfig,
        on_wake: impl FnMut() + 'static,
    ) -> Self {
        peer.name = fit_name(&peer.name);
        let driver = Rc::new_cyclic(|weak| {
            Driver::new(relay_url.to_owned(), peer, config, Box::new(on_wake), Weak::clone(weak))
        });
        driver.work();
        Self(driver)
    }

    /// Gives access to the peer, and sends what it wants to send afterwards.
    ///
    /// # Panics
    /// When called from within `access`.
    pub fn with<R>(&self, access: impl FnOnce(&mut Peer, Time) -> R) -> R {
        self.0.with(access)
    }

    /// Returns the function that a page calls when it cannot go on. It tells the others that this peer goes away and may come
    /// back; after a panic of the peer it tells the relay alone. It does not keep the peer alive, wakes nobody, does not panic.
    pub fn farewell(&self) -> impl Fn() + 'static {
        let driver = Rc::downgrade(&self.0);
        move || {
            if let Some(driver) = driver.upgrade() {
                driver.go_away();
            }
        }
    }

    /// What answers in place of the relay's WebSocket, once one has closed before it was open: a relay that refuses this
    /// page, or a proxy. `None` when one is open, and while nobody answers at all.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.0.obstacle()
    }
}
