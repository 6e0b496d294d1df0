//! The limits of one peer, one address and one game, so that none can use up what others need.
//!
//! Rates are token buckets that hold one second's worth, by the generic cell rate algorithm (ITU-T I.371). A bucket
//! is one number: the time when it will be full again. Many tasks take from one bucket, so the number is an atomic. A
//! task looks before it takes, so tasks that run at the same time may each take one too many.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use samovar_directory::limits::Quota;

use crate::metrics::Dropped;
use crate::network;
use crate::room::Room;
use crate::value::Origin;

/// The content of a full bucket, as time in nanoseconds: one second.
const BURST: u64 = 1_000_000_000;
/// A member's share is its own rate divided by this. It is at most an equal part of the address's and of the game's
/// rate: that rate, divided by the most connections allowed. Messages within the share pass even when other senders
/// have emptied the budgets of the address and the game.
const SHARE: u64 = 32;

/// All limits that an operator may change while the relay runs. Rates are per second, and 0 means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest time that a connection may take to send its request, and to take the answer.
    pub handshake: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Games at once.
    pub games: usize,
    /// Connections of one game.
    pub game_connections: usize,
    /// Packets from one game.
    pub game_packets: u64,
    /// Bytes from one game.
    pub game_bytes: u64,
    /// Bytes that wait in all queues together.
    pub queue_bytes: usize,
    /// Packets from one member.
    pub member_packets: u64,
    /// Bytes from one member.
    pub member_bytes: u64,
    /// Connections from one address at once.
    pub address_connections: usize,
    /// New connections of all addresses together; beyond this each address may open fewer.
    pub opens: u64,
    /// New connections from one address.
    pub address_opens: u64,
    /// Packets from one address.
    pub address_packets: u64,
    /// Bytes from one address.
    pub address_bytes: u64,
    /// The pages that may speak to the relay; all if the list is empty.
    pub origins: Vec<Origin>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<network::Network>,
}

/// How limits are written and changed by words, as in a file of settings.
#[derive(Clone, Copy, Debug)]
pub struct LimitWords {
    /// All limits as text.
    pub text: fn(&Limits) -> String,
    /// The limits with one of them changed, by its key and its value. The error says what is wrong.
    pub change: fn(&Limits, &str, &str) -> Result<Limits, String>,
}

impl Limits {
    pub(crate) const fn quota(&self) -> Quota {
        Quota { games: self.games, connections_per_game: self.game_connections }
    }

    /// Whether this address is a trusted proxy.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|network| network.contains(address))
    }

    /// Whether a browser's page may speak to the relay.
    pub(crate) fn admits_origin(&self, origin: &[u8]) -> bool {
        let is_it = |allowed: &Origin| allowed.as_str().as_bytes().eq_ignore_ascii_case(origin);
        self.origins.is_empty() || self.origins.iter().any(is_it)
    }
}

/// The limits in force.
#[derive(Debug)]
pub(crate) struct LiveLimits {
    all: RwLock<Arc<Limits>>,
    member: Rates,
    share: Rates,
    address: Rates,
    game: Rates,
    room: Arc<Room>,
}

/// A rate of packets and one of bytes, in atomics for fast look-up.
#[derive(Debug, Default)]
struct Rates {
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// The two rates at a moment.
#[derive(Clone, Copy, Debug)]
struct Rate {
    packets: u64,
    bytes: u64,
}

/// The buckets of one member, address or game: one for packets, and one for bytes.
#[derive(Debug, Default)]
pub(crate) struct Purse {
    packets: Bucket,
    bytes: Bucket,
}

/// The connections and the budgets of one network of addresses.
#[derive(Debug)]
pub(crate) struct Network {
    /// The network may have this many times as much as one address.
    pub(crate) width: u64,
    pub(crate) purse: Purse,
    pub(crate) connections: AtomicUsize,
    pub(crate) opens: Bucket,
}

/// The reason why a message must not pass now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpaid {
    pub(crate) reason: Dropped,
    /// The time until the empty budget covers a message again.
    pub(crate) wait: Duration,
    /// Whether the sender's own budget is empty, and not one that it shares with others.
    pub(crate) is_own: bool,
}

/// A token bucket, as the time when it will be full again, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Bucket(AtomicU64);

