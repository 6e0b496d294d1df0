//! One game: a relay and some robots, each at a place of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::network::Network;
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Object, Status};
use samovar_tests::wait;

/// The longest time until all players sit and have direct paths with each other.
pub(crate) const SEATED_WITHIN: Duration = Duration::from_secs(40);
/// The longest time until all remaining players agree on a new host. It is far longer than the promised time, which
/// is measured in virtual time: here the machine is busy, and a robot reports once a second.
pub(crate) const SUCCEEDED_WITHIN: Duration = Duration::from_secs(15);
/// The longest time from the healing of the network until all agree. Sockets on both sides of a cut wait longer and
/// longer before they try again.
pub(crate) const HEALED_WITHIN: Duration = Duration::from_secs(45);

/// The relay's place.
pub(crate) const RELAY: usize = 0;

/// The network, the relay at place 0, and the players from place 1 on. A player's number is that of its place.
pub(crate) struct Table {
    pub(crate) network: Network,
    pub(crate) relay: Relay,
    code: String,
    /// The players by place; `None` before a player sits there, and after its process has ended.
    players: Vec<Option<Bots>>,
    pub(crate) host: usize,
    pub(crate) backup: usize,
    /// The last known term.
    pub(crate) term: u64,
    start: Instant,
    /// The first place that was never used.
    seated: usize,
    /// The points that each player had once all were seated.
    points: Vec<i64>,
    /// For each term that the relay gave, the peers that reported that they hosted.
    hosts: BTreeMap<u64, BTreeSet<Id>>,
}

impl Table {
    /// Sets a game of `players` players, all linked directly. Returns `None`, and prints the reason, if no network
    /// may be made.
    pub(crate) async fn set(players: u8) -> Option<Self> {
        Self::set_with(players, 0).await
    }

    /// Sets a game as [`Self::set`] does, with `later` more places for players that join later.
    pub(crate) async fn set_with(players: u8, later: u8) -> Option<Self> {
        let network = match Network::open(players + later + 1) {
            Ok(network) => network,
            Err(why) => {
                println!("SKIPPED, no network for the test: {why}");
                return None;
            }
        };
        let relay = Relay::start_at(network.place(RELAY));
        let (founder, code) = Bots::found_at(network.place(1), &relay, 1, "auto").await;
        let mut robots = vec![None, Some(founder)];
        for number in 2..=usize::from(players) {
            robots.push(Some(Bots::join_at(network.place(number), &relay, &code, "auto")));
        }
        robots.extend((0..later).map(|_| None));
        let mut table = Self {
            network,
            relay,
            code,
            players: robots,
            host: 0,
            backup: 0,
            term: 0,
            start: Instant::now(),
            seated: usize::from(players) + 1,
            points: Vec::new(),
            hosts: BTreeMap::new(),
        };
        let all: Vec<usize> = (1..=usize::from(players)).collect();
        let start = Instant::now();
        let seated = table.wait("all sit and are linked", &all, start, SEATED_WITHIN, |all| {
            agree(all, all.len())?;
            all.iter().try_for_each(|status| {
                let direct = status.others().all(|other| other.path == "direct");
                if direct && status.backup.is_some() { Ok(()) } else { Err("not linked".to_owned()) }
            })
        });
        let seated = seated.await;
        table.term = seated[0].term;
        table.host = table.number_of(&seated[0].host);
        table.backup = table.number_of(&seated[0].backup);
        // Waits for some reports of all players, which relate session time to the machine's clock.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let points = |number| table.last(number).and_then(|(_, status)| points(&status)).unwrap_or(0);
        table.points = (0..table.players.len()).map(points).collect();
        // Waits until all players have heard of these points.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Some(table)
    }

    /// All living players.
    pub(crate) fn all(&self) -> Vec<usize> {
        let alive = self.players.iter().enumerate().filter(|(_, robot)| robot.is_some());
        alive.map(|(number, _)| number).collect()
    }

    /// All players but these.
    pub(crate) fn all_but(&self, numbers: &[usize]) -> Vec<usize> {
        self.all().into_iter().filter(|number| !numbers.contains(number)).collect()
    }

    /// The player of this peer.
    pub(crate) fn number_of(&self, peer: &Option<Id>) -> usize {
        let is_it = |&number: &usize| self.last(number).is_some_and(|(_, status)| status.peer == *peer);
        self.all().into_iter().find(is_it).unwrap_or_else(|| panic!("nobody is {peer:?}"))
    }

    pub(crate) fn robot(&mut self, number: usize) -> &mut Bots {
        self.players[number].as_mut().expect("alive")
    }

    pub(crate) fn last(&self, number: usize) -> Option<(Instant, Status)> {
        self.players[number].as_ref()?.last()
    }

