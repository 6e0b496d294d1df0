//! A history of the group, and the definitions of the orders, computed only from each member's actions and
//! deliveries.

use std::collections::{BTreeMap, BTreeSet};

use samovar_order::ViewId;
use samovar_wire::PeerId;

/// A message, by a number that only the test knows.
pub(crate) type Message = u32;

/// A member's action or delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Act {
    Sent(Message),
    Delivered(Message),
    View(ViewId),
    Behind,
}

/// The origin of a message.
#[derive(Clone, Debug)]
struct Origin {
    sender: PeerId,
    /// Everything that happened before it was sent (Lamport 1978).
    past: BTreeSet<Message>,
    /// The view that its sender was in.
    view: Option<ViewId>,
    /// The members that its sender had been told of.
    owed: Vec<PeerId>,
}

/// Every member's actions and deliveries, checked as they happen.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) acts: BTreeMap<PeerId, Vec<Act>>,
    origins: BTreeMap<Message, Origin>,
    /// By member: the messages in its past.
    past: BTreeMap<PeerId, BTreeSet<Message>>,
}

impl History {
    /// Notes that a member sends a message to all `owed`: the members of the newest view that it was told of.
    pub(crate) fn sent(&mut self, by: PeerId, message: Message, owed: Vec<PeerId>) {
        let past = self.past.entry(by).or_default();
        let origin = Origin { sender: by, past: past.clone(), view: last_view(self.acts.get(&by)), owed };
        past.insert(message);
        assert!(self.origins.insert(message, origin).is_none(), "message {message} is sent twice");
        self.acts.entry(by).or_default().push(Act::Sent(message));
    }

    /// Takes a message back that was not sent after all.
    pub(crate) fn retract(&mut self, by: PeerId, message: Message) {
        self.origins.remove(&message);
        self.past.entry(by).or_default().remove(&message);
        self.acts.entry(by).or_default().pop();
    }

    pub(crate) fn saw(&mut self, at: PeerId, act: Act) {
        self.acts.entry(at).or_default().push(act);
        if let Act::Delivered(message) = act {
            let origin = &self.origins[&message];
            let past = self.past.entry(at).or_default();
            past.extend(origin.past.iter().copied());
            past.insert(message);
        }
    }

    pub(crate) fn views(&self, of: PeerId) -> Vec<ViewId> {
        let acts = self.acts.get(&of).into_iter().flatten();
        acts.filter_map(|act| if let Act::View(id) = act { Some(*id) } else { None }).collect()
    }

    pub(crate) fn deliveries(&self, at: PeerId) -> Vec<Message> {
        let acts = self.acts.get(&at).into_iter().flatten();
        acts.filter_map(|act| if let Act::Delivered(message) = act { Some(*message) } else { None }).collect()
    }

    pub(crate) fn sender(&self, message: Message) -> PeerId {
        self.origins[&message].sender
    }

    /// Checks that each member delivers a message at most once, and after its causes.
    pub(crate) fn check_causal(&self) -> Result<(), String> {
        for &at in self.acts.keys() {
            self.check_causal_at(at)?;
        }
        Ok(())
    }

