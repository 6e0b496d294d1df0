//! The members of the games: how they join the relay, and become the clients that send the load (`crowd`).

use samovar_wire::PeerId;
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::relay::{Purpose, ToRelay};

use crate::caller::Caller;
use crate::client::{Channels, Client, Plain};
use crate::crowd::Player;
use crate::options::PathWord;
use crate::peer::{Peer, code};
use crate::process::RelayProcess;

/// A member that has joined.
pub(crate) struct Member {
    peer: Peer,
    id: PeerId,
    others: Vec<PeerId>,
    /// Whether this member names the members to the relay, as a host does. The relay grants less to a peer that no
    /// host has named.
    hosts: bool,
}

impl Member {
    /// Founds a game, and the other members join it.
    pub(crate) async fn found(relay: &RelayProcess, game: usize, members: usize) -> Vec<Self> {
        let name = format!("GAME-{game}");
        let (peer, entered) = Peer::create(relay, &name).await;
        let mut all = vec![(peer, entered.pass.peer)];
        for _ in 1..members {
            let (peer, entered) = Peer::enter(relay, Purpose::Join(code(&name))).await;
            all.push((peer, entered.pass.peer));
        }
        let ids: Vec<_> = all.iter().map(|(_, id)| *id).collect();
        let member = |(peer, id)| {
            let others = ids.iter().copied().filter(|other| *other != id).collect();
            Self { peer, id, others, hosts: id == ids[0] }
        };
        all.into_iter().map(member).collect()
    }

    /// Makes the member ready to play.
    pub(crate) async fn play(self, path: PathWord) -> Player {
        let Self { mut peer, id, others, hosts } = self;
        if hosts {
            let all = [id].into_iter().chain(others.iter().copied());
            peer.tell(&ToRelay::Members(all.take(MEMBERS_MAX).collect(), 0)).await;
        }
        let client = match path {
            PathWord::WebSocket => Client::WebSocket(Plain::new(peer)),
            PathWord::WebRtc => {
                let caller = Caller::call(&mut peer).await;
                Client::Channels(Channels::new(caller, id, Plain::new(peer)))
            }
        };
        Player::new(client, others)
    }
}
