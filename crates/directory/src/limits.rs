//! Every bound and every time span of the directory and its client, in one place. `samovar_wire::limits` has the sizes.

use samovar_wire::Duration;

/// Games that are live at a time; a further one is refused as busy.
pub const GAMES_MAX: usize = 10_000;
/// Connections at a time, those that have not entered included; a further one is refused as busy.
pub const CONNECTIONS_MAX: usize = 16_384;
/// Connections of one game, those that wait to enter included; a further newcomer is refused as busy.
pub const CONNECTIONS_PER_GAME_MAX: usize = 64;
/// Further connections of one game, for the host and the members that it has named, so that newcomers cannot crowd
/// them out.
pub const RETURNS_PER_GAME_MAX: usize = 32;
/// Peers in one game, from one address, that no host has named. A further one waits until one of them is named or
/// gone.
pub const STRANGERS_PER_ORIGIN_MAX: usize = 4;
/// Connections of one address that wait to enter one game.
pub const WAITING_PER_ORIGIN_MAX: usize = 32;
/// The number of barred peers that a game remembers, and of barred addresses. Beyond this number the oldest are
/// dropped. A client keeps as many bars, to repeat them on its next connection.
pub const BARS_MAX: usize = 64;
/// The time for which an unnamed peer keeps its place in a full game. After that a newcomer can take the place.
pub const NAMED_WITHIN: Duration = Duration::from_millis(30_000);
/// Sessions without a connection whose terms are remembered. Beyond this number the relay first forgets sessions that
/// no peer joined, then the session that has had no connection for longest.
pub const DORMANT_MAX: usize = 100_000;
/// Peers of one game that are remembered so that their ids are not drawn again.
pub const PEERS_REMEMBERED: usize = 256;

/// The capacity of one relay, within the bounds above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    /// Games that are live at a time, [`GAMES_MAX`] at most, which is the default. A further one is refused as busy.
    pub games: usize,
    /// Connections of one game, [`CONNECTIONS_PER_GAME_MAX`] at most, which is the default. A further newcomer is
    /// refused as busy; members that come back have [`RETURNS_PER_GAME_MAX`] more.
    pub connections_per_game: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { games: GAMES_MAX, connections_per_game: CONNECTIONS_PER_GAME_MAX }
    }
}

impl Quota {
    pub(crate) fn bounded(self) -> Self {
        Self {
            games: self.games.min(GAMES_MAX),
            connections_per_game: self.connections_per_game.min(CONNECTIONS_PER_GAME_MAX),
        }
    }
}

/// The longest time that a connection may take to send its `Enter`.
pub const ENTER_WITHIN: Duration = Duration::from_millis(5_000);
/// The least time that a host gets to answer a probe. It gets four times the quickest of its last four answers if
/// that is longer.
pub const PROBE_WITHIN: Duration = Duration::from_millis(600);
/// The most time that a host gets to answer a probe. A probe that has not even left the relay after this time ends,
/// too.
pub const PROBE_WITHIN_OF_FAR: Duration = Duration::from_millis(1_500);
/// The least time that a host gets when most members seem to have died with it (PROTOCOL §5.5, rule 8). This holds
/// when only members that miss the host answer the probe, and either two of them miss it or [`SILENT_SUFFICE`]
/// members are silent.
pub const PROBE_WITHIN_OF_MANY: Duration = Duration::from_millis(60);
/// This many silent members, the host included, stand in for a second claimant. A smaller number would too often be
/// silent by chance: when one packet in twenty is lost, each member misses one probe in twenty, and a member that
/// claims without end causes six probes a second.
pub const SILENT_SUFFICE: usize = 5;
/// The number of answers to probes whose times are remembered, for each member.
pub(crate) const TRIPS_KEPT: usize = 4;
/// The least time between two probes of a whole game.
pub const ALL_PROBED_EVERY: Duration = Duration::from_millis(150);
/// For this time after a host's answer to a probe, a doubt causes no further probe.
pub const PROBE_HOLDS: Duration = Duration::from_millis(100);
/// For this time after a host's answer to a probe, the relay denies all claims, however many there are. When all
/// direct paths fail at once, all members miss a living host; in this time they hear it through the relay again. The
/// time also keeps members that claim without end from making the host exceed its own limits. It does not delay the
/// succession to a dead host, because members miss a host only after a longer silence.
pub const ALIVE_HOLDS: Duration = Duration::from_millis(150);
/// The time for which a claim counts. Claimants repeat theirs at half this interval or less while they miss the host.
pub const CLAIM_COUNTS_FOR: Duration = Duration::from_millis(750);
/// The time for which the relay awaits a host after its game is listed again without it. In this time the host does
/// not count as gone, unless most members miss it. The time covers a client's longest pause between two attempts.
pub const HOST_GRACE: Duration = Duration::from_millis(6_000);
/// The time for which a session's code is kept after the relay restarted.
pub const CODE_RESERVED_FOR: Duration = Duration::from_millis(60_000);
/// The time for which a session's code is kept after its last connection was lost. The members may play on over
/// direct paths, and come back after the longest pause between two attempts.
pub const CODE_KEPT_FOR: Duration = Duration::from_millis(15_000);
/// The time for which a session's code is kept after all members said that they go, if some of them may come back. In
/// this time a former member founds the game anew at once. Afterwards any peer may found it.
pub const RETURNS_WITHIN: Duration = Duration::from_millis(2_000);
/// The time for which a newcomer waits in a game whose members have all said that they go, if one of them may come back.
/// A page that is loaded anew is back within it. If none may come back, the newcomer begins the game anew at once.
pub const AWAY_WAIT: Duration = Duration::from_millis(5_000);
/// The longest time that a former member waits for others that may play on. It is longer than a client needs to come
/// back: one attempt that finds no relay, and the longest pause after it. It is shorter than [`ANSWER_WITHIN`].
pub const REJOIN_WAIT: Duration = Duration::from_millis(13_000);
const _: () = assert!(
    OPEN_WITHIN.as_micros() + RETRY_MAX.as_micros() * 3 / 2 + 1_000_000 < REJOIN_WAIT.as_micros(),
    "a member comes back within the time that a former member waits"
);
/// The time for which a newcomer to a game without connections waits until a member comes back.
pub const RESTORED_WAIT: Duration = Duration::from_millis(10_000);
/// The most tokens of the game's own server that are remembered until they end.
pub const TOKENS_MAX: usize = 100_000;
/// The time for which the term of a session without a connection is remembered.
pub const DORMANT_FOR: Duration = Duration::from_millis(24 * 60 * 60 * 1_000);
/// The longest time between two messages of the relay on a connection.
pub const PULSE_EVERY: Duration = Duration::from_millis(2_000);

