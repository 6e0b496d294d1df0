//! The open connections, and their games.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use axum::body::Bytes;
use samovar_directory::{Class, ConnId, Connected, RelayOffer};
use samovar_wire::SessionId;
use samovar_wire::relay::RelayFrame;

use crate::game::Game;
use crate::line::{Line, Visitor};
use crate::metrics::{Dropped, Kind, Metrics};
use crate::outbox::{Farewell, Waiting};
use crate::reach::Reach;
use crate::room::Room;

/// All connections, by their ids in the directory.
#[derive(Debug)]
pub(crate) struct Lines {
    open: HashMap<ConnId, Arc<Line>>,
    /// Each game that a peer is in.
    games: HashMap<SessionId, Weak<Game<Line>>>,
    /// The id of the last connection.
    opened: u64,
    is_stopping: bool,
    reach: Option<Arc<Reach>>,
    metrics: Arc<Metrics>,
}

impl Lines {
    pub(crate) fn new(reach: Option<Arc<Reach>>, metrics: Arc<Metrics>) -> Self {
        let (open, games) = (HashMap::new(), HashMap::new());
        Self { open, games, opened: 0, is_stopping: false, reach, metrics }
    }

    /// Opens another connection.
    pub(crate) fn open(&mut self, caller: Visitor, room: &Arc<Room>) -> Arc<Line> {
        self.opened += 1;
        let conn = ConnId(self.opened);
        let line = Arc::new(Line::new(conn, caller, room));
        self.open.insert(conn, Arc::clone(&line));
        if self.is_stopping {
            line.outbox.close(Farewell::STOPPING);
        }
        line
    }

    pub(crate) fn get(&self, conn: ConnId) -> Option<&Arc<Line>> {
        self.open.get(&conn)
    }

    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<Line>> {
        self.open.values()
    }

    /// Closes all connections, including those that open later.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
        self.all().for_each(|line| line.outbox.close(Farewell::STOPPING));
    }

    pub(crate) const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Queues a message of the directory for a connection.
    pub(crate) fn send(&self, conn: ConnId, bytes: Bytes, class: Class, since: u64) {
        if let Some(line) = self.get(conn) {
            let kind = RelayFrame::decode(&bytes).map_or(Kind::Control, |frame| Kind::of(&frame));
            let dropped = line.outbox.push(class, Waiting { kind, bytes, since });
            self.metrics.dropped(line.shard, Dropped::QueueFull, dropped);
        }
    }

    /// Passes an offer of data channels to the endpoint.
    pub(crate) fn offer(&self, offer: RelayOffer) {
        let RelayOffer { conn, attempt, description } = offer;
        if let (Some(reach), Some(line)) = (&self.reach, self.get(conn)) {
            reach.offer(Arc::clone(line), attempt, description);
        }
    }

    /// Closes a connection after its waiting messages. Returns whether it was open.
    pub(crate) fn end(&mut self, conn: ConnId, farewell: Farewell) -> bool {
        let Some(line) = self.open.remove(&conn) else { return false };
        line.outbox.close(farewell);
        if let Some(reach) = &self.reach {
            reach.forget(conn);
        }
        true
    }

    /// Notes the connected peers of a session, in the order of peers.
    pub(crate) fn connect(&mut self, session: SessionId, connected: impl Iterator<Item = Connected> + Clone) {
        let known = self.games.get(&session).and_then(Weak::upgrade);
        let is_same = |game: &Arc<Game<Line>>| {
            game.peers().iter().map(|(peer, line)| line.as_connected(*peer)).eq(connected.clone())
        };
        if known.as_ref().is_some_and(is_same) {
            return;
        }
        let open = |Connected { peer, conn, is_stranger }| {
            let line = self.open.get(&conn)?;
            line.is_stranger.store(is_stranger, Ordering::Relaxed);
            Some((peer, Arc::clone(line)))
        };
        let peers: Vec<_> = connected.filter_map(open).collect();
        if peers.is_empty() {
            self.games.remove(&session);
            if let Some(game) = known {
                game.connect(peers);
            }
            return;
        }
        let game = known.unwrap_or_default();
        self.games.insert(session, Arc::downgrade(&game));
        peers.iter().for_each(|(peer, line)| line.enter(&game, *peer));
        game.connect(peers);
    }
}

#[cfg(test)]
mod tests {
    use samovar_wire::PeerId;

    use super::*;

    #[test]
    fn only_connected_peers_send_and_hear_and_none_is_kept() {
        let mut lines = Lines::new(None, Arc::default());
        let room = Arc::new(Room::default());
        let [host, newcomer] = [1, 2].map(|_| lines.open(Visitor::default(), &room));
        let row =
            |peer, line: &Line, is_stranger| Connected { peer: PeerId(peer), conn: line.conn, is_stranger };
        assert!(host.routes().is_none(), "it has entered no game");
        lines.connect(SessionId(1), [row(5, &host, false), row(9, &newcomer, true)].into_iter());
        let routes = newcomer.routes().expect("is connected");
        assert_eq!((routes.from, routes.class), (PeerId(9), Class::Stranger(newcomer.conn)));
        assert!(routes.to(PeerId(5)).is_some_and(|line| Arc::ptr_eq(line, &host)));
        assert!(routes.to(PeerId(7)).is_none());
        lines.connect(SessionId(1), [row(5, &host, false), row(9, &newcomer, false)].into_iter());
        assert_eq!(newcomer.routes().map(|routes| routes.class), Some(Class::Member));
        lines.end(newcomer.conn, Farewell::GONE);
        lines.connect(SessionId(1), [row(5, &host, false)].into_iter());
        assert!(newcomer.routes().is_none(), "its messages go nowhere");
        assert!(host.routes().is_some_and(|routes| routes.to(PeerId(9)).is_none()));
        drop(routes);
        assert_eq!(Arc::strong_count(&newcomer), 1);
        lines.end(host.conn, Farewell::GONE);
        lines.connect(SessionId(1), [].into_iter());
        assert_eq!(Arc::strong_count(&host), 1, "an ended game keeps no line");
    }
}