    /// Ends these players by `SIGKILL`, at once.
    pub(crate) fn kill(&mut self, numbers: &[usize]) {
        self.note_hosts();
        self.take(numbers).iter_mut().for_each(Bots::kill);
    }

    /// Lets these players leave at once, and waits until their processes have ended.
    pub(crate) async fn leave(&mut self, numbers: &[usize]) {
        self.note_hosts();
        let mut leaving = self.take(numbers);
        leaving.iter_mut().for_each(Bots::leave);
        for robot in &mut leaving {
            robot.has_ended().await;
        }
    }

    fn take(&mut self, numbers: &[usize]) -> Vec<Bots> {
        numbers.iter().filter_map(|&number| self.players[number].take()).collect()
    }

    /// Starts a player at the first unused place, and returns its number.
    pub(crate) fn come(&mut self) -> usize {
        let number = self.seated;
        self.seated += 1;
        self.players[number] =
            Some(Bots::join_at(self.network.place(number), &self.relay, &self.code, "auto"));
        number
    }

    /// Waits until a player sits.
    pub(crate) async fn sits(&mut self, number: usize) {
        let is_in = |all: &[Status]| {
            let sits = all[0].host.is_some() && all[0].members.iter().any(|member| member.is_self);
            if sits { Ok(()) } else { Err("it does not".to_owned()) }
        };
        self.wait("the newcomer sits", &[number], self.start, SEATED_WITHIN, is_in).await;
    }

    /// Whether there is an unused place.
    pub(crate) fn has_room(&self) -> bool {
        self.seated < self.players.len()
    }

    /// Notes the reported hosts by term, and fails if two hosted in one term. Only terms that the relay gave count,
    /// because each side of a partitioned duel votes for a host of its own.
    fn note_hosts(&mut self) {
        let robots = self.players.iter().flatten();
        for (_, status) in robots
            .flat_map(|robot| robot.since(self.start))
            .filter(|(_, status)| status.is_host())
            .filter(|(_, status)| status.term.is_multiple_of(256))
        {
            self.hosts.entry(status.term).or_default().extend(status.host);
        }
        let two = self.hosts.iter().find(|(_, hosts)| hosts.len() > 1);
        assert_eq!(two, None, "two hosts in one term");
    }

    /// Waits until the last reports of these players came after `since` and are as wanted, and returns them.
    pub(crate) async fn wait(
        &mut self,
        what: &str,
        who: &[usize],
        since: Instant,
        within: Duration,
        wanted: impl Fn(&[Status]) -> Result<(), String>,
    ) -> Vec<Status> {
        wait::until(what, within, async || {
            let mut statuses = Vec::new();
            for &number in who {
                self.robot(number).assert_running();
                match self.last(number) {
                    Some((heard, status)) if heard > since => statuses.push(status),
                    last => return Err(format!("player {number} is silent; before it said {last:?}")),
                }
            }
            let shown = || statuses.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            wanted(&statuses).map_err(|why| format!("{why}\n{}", shown())).map(|()| statuses.clone())
        })
        .await
    }

    /// Waits until these players agree that they are the only ones left, under a host of a newer term. Prints how
    /// long after `since` each of them had the new host's session.
    pub(crate) async fn succeeded(&mut self, scenario: &str, who: &[usize], since: Instant) -> Vec<Status> {
        let former = self.term;
        let statuses = self
            .wait("those who are left have a new host", who, since, SUCCEEDED_WITHIN, |all| {
                agree(all, all.len())?;
                if all[0].term > former { Ok(()) } else { Err(format!("still term {former}")) }
            })
            .await;
        let times = who.iter().zip(&statuses).map(|(&number, status)| {
            let time = self.players[number].as_ref().map(|robot| robot.resumed_after(status, since));
            format!("{:.0}", time.expect("alive"))
        });
        println!("{scenario}: resumed after {} ms", times.collect::<Vec<_>>().join(", "));
        self.note_hosts();
        (self.term, self.host) = (statuses[0].term, self.number_of(&statuses[0].host));
        statuses
    }

    /// Waits until these players, which are cut off together, agree that they are the only ones left, and play on. In
    /// a duel each side does.
    pub(crate) async fn plays_apart(&mut self, who: &[usize]) {
        let (since, latest) = (Instant::now(), self.term);
        self.wait("who is cut off plays on", who, since, SUCCEEDED_WITHIN, |all| {
            agree(all, all.len())?;
            if all[0].term < latest { Ok(()) } else { Err("it is not cut off".to_owned()) }
        })
        .await;
        self.plays(who).await;
    }