/// When a host leaves this many probes in a row unanswered, one per pulse, its game is not listed: a peer that joined
/// it would wait in vain. The game is listed again when the host answers.
pub const UNANSWERED_MAX: u8 = 4;

/// The mean time between two signals of one connection.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Signals of one connection at once.
pub const SIGNAL_BURST: u64 = 60;
/// The mean time between two control messages of one connection, signals included.
pub const CONTROL_INTERVAL: Duration = Duration::from_millis(20);
/// Control messages of one connection at once.
pub const CONTROL_BURST: u64 = 150;

/// A client's first mean pause before it opens the relay's socket again. The mean doubles with each failure in a row.
/// The actual pause is drawn between half of the mean and three halves of it.
pub const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest mean pause.
pub const RETRY_MAX: Duration = Duration::from_millis(4_000);
/// The longest time that a client waits for the socket to open. A driver gives up a little sooner, and says why.
pub const OPEN_WITHIN: Duration = Duration::from_millis(5_500);
/// The longest time that a client waits for the answer to its `Enter`: longer than [`RESTORED_WAIT`] and
/// [`REJOIN_WAIT`].
pub const ANSWER_WITHIN: Duration = Duration::from_millis(15_000);
/// The longest silence of a relay before the client takes the connection for broken: two pulses. The client has to be
/// back before its host, which hears nothing of it meanwhile, removes it.
pub const SILENCE_MAX: Duration = Duration::from_millis(4_000);
/// The least time between two listings of one client.
pub const LISTING_INTERVAL: Duration = Duration::from_millis(500);
/// The mean time between two claims of a client.
pub const CLIENT_CLAIM_INTERVAL: Duration = Duration::from_millis(100);
/// The number of claims that a client may send at once. The client drops a claim beyond the limits, because the peer
/// repeats its claims anyway.
pub const CLIENT_CLAIM_BURST: u64 = 8;
/// The mean time between two lists of members of one client.
pub const MEMBERS_INTERVAL: Duration = Duration::from_millis(100);
/// Lists of members of one client at once.
pub const MEMBERS_BURST: u64 = 8;
/// The mean time between two bars of one client.
pub const BAR_INTERVAL: Duration = Duration::from_millis(100);
/// Bars of one client at once.
pub const BAR_BURST: u64 = 8;
/// The mean time between two signals of a client. This rate and the burst are lower than the relay's. So a network
/// may hold back two seconds of signals, and then deliver them all at once.
pub const CLIENT_SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// Signals of a client at once: one for every other member.
pub const CLIENT_SIGNAL_BURST: u64 = 40;
/// The number of signals that may wait in a client. Beyond this number the oldest is dropped, and its attempt times
/// out.
pub const CLIENT_SIGNALS_MAX: usize = 128;
