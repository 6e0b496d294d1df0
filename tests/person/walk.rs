//! The walk: one act after another, with a check of all pages after each.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use samovar_tests::hands::Key;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Status};
use samovar_tests::wait;
use samovar_wire::Entropy;

use crate::deed::Deed;

const NAMES: [&str; 3] = ["Ann", "Bob", "Cy"];

/// The longest time until all sit again. People wait for a page that draws in software on a busy machine, and sockets
/// wait for a relay that was away.
const SEATED_WITHIN: Duration = Duration::from_secs(45);

/// The keys that [`Deed::Fumble`] holds, a bit for each.
const KEYS: [Key; 5] = [Key::W, Key::A, Key::S, Key::D, Key::SPACE];

/// Records the clicks, to report them if a click has no effect.
const NOTE_CLICKS: &str = r"
window.__clicks = [];
for (const kind of ['pointerdown', 'pointerup', 'click']) addEventListener(kind, event => {
  const {target, clientX, clientY} = event;
  __clicks.push([kind, target.id || target.className || target.tagName, clientX, clientY, Math.round(event.timeStamp)]);
  __clicks.splice(0, __clicks.length - 9);
}, true);";

/// Sizes of the window in pixels.
const SHAPES: [(u32, u32); 4] = [(640, 600), (560, 640), (500, 700), (720, 560)];

/// Three people at one table.
pub(crate) struct Walk {
    seed: u64,
    entropy: Entropy,
    relay: Relay,
    people: Vec<Player>,
    /// The points of each player when all last agreed. `None` for a player who has given up the seat since.
    points: [Option<i64>; NAMES.len()],
    /// For each kind of act, how often it was done, and the longest time until all sat again.
    times: BTreeMap<&'static str, (u32, Duration)>,
    done: Vec<Deed>,
}

impl Walk {
    /// Seats all players. No match ends, so points only grow.
    pub(crate) async fn begin(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let relay = Relay::start();
        let mut people = Vec::new();
        for (who, name) in NAMES.into_iter().enumerate() {
            let query = if who == 0 {
                format!("new=TEA&name={name}&robots=1&points=0&minutes=0")
            } else {
                format!("game=TEA&name={name}")
            };
            let player = visit(&relay, who, &query).open().await;
            player.joined().await;
            people.push(player);
        }
        // Each player clicks once, because sound runs only after a click.
        for player in &people {
            player.hands().click("#scene").await;
            player.hears().await;
        }
        let (points, times) = ([None; NAMES.len()], BTreeMap::new());
        let entropy = Entropy::new(bytes);
        let mut walk = Self { seed, entropy, relay, people, points, times, done: Vec::new() };
        walk.look().await;
        walk
    }

    /// Does one act after another.
    pub(crate) async fn go_on_for(&mut self, span: Duration) {
        let start = Instant::now();
        while start.elapsed() < span {
            let deed = Deed::choose(&mut self.entropy, NAMES.len());
            println!("{:7.1} s  {deed:?}", start.elapsed().as_secs_f64());
            self.done.push(deed);
            self.perform(deed).await;
            let since = Instant::now();
            self.look().await;
            let (count, longest) = self.times.entry(deed.name()).or_default();
            *count += 1;
            *longest = since.elapsed().max(*longest);
        }
    }

    /// Prints a summary of the acts, and ends the visits.
    pub(crate) async fn end(self) {
        println!(
            "seed {}: {} deeds; how often each, and the longest time until all sat:",
            self.seed,
            self.done.len()
        );
        for (name, (count, longest)) in &self.times {
            println!("  {name:16} {count:4} {:6.1} s", longest.as_secs_f64());
        }
        println!("points: {:?}", self.points);
        for player in self.people {
            player.finish().await;
        }
    }

