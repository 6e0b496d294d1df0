//! Interest: a grid of the places of this peer's own objects, and the focus of each other peer.
//!
//! A slot lies in one cell at most, so the grid is bounded by the objects. A slot that now holds another peer's
//! object may stay in the grid; each reader of the grid checks the object's owner itself.

use samovar_wire::sight::Focus;
use samovar_wire::{ObjectId, PeerId, SortedMap};

/// The edge of a cell in the unit of the places, unless the game sets another one.
const CELL: f32 = 16.0;
/// An object leaves a focus at this multiple of the focus's radius, so that it does not flicker on the edge.
const LEAVING: f32 = 1.15;

type Cell = [i32; 3];

/// A focus as its bits, which can be compared and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ball([u32; 4]);

impl Ball {
    fn of(focus: Focus) -> Self {
        let [x, y, z] = focus.center.map(f32::to_bits);
        Self([x, y, z, focus.radius.to_bits()])
    }

    fn focus(self) -> Focus {
        let [x, y, z, radius] = self.0.map(f32::from_bits);
        Focus { center: [x, y, z], radius }
    }
}

/// The grid, and the members' foci.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interest {
    cell: u32,
    grid: SortedMap<Cell, Vec<u32>>,
    /// The cell of each slot.
    cells: Vec<Option<Cell>>,
    foci: SortedMap<PeerId, Ball>,
    /// The newest focus that each peer asked for and that is not applied yet.
    asked: SortedMap<PeerId, Option<Ball>>,
    /// Changes of visibility that each peer is still to be told.
    untold: SortedMap<PeerId, SortedMap<ObjectId, bool>>,
    /// A list of peers for reuse; empty while it is lent.
    peers: Vec<PeerId>,
}

impl Default for Interest {
    fn default() -> Self {
        let (grid, cells) = (SortedMap::new(), Vec::new());
        Self {
            cell: CELL.to_bits(),
            grid,
            cells,
            foci: SortedMap::new(),
            asked: SortedMap::new(),
            untold: SortedMap::new(),
            peers: Vec::new(),
        }
    }
}

impl Interest {
    /// Notes the focus that a peer asks for. Applying a focus looks at many objects, so this is done once for all
    /// requests that arrive together.
    pub(crate) fn ask(&mut self, peer: PeerId, focus: Option<Focus>) {
        self.asked.insert(peer, focus.map(Ball::of));
    }

    /// Takes the focus that a peer asked for and that is not applied yet.
    pub(crate) fn take_asked(&mut self, peer: PeerId) -> Option<Option<Focus>> {
        Some(self.asked.remove(&peer)?.map(Ball::focus))
    }

    /// Sets another edge of the cells. All objects must be put in again.
    pub(crate) fn set_cell(&mut self, edge: f32) {
        self.cell = edge.to_bits();
        self.grid.clear();
        self.cells.clear();
    }

    fn cell_of(&self, place: [f32; 3]) -> Cell {
        let edge = f32::from_bits(self.cell);
        // The cast saturates: a place beyond the range lies in an outermost cell.
        place.map(|axis| (axis / edge).floor() as i32)
    }

    /// Notes where an object of this peer is.
    pub(crate) fn put(&mut self, slot: u32, place: Option<[f32; 3]>) {
        let cell = place.map(|place| self.cell_of(place));
        let index = slot as usize;
        if self.cells.len() <= index {
            if cell.is_none() {
                return;
            }
            self.cells.resize(index + 1, None);
        }
        let former = core::mem::replace(&mut self.cells[index], cell);
        if former == cell {
            return;
        }
        if let Some(former) = former
            && let Some(slots) = self.grid.get_mut(&former)
        {
            slots.retain(|&other| other != slot);
            if slots.is_empty() {
                self.grid.remove(&former);
            }
        }
        if let Some(cell) = cell {
            self.grid.entry(cell).or_default().push(slot);
        }
    }

    pub(crate) fn focus(&self, peer: PeerId) -> Option<Focus> {
        self.foci.get(&peer).map(|ball| ball.focus())
    }

    /// Lends a list of all peers that have a focus, to be given back by [`Interest::give_back`].
    pub(crate) fn lookers(&mut self) -> Vec<PeerId> {
        let mut peers = core::mem::take(&mut self.peers);
        peers.extend(self.foci.keys());
        peers
    }

    pub(crate) fn give_back(&mut self, mut peers: Vec<PeerId>) {
        peers.clear();
        self.peers = peers;
    }

