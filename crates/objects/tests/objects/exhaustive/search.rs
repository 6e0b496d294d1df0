//! Tries all orders of a scenario's letters, breadth first, so that the first failure is a shortest one.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

use samovar_wire::object::MessageKind;
use samovar_wire::{PeerId, Stamp};

use crate::exhaustive::stage::{Content, End, Hearer, Letter, Scenario};

/// The promise about the order of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Reliable messages of one sender stay in order, and its updates wait for their announcement (PROTOCOL §4.2,
    /// rule 6).
    Lanes,
    /// Any order at all.
    Nothing,
}

/// The most copies of an update that arrive.
const COPIES_MAX: u8 = 2;

/// An order with a wrong end.
pub(crate) struct Failure {
    pub(crate) order: Vec<String>,
    what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ends wrong: {}", self.order.join(" "), self.what)
    }
}

pub(crate) struct Found {
    /// Orders that ended, each counted once.
    pub(crate) orders: u128,
    /// Distinct states of the search, from the start to the ends.
    pub(crate) states: usize,
    /// A shortest order with a wrong end.
    pub(crate) failure: Option<Failure>,
}

/// The state after some letters. Orders that led to the same state share one node.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Node<H> {
    hearer: H,
    /// How many copies of each letter were heard.
    heard: Vec<u8>,
    expected: Expected,
}

/// The value that PROTOCOL states: that of the newest announcement, or of the newest packet since then. A grant's
/// receiver keeps its own copy.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Expected {
    known: Option<(Stamp, u64, Vec<u8>)>,
    gone: Vec<PeerId>,
}

impl Expected {
    fn new(scenario: &Scenario) -> Self {
        let known = scenario.start.get(scenario.id).map(|o| (o.stamp(), 0, o.field(0).to_vec()));
        Self { known, gone: Vec::new() }
    }

    fn hear(&mut self, letter: &Letter) {
        if self.gone.contains(&letter.from) {
            return;
        }
        let known = self.known.as_ref();
        match &letter.content {
            Content::Reliable { kind: MessageKind::Destroy | MessageKind::Granted, .. } => {}
            Content::Reliable { kind, stamp, value, .. } if known.is_none_or(|known| known.0 < *stamp) => {
                let own = known.filter(|_| *kind == MessageKind::Grant).map(|known| known.2.clone());
                self.known = Some((*stamp, 0, own.unwrap_or_else(|| value.clone())));
            }
            Content::Update { stamp, packet, value, .. }
                if known.is_some_and(|known| known.0 == *stamp && known.1 <= *packet) =>
            {
                self.known = Some((*stamp, *packet, value.clone()));
            }
            Content::Gone(peer) => self.gone.push(*peer),
            _ => {}
        }
    }
}

/// The number of orders that led to a node, and the first of them.
struct Way {
    orders: u128,
    first: Vec<usize>,
}

type Level<H> = BTreeMap<u64, Vec<(Node<H>, Way)>>;

/// Lets the observer hear the letters in all orders.
pub(crate) fn search<H: Hearer>(scenario: &Scenario, start: H, promise: Promise) -> Found {
    let heard = vec![0; scenario.letters.len()];
    let expected = Expected::new(scenario);
    let mut level = Level::new();
    add(&mut level, Node { hearer: start, heard, expected }, Way { orders: 1, first: Vec::new() });
    let mut found = Found { orders: 0, states: 0, failure: None };
    while !level.is_empty() {
        let mut next = Level::new();
        for (node, way) in level.into_values().flatten() {
            found.states += 1;
            let is_complete = |(letter, &copies): (&Letter, &u8)| letter.is_unreliable() || copies > 0;
            if scenario.letters.iter().zip(&node.heard).all(is_complete) {
                found.orders += way.orders;
                if let Err(what) = judge(&node, scenario.end) {
                    found.failure = Some(failure(scenario, &way.first, what));
                    return found;
                }
            }
            for index in
                (0..scenario.letters.len()).filter(|&i| may_arrive(scenario, &node.heard, i, promise))
            {
                let first: Vec<_> = way.first.iter().copied().chain([index]).collect();
                match hear(&node, &scenario.letters[index], index) {
                    Ok(heard) => add(&mut next, heard, Way { orders: way.orders, first }),
                    Err(what) => {
                        found.failure = Some(failure(scenario, &first, what));
                        return found;
                    }
                }
            }
        }
        level = next;
    }
    found
}

fn hear<H: Hearer>(node: &Node<H>, letter: &Letter, index: usize) -> Result<Node<H>, String> {
    let mut next = node.clone();
    next.hearer.hear(letter)?;
    next.heard[index] += 1;
    next.expected.hear(letter);
    let stamp = |node: &Node<H>| node.hearer.picture().and_then(|(_, stamp, _)| stamp);
    match stamp(node).zip(stamp(&next)) {
        Some((before, after)) if after < before => Err(format!("{after:?} replaces {before:?}")),
        _ => Ok(next),
    }
}

fn add<H: Hearer>(level: &mut Level<H>, node: Node<H>, way: Way) {
    let mut hasher = DefaultHasher::new();
    node.hash(&mut hasher);
    let bucket = level.entry(hasher.finish()).or_default();
    match bucket.iter_mut().find(|(known, _)| *known == node) {
        Some((_, known)) => known.orders += way.orders,
        None => bucket.push((node, way)),
    }
}

fn may_arrive(scenario: &Scenario, heard: &[u8], index: usize, promise: Promise) -> bool {
    let letter = &scenario.letters[index];
    let copies = if letter.is_unreliable() { COPIES_MAX } else { 1 };
    if heard[index] == copies || letter.after.is_some_and(|after| heard[after] == 0) {
        return false;
    }
    // The letters are listed in the order in which they were written.
    let former = scenario.letters[..index].iter().zip(heard);
    let mut waiting = former.filter(|(other, copies)| !other.is_unreliable() && **copies == 0);
    promise == Promise::Nothing || !waiting.any(|(other, _)| other.from == letter.from)
}

fn judge<H: Hearer>(node: &Node<H>, end: End) -> Result<(), String> {
    let said = |value: &[u8]| format!("{:?}", String::from_utf8_lossy(value));
    let expected = node.expected.known.as_ref().map_or_else(String::new, |known| said(&known.2));
    match (node.hearer.picture(), end) {
        (None, End::Dead) => Ok(()),
        (Some((owner, stamp, value)), End::Owned(last, under))
            if owner == last && stamp.is_none_or(|stamp| stamp == under) && said(&value) == expected =>
        {
            Ok(())
        }
        (None, End::Owned(owner, _)) => Err(format!("it is gone instead of {owner}'s")),
        (Some((owner, _, value)), End::Dead) => {
            Err(format!("it is {owner}'s, {}, and should be gone", said(&value)))
        }
        (Some((owner, stamp, value)), End::Owned(last, under)) => Err(format!(
            "it is {owner}'s under {stamp:?}, {}, instead of {last}'s under {under:?}, {expected}",
            said(&value)
        )),
    }
}

fn failure(scenario: &Scenario, order: &[usize], what: String) -> Failure {
    Failure { order: order.iter().map(|&index| scenario.letters[index].name.clone()).collect(), what }
}
