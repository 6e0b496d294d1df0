//! Every bound and every span of the directory and its client, in one place. `samovar_wire::limits` has the sizes.

use samovar_wire::Duration;

/// Games that are live at a time; a further one is refused as busy.
pub const GAMES_MAX: usize = 10_000;
/// Connections at a time, those that have not entered included; a further one is refused as busy.
pub const CONNECTIONS_MAX: usize = 16_384;
/// Connections of one game, those that wait to enter included; a further newcomer is refused as busy.
pub const CONNECTIONS_PER_GAME_MAX: usize = 64;
/// Connections of one game beyond that, for the host and members it has named, so that newcomers cannot crowd them out.
pub const RETURNS_PER_GAME_MAX: usize = 32;
/// Peers of one game and one address that no host has named. A further one waits until one of them is named, or gone.
pub const STRANGERS_PER_ORIGIN_MAX: usize = 4;
/// Connections of one address that wait to enter one game.
pub const WAITING_PER_ORIGIN_MAX: usize = 32;
/// Peers that a game remembers as barred, and as many addresses; the oldest are given up. A client keeps as many bars until the
/// relay has them.
pub const BARS_MAX: usize = 64;
/// How long a peer that no host has named keeps its place from a newcomer.
pub const NAMED_WITHIN: Duration = Duration::from_millis(30_000);
/// Sessions without a connection whose terms are remembered; beyond it one that nobody has joined is forgotten, or the
/// one that has slept longest.
pub const DORMANT_MAX: usize = 100_000;
/// Peers of one game that are remembered so that their ids are not drawn again.
pub const PEERS_REMEMBERED: usize = 256;

/// How much one relay takes, within the bounds above.
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

/// How long a connection may take to send its `Enter`.
pub const ENTER_WITHIN: Duration = Duration::from_millis(5_000);
/// How long a host may take to answer a probe: four times as long as the soonest of its last four answers took, at least this.
pub const PROBE_WITHIN: Duration = Duration::from_millis(600);
/// And at most this. It may take as long to leave the relay before it counts as asked.
pub const PROBE_WITHIN_OF_FAR: Duration = Duration::from_millis(1_500);
/// The same, at least, where most members died with it (PROTOCOL §5.5, rule 8): nobody answers but who misses it, and more than
/// one does, or [`SILENT_SUFFICE`] are silent.
pub const PROBE_WITHIN_OF_MANY: Duration = Duration::from_millis(60);
/// So many who do not answer, with the host, make up for a second who misses it: each of them is not heard in time by chance
/// once in twenty times where one packet in twenty is lost, and who claims without end has them asked six times a second.
pub const SILENT_SUFFICE: usize = 5;
/// As many answers to probes are remembered of each member.
pub(crate) const TRIPS_KEPT: usize = 4;
/// The least time between two probes of a whole game.
pub const ALL_PROBED_EVERY: Duration = Duration::from_millis(150);
/// How long after a host's answer to a probe a doubt asks for no other.
pub const PROBE_HOLDS: Duration = Duration::from_millis(100);
/// How long such an answer answers claims, too, however many there are: when all direct paths fail at once everybody misses a
/// host that lives, and it is heard through the relay before they claim again. It also keeps those who claim without end
/// from making the host exceed its own limits. Of a host that died it costs nothing: who missed it did so for longer.
pub const ALIVE_HOLDS: Duration = Duration::from_millis(150);
/// How long a claim counts. Claimants repeat theirs twice as often while they miss the host.
pub const CLAIM_COUNTS_FOR: Duration = Duration::from_millis(750);
/// How long a host that is not back yet is not taken for gone, from the moment its game is listed again, unless most
/// of the members miss it. It covers the longest pause of a client between two attempts.
pub const HOST_GRACE: Duration = Duration::from_millis(6_000);
/// How long the code of a session is kept for it after the relay restarted.
pub const CODE_RESERVED_FOR: Duration = Duration::from_millis(60_000);
/// How long it is kept when the last connection of a session was lost: its members may play on over direct links, and
/// come back after the longest pause between two attempts.
pub const CODE_KEPT_FOR: Duration = Duration::from_millis(15_000);
/// How long it is kept when all members have said that they go, some of them to come back as others: whoever was a member
/// founds the game anew at once, and after this time anybody may.
pub const RETURNS_WITHIN: Duration = Duration::from_millis(2_000);
/// How long a former member waits at most for others who may play on: longer than the longest pause of a client between two
/// attempts, and shorter than [`ANSWER_WITHIN`].
pub const REJOIN_WAIT: Duration = Duration::from_millis(12_000);
/// How long a newcomer waits for the first member of a game without connections to come back.
pub const RESTORED_WAIT: Duration = Duration::from_millis(10_000);
/// How long the term of a session without a connection is remembered.
pub const DORMANT_FOR: Duration = Duration::from_millis(24 * 60 * 60 * 1_000);
/// How often every connection hears from the relay at least.
pub const PULSE_EVERY: Duration = Duration::from_millis(2_000);

/// A game whose host has left so many questions in a row unanswered, one of each pulse, is not listed: whoever joined it would
/// wait for nothing. It is listed again when the host answers.
pub const UNANSWERED_MAX: u8 = 4;

/// Between two signals of one connection, on average.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Signals of one connection at once.
pub const SIGNAL_BURST: u64 = 60;
/// Between two control messages of one connection, signals included, on average.
pub const CONTROL_INTERVAL: Duration = Duration::from_millis(20);
/// Control messages of one connection at once.
pub const CONTROL_BURST: u64 = 150;

/// A client's pause before it opens the relay's socket again, on average: each is drawn between half of it and three halves. It
/// doubles with each failure in a row.
pub const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest such pause, on average.
pub const RETRY_MAX: Duration = Duration::from_millis(4_000);
/// How long a client waits for the socket to open.
pub const OPEN_WITHIN: Duration = Duration::from_millis(10_000);
/// How long a client waits for the answer to its `Enter`: longer than [`RESTORED_WAIT`] and [`REJOIN_WAIT`].
pub const ANSWER_WITHIN: Duration = Duration::from_millis(15_000);
/// How long a relay may be silent before the client takes the connection for broken: two pulses. It has to be back before
/// its host removes it, which hears nothing of it meanwhile.
pub const SILENCE_MAX: Duration = Duration::from_millis(4_000);
/// Between two listings of one client.
pub const LISTING_INTERVAL: Duration = Duration::from_millis(500);
/// Between two claims of a client, on average.
pub const CLIENT_CLAIM_INTERVAL: Duration = Duration::from_millis(100);
/// Claims of a client at once; one that comes faster is left out, its repetition is not.
pub const CLIENT_CLAIM_BURST: u64 = 8;
/// Between two lists of members of one client, on average.
pub const MEMBERS_INTERVAL: Duration = Duration::from_millis(100);
/// Lists of members of one client at once.
pub const MEMBERS_BURST: u64 = 8;
/// Between two bars of one client, on average.
pub const BAR_INTERVAL: Duration = Duration::from_millis(100);
/// Bars of one client at once.
pub const BAR_BURST: u64 = 8;
/// Between two signals of a client, on average. Rate and burst leave the relay room for a network that holds two
/// seconds of them back and then delivers all at once.
pub const CLIENT_SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// Signals of a client at once: one for every other member.
pub const CLIENT_SIGNAL_BURST: u64 = 40;
/// Signals that wait in a client; beyond it the oldest is dropped, and its attempt times out.
pub const CLIENT_SIGNALS_MAX: usize = 128;