    pub(crate) fn has_foci(&self) -> bool {
        !self.foci.is_empty()
    }

    /// Sets the focus of a peer; returns the former one.
    pub(crate) fn set_focus(&mut self, peer: PeerId, focus: Option<Focus>) -> Option<Focus> {
        let former = match focus {
            Some(focus) => self.foci.insert(peer, Ball::of(focus)),
            None => self.foci.remove(&peer),
        };
        former.map(Ball::focus)
    }

    /// Appends the slots of all objects that a focus sees or may have just stopped seeing, and perhaps of others
    /// nearby.
    pub(crate) fn near(&self, focus: &Focus, found: &mut Vec<u32>) {
        let reach = focus.radius * LEAVING;
        let low = self.cell_of(focus.center.map(|axis| axis - reach));
        let high = self.cell_of(focus.center.map(|axis| axis + reach));
        let is_near = |cell: &Cell| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&cell[axis]));
        // Cells are sorted by their first axis, so this range leaves out most others.
        let (from, to) = ([low[0], i32::MIN, i32::MIN], [high[0], i32::MAX, i32::MAX]);
        let cells = self.grid.range(&from, &to).filter(|(cell, _)| is_near(cell));
        cells.for_each(|(_, slots)| found.extend(slots));
    }

    /// Forgets a peer.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.asked.remove(&peer);
        self.foci.remove(&peer);
        self.untold.remove(&peer);
    }

    /// Notes that a peer has to be told whether it is kept up to date about an object.
    pub(crate) fn note(&mut self, peer: PeerId, id: ObjectId, current: bool) {
        self.untold.entry(peer).or_default().insert(id, current);
    }

    pub(crate) fn untold(&self, peer: PeerId) -> Option<&SortedMap<ObjectId, bool>> {
        self.untold.get(&peer)
    }

    /// Notes that a peer has been told of these objects, or need not be.
    pub(crate) fn told(&mut self, peer: PeerId, ids: &[ObjectId]) {
        if let Some(untold) = self.untold.get_mut(&peer) {
            ids.iter().for_each(|id| {
                untold.remove(id);
            });
            if untold.is_empty() {
                self.untold.remove(&peer);
            }
        }
    }
}

/// Whether a focus sees a place; `before` says whether it saw the object before.
pub(crate) fn sees(focus: &Focus, place: [f32; 3], before: bool) -> bool {
    let reach = f64::from(focus.radius) * if before { f64::from(LEAVING) } else { 1.0 };
    distance_squared(focus.center, place) <= reach * reach
}

/// The square of the distance between two places.
pub(crate) fn distance_squared(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(b)).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_grid_finds_all_that_a_focus_sees() {
        let mut dice = Entropy::new([4; 32]);
        let mut roll = |range: u64| (dice.number() % (2 * range)) as f32 - range as f32;
        let mut interest = Interest::default();
        let mut places = vec![[0.0; 3]; 300];
        for round in 0..2_000 {
            let (slot, place) = (round % 300, [roll(500), roll(500), roll(20)]);
            places[slot] = place;
            interest.put(slot as u32, Some(place));
            let focus = Focus { center: [roll(500), roll(500), 0.0], radius: roll(100).abs() };
            let mut found = Vec::new();
            interest.near(&focus, &mut found);
            for (slot, &place) in places.iter().enumerate().take(round + 1) {
                assert!(!sees(&focus, place, true) || found.contains(&(slot as u32)));
            }
        }
        (0..300).for_each(|slot| interest.put(slot, None));
        assert!(interest.grid.is_empty());
    }

    #[test]
    fn a_small_focus_looks_at_few_of_many_objects() {
        let mut interest = Interest::default();
        (0..10_000)
            .for_each(|n| interest.put(n, Some([(n % 100) as f32 * 10.0, (n / 100) as f32 * 10.0, 0.0])));
        let mut found = Vec::new();
        interest.near(&Focus { center: [500.0, 500.0, 0.0], radius: 20.0 }, &mut found);
        assert!((13..=100).contains(&found.len()), "{}", found.len());
    }

    #[test]
    fn extreme_places_and_foci_are_found_without_a_panic() {
        let mut interest = Interest::default();
        interest.put(3, Some([f32::MAX, f32::MIN, 0.0]));
        let mut found = Vec::new();
        interest.near(&Focus { center: [f32::MAX; 3], radius: f32::MAX }, &mut found);
        interest.near(&Focus { center: [0.0; 3], radius: f32::MAX }, &mut found);
        assert!(found.contains(&3));
    }
}