    async fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Chase { who } => self.chase(who).await,
            Deed::Fumble { who, keys } => self.fumble(who, keys).await,
            Deed::Throw { who } => {
                self.people[who].hands().click("#scene").await;
            }
            Deed::Mute { who, by_key: true } => self.people[who].hands().tap_key(Key::M).await,
            Deed::Mute { who, by_key: false } => {
                self.people[who].hands().click("#game [data-action=mute]").await
            }
            Deed::Help { who } => {
                self.people[who].hands().tap_key(Key::H).await;
                self.people[who].hands().click("#help .button.main").await;
                self.people[who].wait_closed("help").await;
            }
            Deed::Copy { who } => self.people[who].hands().click("[data-action=copy]").await,
            Deed::Resize { who, shape } => self.resize(who, shape).await,
            Deed::Reload { who } => self.reload(who).await,
            Deed::BackAndForth { who } => self.back_and_forth(who).await,
            Deed::Hide { who, tenths } => {
                self.people[who].hide().await;
                pause(tenths).await;
                self.people[who].show().await;
            }
            Deed::Freeze { who, tenths } => {
                self.people[who].set_frozen(true).await;
                pause(tenths).await;
                self.people[who].set_frozen(false).await;
                self.people[who].hide().await;
                self.people[who].show().await;
            }
            Deed::Sleep { who, tenths } => {
                self.people[who].fall_asleep();
                pause(tenths).await;
                self.people[who].wake_up();
            }
            Deed::Online { who } => {
                self.people[who].tab().evaluate("window.dispatchEvent(new Event('online')), null").await;
            }
            Deed::LeaveAndJoin { who } => self.leave_and_join(who).await,
            Deed::CloseAndCome { who } => {
                self.people[who].close().await;
                self.come(who).await;
            }
            Deed::CrashAndCome { who } => {
                self.people[who].kill();
                self.come(who).await;
            }
            Deed::RelayCrash { tenths } => {
                self.relay.kill();
                pause(tenths).await;
                self.relay.restart();
            }
        }
    }

    async fn chase(&self, who: usize) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            if let Ok(status) = self.people[who].try_status().await {
                self.people[who].hands().chase(&status).await;
            }
            tokio::time::sleep(wait::POLL).await;
        }
        self.people[who].hands().hold_only(&[]).await;
    }

    async fn fumble(&self, who: usize, keys: u8) {
        let held: Vec<_> =
            (0..KEYS.len()).filter(|bit| keys & (1 << bit) != 0).map(|bit| KEYS[bit]).collect();
        self.people[who].hands().hold_only(&held).await;
        pause(8).await;
        self.people[who].hands().hold_only(&[]).await;
    }

    async fn resize(&self, who: usize, shape: u8) {
        let (width, height) = SHAPES[usize::from(shape) % SHAPES.len()];
        self.people[who].hands().resize(width, height).await;
    }

    /// Reloads these pages at one moment, without waiting for each other.
    async fn reload(&self, who: u8) {
        let who =
            (0..NAMES.len()).filter(|each| who & (1 << each) != 0).map(|each| self.people[each].reload());
        futures_util::future::join_all(who).await;
    }

    async fn back_and_forth(&self, who: usize) {
        let player = &self.people[who];
        player.hands().forget();
        player.tab().open("about:blank").await;
        pause(5).await;
        player.go(-1).await;
    }

    async fn leave_and_join(&mut self, who: usize) {
        let player = &self.people[who];
        player.hands().click("[data-action=leave]").await;
        player.wait_text("lobby", "Open tables").await;
        player.hands().write("#join-code", "TEA").await;
        player.hands().click("#join-form .button").await;
        self.points[who] = None;
    }

    /// Opens the invitation in a new window. The player gets another seat, because the ticket is lost.
    async fn come(&mut self, who: usize) {
        let query = format!("game=TEA&name={}", NAMES[who]);
        self.people[who] = visit(&self.relay, who, &query).open().await;
        self.points[who] = None;
    }

    /// Waits until all sit at one table, and checks the values that no person's act may change.
    async fn look(&mut self) {
        let start = Instant::now();
        let mut seen = Vec::new();
        for (player, name) in self.people.iter().zip(NAMES) {
            let sits = |status: &Status| {
                let sits = status.members.iter().any(|each| each.is_self && each.name == name);
                sits && NAMES.iter().all(|name| is_once(status, name)) && status.role != "Suspended"
            };
            let left = SEATED_WITHIN.saturating_sub(start.elapsed()).max(SETTLE_WITHIN);
            seen.push(player.wait(&format!("{name} sits with all others"), left, sits).await);
        }
        wait::until("all agree on host, term and members", SETTLE_WITHIN, async || {
            let mut all = Vec::new();
            for player in &self.people {
                all.push(player.try_status().await?);
            }
            if all.iter().any(|status| agreed(status) != agreed(&all[0])) {
                return Err(all.iter().map(|status| format!("{status}\n")).collect());
            }
            seen = all;
            Ok(())
        })
        .await;
        for (who, name) in NAMES.into_iter().enumerate() {
            let points = seen[0].score(name);
            assert!(
                points >= self.points[who],
                "{name} had {:?} points and has {points:?}",
                self.points[who]
            );
            self.points[who] = points;
        }
        for player in &self.people {
            player.lives().await;
            player.has_not_failed().await;
        }
    }
}

/// Prepares a player's visit. Only Ann's page is drawn: three pages that draw in software are too much for two
/// processors.
fn visit<'a>(relay: &'a Relay, who: usize, query: &str) -> Visit<'a> {
    let visit = Visit::new(relay, query).with_script(NOTE_CLICKS);
    if who == 0 { visit.drawn() } else { visit }
}

/// Whether exactly one member has this name. If so, the seat of a crashed browser is away by now.
fn is_once(status: &Status, name: &str) -> bool {
    status.members.iter().filter(|each| each.name == name).count() == 1
}

/// Term, host, and the seated members.
fn agreed(status: &Status) -> (u64, Option<&Id>, BTreeMap<&str, &Id>) {
    let members = status.members.iter().map(|each| (each.name.as_str(), &each.peer)).collect();
    (status.term, status.host.as_ref(), members)
}

async fn pause(tenths: u64) {
    tokio::time::sleep(Duration::from_millis(tenths * 100)).await;
}