/// The budgets that a message counts against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payers<'a> {
    pub(crate) member: &'a Purse,
    /// The member's share. While it is not empty, the member does not wait for the budgets below, which other senders
    /// may have emptied.
    pub(crate) share: &'a Purse,
    /// The networks of the sender, the narrowest first.
    pub(crate) networks: &'a [Arc<Network>],
    /// The strangers' common budget, if the sender is a stranger. Strangers together have the rate of one member, so
    /// that most of the game's rate is left to members.
    pub(crate) strangers: Option<&'a Purse>,
    pub(crate) game: Option<&'a Purse>,
}

impl LiveLimits {
    pub(crate) fn new(limits: Limits) -> Self {
        let live = Self {
            all: RwLock::new(Arc::new(limits.clone())),
            member: Rates::default(),
            share: Rates::default(),
            address: Rates::default(),
            game: Rates::default(),
            room: Arc::default(),
        };
        live.set(limits);
        live
    }

    pub(crate) fn set(&self, limits: Limits) {
        self.room.set(limits.queue_bytes);
        self.member.set(limits.member_packets, limits.member_bytes);
        self.address.set(limits.address_packets, limits.address_bytes);
        self.game.set(limits.game_packets, limits.game_bytes);
        let share = |member: u64, address: u64, game: u64| {
            let (of_address, of_game) = (limits.address_connections as u64, limits.game_connections as u64);
            let shares = [(member, SHARE), (address, of_address), (game, of_game)];
            let limited = shares.into_iter().filter(|(rate, _)| *rate > 0);
            limited.map(|(rate, all)| (rate / all.max(1)).max(1)).min().unwrap_or(0)
        };
        self.share.set(
            share(limits.member_packets, limits.address_packets, limits.game_packets),
            share(limits.member_bytes, limits.address_bytes, limits.game_bytes),
        );
        *self.all.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(limits);
    }

    /// All limits. This call is too slow for every packet.
    pub(crate) fn all(&self) -> Arc<Limits> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The room of all queues.
    pub(crate) const fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// The most datagrams a second of one member's data channels that the relay decrypts; 0 means no limit. Each
    /// packet is one datagram, and as many again acknowledge the packets that the member gets. If a member sent far
    /// more, its packets would be dropped anyway.
    pub(crate) fn datagrams(&self) -> u64 {
        match self.member.packets.load(Ordering::Relaxed) {
            0 => 0,
            packets => packets.saturating_mul(4).saturating_add(1_000),
        }
    }

    /// The most packets a second of one member that the relay reads and then drops, because other senders have
    /// emptied a shared budget.
    pub(crate) fn pace(&self) -> u64 {
        self.member.packets.load(Ordering::Relaxed) / 4
    }

    /// Counts a message of `bytes` bytes against its budgets. The member's own budget must not be empty. The shared
    /// budgets must not be empty either, with two exceptions: a message within the member's share, and a member's
    /// message to the relay itself. Then the message counts only against those shared budgets that are not empty.
    ///
    /// # Errors
    /// A budget that must not be empty is empty. Then nothing is counted.
    pub(crate) fn pay(
        &self,
        payers: Payers<'_>,
        now: u64,
        bytes: usize,
        is_control: bool,
    ) -> Result<(), Unpaid> {
        let bytes = bytes as u64;
        let (own, share) = (self.member.now(), self.share.now());
        let wait = payers.member.wait(own, now);
        if wait > 0 {
            return Err(Unpaid {
                reason: Dropped::MemberRate,
                wait: Duration::from_nanos(wait),
                is_own: true,
            });
        }
        let share_wait = payers.share.wait(share, now);
        let is_owed = is_control && payers.strangers.is_none();
        let networks = payers.networks.iter();
        let networks = networks.map(|of| (&of.purse, self.address.times(of.width), Dropped::AddressRate));
        let strangers = payers.strangers.map(|purse| (purse, own, Dropped::GameRate));
        let game = payers.game.map(|purse| (purse, self.game.now(), Dropped::GameRate));
        let shared = || networks.clone().chain(strangers).chain(game);
        if !is_owed {
            for (purse, rate, reason) in shared() {
                // A member with something left in its share does not wait for the shared budgets.
                let wait = purse.wait(rate, now).min(share_wait);
                if wait > 0 {
                    return Err(Unpaid { reason, wait: Duration::from_nanos(wait), is_own: false });
                }
            }
        }
        payers.member.pay(own, now, bytes);
        payers.share.pay(share, now, bytes);
        for (purse, rate, _) in shared().filter(|(purse, rate, _)| purse.wait(*rate, now) == 0) {
            purse.pay(rate, now, bytes);
        }
        Ok(())
    }