    fn check_causal_at(&self, at: PeerId) -> Result<(), String> {
        let deliveries = self.deliveries(at);
        let places: BTreeMap<Message, usize> = deliveries.iter().copied().zip(0..).collect();
        if places.len() != deliveries.len() {
            return Err(format!("{at} delivered something twice: {deliveries:?}"));
        }
        let first = self.views(at).first().copied();
        let is_behind = self.acts[&at].contains(&Act::Behind);
        for (&message, &place) in &places {
            for cause in &self.origins[&message].past {
                let origin = &self.origins[cause];
                let was_there = first.is_some() && origin.view >= first && origin.view.is_some();
                match places.get(cause) {
                    Some(&earlier) if earlier < place => {}
                    Some(_) => return Err(format!("{at} delivered {message} before {cause}, its cause")),
                    None if was_there && origin.sender != at && !is_behind => {
                        return Err(format!("{at} delivered {message} without {cause}, its cause"));
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A member's deliveries between two views that followed each other there, without its own messages and
    /// `other`'s.
    fn delivered_in(&self, at: PeerId, other: PeerId) -> BTreeMap<(ViewId, ViewId), Vec<Message>> {
        let (mut found, mut view, mut list) = (BTreeMap::new(), None, Vec::new());
        for act in &self.acts[&at] {
            match *act {
                Act::Delivered(message) if ![at, other].contains(&self.sender(message)) => list.push(message),
                Act::View(id) => {
                    let finished = core::mem::take(&mut list);
                    found.extend(view.replace(id).map(|view| ((view, id), finished)));
                }
                Act::Behind => (view, list) = (None, Vec::new()),
                Act::Delivered(_) | Act::Sent(_) => {}
            }
        }
        found
    }

    /// Checks that members that went from one view to the next together delivered the same messages before. In a
    /// total order they delivered them in the same order.
    pub(crate) fn check_views(&self, is_ordered: bool) -> Result<(), String> {
        for (&a, &b) in self.acts.keys().flat_map(|a| self.acts.keys().map(move |b| (a, b))) {
            let theirs = self.delivered_in(b, a);
            for (views, mut mine) in self.delivered_in(a, b) {
                let Some(mut yours) = theirs.get(&views).cloned() else { continue };
                if !is_ordered {
                    mine.sort_unstable();
                    yours.sort_unstable();
                }
                if mine != yours {
                    return Err(format!("between {views:?} {a} delivered {mine:?} and {b} {yours:?}"));
                }
            }
        }
        Ok(())
    }

    /// Checks that any two of these members delivered their common messages in one order.
    pub(crate) fn check_total(&self, members: &[PeerId]) -> Result<(), String> {
        check_alike(members, |member| self.deliveries(member))
    }

    /// Checks the same for orders in which a member sees its own messages when it sends them.
    pub(crate) fn check_total_at_sight(&self, members: &[PeerId]) -> Result<(), String> {
        check_alike(members, |member| {
            let acts = self.acts.get(&member).into_iter().flatten();
            let seen = |act: &Act| match *act {
                Act::Sent(message) | Act::Delivered(message) => Some(message),
                Act::View(_) | Act::Behind => None,
            };
            acts.filter_map(seen).collect()
        })
    }

    /// Checks that each message of a survivor has reached every survivor that was a member when the message was sent,
    /// or that the sender believed to be one. Survivors that were left behind are not checked.
    pub(crate) fn check_complete(&self, survivors: &[PeerId], delivers_own: bool) -> Result<(), String> {
        for &at in survivors.iter().filter(|at| !self.acts[at].contains(&Act::Behind)) {
            let delivered: BTreeSet<_> = self.deliveries(at).into_iter().collect();
            let first = self.views(at).first().copied();
            for (message, origin) in &self.origins {
                let counts = survivors.contains(&origin.sender)
                    && !self.acts[&origin.sender].contains(&Act::Behind)
                    && (origin.sender != at || delivers_own)
                    && (origin.view >= first || origin.owed.contains(&at));
                if counts && !delivered.contains(message) {
                    return Err(format!("{at} never delivered {message} of {}", origin.sender));
                }
            }
        }
        Ok(())
    }
}

fn check_alike(members: &[PeerId], list: impl Fn(PeerId) -> Vec<Message>) -> Result<(), String> {
    let common = |list: &[Message], other: &[Message]| -> Vec<Message> {
        let other: BTreeSet<_> = other.iter().collect();
        list.iter().filter(|message| other.contains(message)).copied().collect()
    };
    for (&a, &b) in members.iter().flat_map(|a| members.iter().map(move |b| (a, b))) {
        let (mine, yours) = (list(a), list(b));
        let (ours, theirs) = (common(&mine, &yours), common(&yours, &mine));
        if ours != theirs {
            return Err(format!("{a} delivered {ours:?} and {b} {theirs:?}"));
        }
    }
    Ok(())
}

fn last_view(acts: Option<&Vec<Act>>) -> Option<ViewId> {
    acts?.iter().rev().find_map(|act| if let Act::View(id) = act { Some(*id) } else { None })
}