    /// Waits until each of these players, which are cut off, reports that it acts no more. Either it is suspended, or
    /// it knows that the others went on and is in no game.
    pub(crate) async fn is_suspended(&mut self, who: &[usize]) {
        let since = Instant::now();
        self.wait("who is cut off acts no more", who, since, SUCCEEDED_WITHIN, |all| {
            let active = all.iter().find(|status| status.role != "Suspended" && status.peer.is_some());
            active.map_or(Ok(()), |status| Err(format!("{:?} is {}", status.peer, status.role)))
        })
        .await;
    }

    /// Makes the network whole, and waits until all agree on the host of the side that went on.
    pub(crate) async fn heal(&mut self, scenario: &str) {
        self.network.heal();
        self.all_back(scenario).await;
    }

    /// Waits until all living players are members of one session, under a host of no older term, and have their points.
    pub(crate) async fn all_back(&mut self, scenario: &str) {
        let (since, all, former) = (Instant::now(), self.all(), self.term);
        let statuses = self
            .wait("all are back under one host", &all, since, HEALED_WITHIN, |all| {
                agree(all, all.len())?;
                if all[0].term >= former { Ok(()) } else { Err(format!("an older term than {former}")) }
            })
            .await;
        println!("{scenario}: all were back after {} ms", since.elapsed().as_millis());
        for (&number, status) in all.iter().zip(&statuses) {
            assert!(
                points(status) >= Some(self.points[number]),
                "{} points were lost: {status}",
                self.points[number]
            );
        }
        self.note_hosts();
        (self.term, self.host) = (statuses[0].term, self.number_of(&statuses[0].host));
        self.plays(&all).await;
    }

    /// Waits until these players see members drive on. A member that stands must stand where it reports that it
    /// stands. Teapots of players that are gone stand still meanwhile.
    pub(crate) async fn plays(&mut self, who: &[usize]) {
        let start = Instant::now();
        let before = self.wait("they report", who, start, SUCCEEDED_WITHIN, |_| Ok(())).await;
        self.wait("they play on", who, start, SUCCEEDED_WITHIN, |all| {
            all.iter().zip(&before).try_for_each(|(after, before)| {
                let members = || after.members.iter().map(|member| &member.peer);
                if !members().any(|member| drives(member, after, before)) {
                    return Err(format!("{:?} sees all stand still", after.peer));
                }
                let lost = members()
                    .find(|member| !drives(member, after, before) && !is_where_it_says(member, after, all));
                lost.map_or(Ok(()), |member| Err(format!("{:?} does not see {member} drive", after.peer)))
            })
        })
        .await;
    }
}

/// Whether an observer has seen a teapot of this member move between two reports. A host also owns the teapots of
/// players that are gone.
fn drives(member: &Id, after: &Status, before: &Status) -> bool {
    teapots(member, after)
        .any(|teapot| before.object(&teapot.id).is_some_and(|old| teapot.distance(old) > 0.01))
}

/// Whether an observer sees this member's teapots where the member itself reports them. Robots may stand for a while.
fn is_where_it_says(member: &Id, after: &Status, all: &[Status]) -> bool {
    let is_seen = |own: &Object| after.object(&own.id).is_some_and(|seen| own.distance(seen) < 0.05);
    all.iter()
        .find(|status| status.peer.as_ref() == Some(member))
        .is_some_and(|status| teapots(member, status).all(is_seen))
}

fn teapots<'a>(member: &'a Id, status: &'a Status) -> impl Iterator<Item = &'a Object> {
    status.objects_of("teapot").filter(move |object| object.owner == *member)
}

/// A player's own points.
fn points(status: &Status) -> Option<i64> {
    status.members.iter().find(|member| member.is_self).map(|member| member.score)
}

/// Whether all report the same term, host and backup, and the same `count` members, and all objects belong to members.
pub(crate) fn agree(statuses: &[Status], count: usize) -> Result<(), String> {
    let members = |status: &Status| -> BTreeSet<Id> {
        status.members.iter().map(|member| member.peer.clone()).collect()
    };
    let first = &statuses[0];
    for status in statuses {
        let office = |status: &Status| (status.term, status.host.clone(), status.backup.clone());
        if (office(status), members(status)) != (office(first), members(first)) {
            return Err("they do not agree".to_owned());
        }
        if status.members.len() != count {
            return Err(format!("{} members, not {count}", status.members.len()));
        }
        if status.role == "Suspended" {
            return Err(format!("{:?} is suspended", status.peer));
        }
        if let Some(object) = status.objects.iter().find(|object| !members(status).contains(&object.owner)) {
            return Err(format!("{} belongs to {}, who is gone", object.id, object.owner));
        }
    }
    match statuses.iter().filter(|status| status.is_host()).count() {
        1 => Ok(()),
        hosts => Err(format!("{hosts} hosts")),
    }
}