    /// Counts an HTTP answer against the budgets of these networks, and returns zero. If a budget is empty, counts
    /// nothing and returns the time until the budgets cover the answer.
    pub(crate) fn pay_answer(&self, networks: &[Arc<Network>], now: u64, bytes: u64) -> Duration {
        let all = || networks.iter().map(|network| (&network.purse, self.address.times(network.width)));
        let wait = all().map(|(purse, rate)| purse.wait(rate, now)).max().unwrap_or(0);
        if wait == 0 {
            all().for_each(|(purse, rate)| purse.pay(rate, now, bytes));
        }
        Duration::from_nanos(wait)
    }
}

impl Network {
    pub(crate) fn new(width: u64) -> Self {
        let (purse, connections, opens) = Default::default();
        Self { width, purse, connections, opens }
    }

    /// Whether the network has fewer connections than allowed, if one address may have `most`.
    pub(crate) fn has_place(&self, most: u64) -> bool {
        (self.connections.load(Ordering::Relaxed) as u64) < most.saturating_mul(self.width)
    }
}

impl Rates {
    fn now(&self) -> Rate {
        self.times(1)
    }

    /// These rates times `factor`.
    fn times(&self, factor: u64) -> Rate {
        let times = |rate: &AtomicU64| rate.load(Ordering::Relaxed).saturating_mul(factor);
        Rate { packets: times(&self.packets), bytes: times(&self.bytes) }
    }

