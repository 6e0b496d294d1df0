//! A peer in a page: the handle that the page keeps.

use std::rc::{Rc, Weak};

use samovar_peer::{Peer, PeerConfig};
use samovar_wire::Time;

use crate::connection::WebConfig;
use crate::driver::Driver;
use crate::inquiry::Obstacle;
use crate::name::fit_name;

/// A running peer; clones are handles of the same peer. Dropping the last handle closes the peer's connections
/// without telling the other members; [`Peer::leave`] tells them.
#[derive(Clone)]
pub struct WebPeer(Rc<Driver>);

impl WebPeer {
    /// Starts a peer that talks to the relay at `relay_url` (`wss://host/ws`).
    ///
    /// The peer calls `on_wake` after a message arrived or a timer ran out, in a hidden tab, too. The page then looks
    /// for events with [`with`](Self::with). In a session the peer calls it several times a second, even while the
    /// browser withholds frames. The page should make its game's steps there: a host whose game makes no steps stops
    /// being host ([`samovar_peer::Rules::steps_within`]). The peer does not call it before `start` has returned. The function
    /// should hold the page weakly: a function that owns this peer would keep itself and the peer alive for ever.
    #[must_use]
    pub fn start(relay_url: &str, peer: PeerConfig, on_wake: impl FnMut() + 'static) -> Self {
        Self::start_with(relay_url, peer, WebConfig::default(), on_wake)
    }

    /// Starts a peer as [`start`](Self::start) does, with other settings of direct connections.
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

    /// Gives access to the peer, then sends the messages that the peer wants to send.
    ///
    /// # Panics
    /// When called from within `access`.
    pub fn with<R>(&self, access: impl FnOnce(&mut Peer, Time) -> R) -> R {
        self.0.with(access)
    }

    /// Returns the function that a page calls when it cannot go on. The function tells the others that this peer goes
    /// away and may come back; after a panic of the peer it tells only the relay. It does not keep the peer alive, does
    /// not call `on_wake`, and does not panic.
    pub fn farewell(&self) -> impl Fn() + 'static {
        let driver = Rc::downgrade(&self.0);
        move || {
            if let Some(driver) = driver.upgrade() {
                driver.go_away();
            }
        }
    }

    /// Whether the relay has accepted this page's WebSocket. It may still make the peer wait before it lets it in.
    #[must_use]
    pub fn is_relay_open(&self) -> bool {
        self.0.is_relay_open()
    }

    /// The HTTP answer that came in place of the relay's WebSocket, for example from a relay that refuses this page
    /// or from a proxy. `None` when a socket is open, and while no server answers at all.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.0.obstacle()
    }
}