    fn set(&self, packets: u64, bytes: u64) {
        self.packets.store(packets, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Purse {
    fn wait(&self, rate: Rate, now: u64) -> u64 {
        let limited = |rate: u64, bucket: &Bucket| if rate == 0 { 0 } else { bucket.wait(now) };
        limited(rate.packets, &self.packets).max(limited(rate.bytes, &self.bytes))
    }

    fn pay(&self, rate: Rate, now: u64, bytes: u64) {
        self.packets.take(now, 1, rate.packets);
        self.bytes.take(now, bytes, rate.bytes);
    }

    /// Whether both buckets are full again.
    pub(crate) fn is_full(&self, now: u64) -> bool {
        self.packets.is_full(now) && self.bytes.is_full(now)
    }
}

impl Bucket {
    /// Nanoseconds from `now` until the next take; 0 for at once. A bucket that is not empty covers a take of any size,
    /// and is then in debt.
    pub(crate) fn wait(&self, now: u64) -> u64 {
        let ahead = self.0.load(Ordering::Relaxed).saturating_sub(now);
        if ahead < BURST { 0 } else { ahead - BURST + 1 }
    }

    /// The amount that is missing from the bucket, at this rate per second.
    pub(crate) fn missing(&self, now: u64, rate: u64) -> u64 {
        let ahead = self.0.load(Ordering::Relaxed).saturating_sub(now);
        (u128::from(ahead) * u128::from(rate) / u128::from(BURST)).try_into().unwrap_or(u64::MAX)
    }

    /// Takes `amount` at a rate per second; a rate of 0 takes nothing.
    pub(crate) fn take(&self, now: u64, amount: u64, rate: u64) {
        let Some(cost) = amount.saturating_mul(1_000_000_000).checked_div(rate) else { return };
        let due = |due: u64| Some(due.max(now).saturating_add(cost));
        let always = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due);
        debug_assert!(always.is_ok(), "the update never declines");
    }

    /// Whether the bucket is full.
    pub(crate) fn is_full(&self, now: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    const SECOND: u64 = 1_000_000_000;

    fn limits(text: &str) -> Limits {
        let settings: Settings = toml::from_str(&format!("data = \"d\"\n{text}")).expect("settings");
        settings.resolve().expect("complete").0.limits
    }

    /// The number of `count` packets that pass at one moment, and the reason of the first refusal.
    fn passed(live: &LiveLimits, payers: Payers<'_>, now: u64, count: usize) -> (usize, Option<Dropped>) {
        let results: Vec<_> = (0..count).map(|_| live.pay(payers, now, 100, false)).collect();
        let first = results.iter().find_map(|result| result.as_ref().err());
        (results.iter().filter(|result| result.is_ok()).count(), first.map(|unpaid| unpaid.reason))
    }

    #[test]
    fn one_seconds_worth_passes_at_once_then_the_rate_holds() {
        let live = LiveLimits::new(limits("member-packets = 50"));
        let (purse, share) = Default::default();
        let payers = Payers { member: &purse, share: &share, networks: &[], strangers: None, game: None };
        assert_eq!(passed(&live, payers, SECOND, 60), (50, Some(Dropped::MemberRate)));
        let Unpaid { wait, .. } = live.pay(payers, SECOND, 1, false).expect_err("it is empty");
        assert!((1..=20_000_001).contains(&wait.as_nanos()), "{wait:?}");
        assert_eq!(passed(&live, payers, SECOND + SECOND / 10, 60).0, 5);
        assert!(!purse.is_full(2 * SECOND) && purse.is_full(2 * SECOND + SECOND / 10));
    }

    #[test]
    fn a_member_over_its_limit_takes_nothing_from_the_others() {
        let live = LiveLimits::new(limits("member-packets = 10\ngame-packets = 40\naddress-packets = 0"));
        let ([greedy, honest], [share, other], game) = Default::default();
        let networks = [Arc::new(Network::new(1))];
        let payers =
            |member, share| Payers { member, share, networks: &networks, strangers: None, game: Some(&game) };
        assert_eq!(passed(&live, payers(&greedy, &share), SECOND, 1_000).0, 10);
        assert_eq!(passed(&live, payers(&honest, &other), SECOND, 10), (10, None));
        live.set(limits("member-packets = 0\ngame-packets = 40"));
        assert_eq!(passed(&live, payers(&greedy, &share), SECOND, 1_000), (20, Some(Dropped::GameRate)));
    }

    #[test]
    fn others_cannot_use_up_a_members_share() {
        let live = LiveLimits::new(limits("member-packets = 3200\naddress-packets = 51200"));
        let (greedy, honest): ([(Purse, Purse); 20], (Purse, Purse)) = Default::default();
        let (networks, strangers) = ([Arc::new(Network::new(1))], Purse::default());
        let payers =
            |(member, share), strangers| Payers { member, share, networks: &networks, strangers, game: None };
        for (purse, share) in &greedy {
            passed(&live, payers((purse, share), None), SECOND, 4_000);
        }
        let mine = |count| passed(&live, payers((&honest.0, &honest.1), None), SECOND, count);
        assert_eq!(mine(200), (100, Some(Dropped::AddressRate)));
        let of = |strangers| live.pay(payers((&honest.0, &honest.1), strangers), SECOND, 100, true);
        assert!(of(None).is_ok(), "what it says to the relay is paid by itself");
        assert!(of(Some(&strangers)).is_err(), "unless it is a stranger");
    }

    #[test]
    fn an_answer_counts_against_every_network_of_its_address() {
        let live = LiveLimits::new(limits("address-packets = 10"));
        let networks = [1, 4].map(|width| Arc::new(Network::new(width)));
        let answered =
            |networks| (0..100).filter(|_| live.pay_answer(networks, SECOND, 10).is_zero()).count();
        assert_eq!(answered(&networks[..]), 10);
        assert_eq!(answered(&networks[1..]), 30, "what is left for the rest of the wider one");
    }

    #[test]
    fn a_large_message_leaves_the_byte_budget_in_debt() {
        let live = LiveLimits::new(limits("member-bytes = 20000"));
        let (purse, share) = Default::default();
        let payers = Payers { member: &purse, share: &share, networks: &[], strangers: None, game: None };
        assert!(live.pay(payers, SECOND, 100_000, false).is_ok());
        let Unpaid { reason, wait, .. } = live.pay(payers, SECOND, 1, false).expect_err("it is in debt");
        assert_eq!((reason, wait.as_secs()), (Dropped::MemberRate, 4));
        live.set(limits("member-bytes = 0"));
        assert!(live.pay(payers, SECOND, 5_000, false).is_ok(), "a limit that is lifted forgives");
    }

    #[test]
    fn only_listed_origins_are_admitted() {
        assert!(limits("").admits_origin(b"https://anywhere.example"));
        let limits = limits("origin = [\"https://tea.example\"]");
        assert!(limits.admits_origin(b"https://tea.example"));
        for foreign in ["https://tea.example.evil", "http://tea.example", "null", ""] {
            assert!(!limits.admits_origin(foreign.as_bytes()), "{foreign}");
        }
    }
}
