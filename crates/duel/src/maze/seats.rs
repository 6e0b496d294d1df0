//! The seats of a maze: which member plays which teapot. Members get teapots in the order in which they come: the ones
//! that they wish for or had before, if these are free. Robots play the rest.

use samovar_wire::SeatId;

use super::{Role, Side};

/// The most members that wait for a teapot; further ones only watch.
pub(super) const WAITING_MAX: usize = 255;

/// The seats of a maze. A seat has one role, or waits, or is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seats {
    pub(super) roles: [Option<SeatId>; Role::COUNT],
    /// The player who has each role, or had it last. A seat is here at most once.
    pub(super) last: [Option<SeatId>; Role::COUNT],
    /// The seats of members that wait for a teapot, in the order in which they came.
    pub(super) waiting: Vec<SeatId>,
}

impl Seats {
    pub(super) fn role_of(&self, seat: SeatId) -> Option<Role> {
        Role::ALL.into_iter().find(|&role| self.of(role) == Some(seat))
    }

    pub(super) fn of(&self, role: Role) -> Option<SeatId> {
        self.roles[role.index()]
    }

    /// Adjusts the seats to the players, given in rising order of seats. A player that left is replaced at once, by
    /// the member that has waited longest or else by a robot. A new player takes the role that it wishes for, or one who
    /// is back the role that it had. If that is not free, it is the first free role of the side with fewer members.
    pub(super) fn settle(&mut self, playing: &[SeatId], wish: impl Fn(SeatId) -> Option<Role>) {
        let stays = |seat: &SeatId| playing.contains(seat);
        for role in &mut self.roles {
            *role = role.take_if(|seat| stays(seat));
        }
        self.waiting.retain(stays);
        for &seat in playing {
            let is_known = self.role_of(seat).is_some() || self.waiting.contains(&seat);
            if !is_known && self.waiting.len() < WAITING_MAX {
                self.waiting.push(seat);
            }
        }
        while let Some(role) = self.free_role().filter(|_| !self.waiting.is_empty()) {
            let seat = self.waiting.remove(0);
            let had = Role::ALL.into_iter().find(|role| self.last[role.index()] == Some(seat));
            let role = wish(seat).or(had).filter(|&role| self.of(role).is_none()).unwrap_or(role);
            self.give(role, seat);
        }
    }

    fn give(&mut self, role: Role, seat: SeatId) {
        self.roles[role.index()] = Some(seat);
        for last in &mut self.last {
            *last = last.filter(|last| *last != seat);
        }
        self.last[role.index()] = Some(seat);
    }

    /// Gives a player who has a role this one instead, if a robot plays it.
    pub(super) fn change(&mut self, seat: SeatId, to: Role) {
        if self.of(to).is_none()
            && let Some(from) = self.role_of(seat)
        {
            self.roles[from.index()] = None;
            self.give(to, seat);
        }
    }

    fn free_role(&self) -> Option<Role> {
        let members = |side: Side| {
            Role::ALL.into_iter().filter(|&role| role.side() == side && self.of(role).is_some()).count()
        };
        let free =
            |side: Side| Role::ALL.into_iter().find(|&role| role.side() == side && self.of(role).is_none());
        let fewer = if members(Side::Blue) < members(Side::Red) { Side::Blue } else { Side::Red };
        free(fewer).or_else(|| free(fewer.other()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn ids(numbers: &[u16]) -> Vec<SeatId> {
        numbers.iter().map(|&number| SeatId(number)).collect()
    }

    #[test]
    fn members_take_roles_in_order_and_balance_the_sides() {
        let mut seats = Seats::default();
        seats.settle(&ids(&[7]), |_| None);
        seats.settle(&ids(&[2, 7]), |_| None);
        seats.settle(&ids(&[2, 3, 7, 9, 11]), |_| None);
        assert_eq!(seats.roles.map(|seat| seat.map(|seat| seat.0)), [Some(7), Some(3), Some(2), Some(9)]);
        assert_eq!(seats.waiting, ids(&[11]));
    }

    #[test]
    fn the_longest_waiting_member_replaces_a_leaver() {
        let mut seats = Seats::default();
        seats.settle(&ids(&[1, 2, 3, 4, 5, 6]), |_| None);
        seats.settle(&ids(&[1, 3, 4, 5, 6]), |_| None);
        assert_eq!(seats.role_of(SeatId(5)), Some(Role::B1));
        assert_eq!(seats.waiting, ids(&[6]));
        seats.settle(&ids(&[3]), |_| None);
        assert_eq!(seats.roles.iter().flatten().count(), 1);
    }

    #[test]
    fn wished_role_is_given_where_a_robot_plays_it() {
        let mut seats = Seats::default();
        seats.settle(&ids(&[1, 2]), |seat| (seat == SeatId(1)).then_some(Role::B2));
        assert_eq!((seats.role_of(SeatId(1)), seats.role_of(SeatId(2))), (Some(Role::B2), Some(Role::R1)));
        seats.change(SeatId(2), Role::B2);
        assert_eq!(seats.role_of(SeatId(2)), Some(Role::R1), "another player has it");
        seats.change(SeatId(2), Role::B1);
        assert_eq!((seats.role_of(SeatId(2)), seats.of(Role::R1)), (Some(Role::B1), None));
        seats.settle(&ids(&[1, 2, 3]), |_| Some(Role::B1));
        assert_eq!(seats.role_of(SeatId(3)), Some(Role::R1), "the wish of a latecomer is in vain");
        seats.change(SeatId(9), Role::R2);
        assert_eq!(seats.of(Role::R2), None, "strangers have no role to change");
    }

    #[test]
    fn player_who_is_back_has_the_role_that_it_had() {
        let mut seats = Seats::default();
        seats.settle(&ids(&[1, 2]), |_| None);
        seats.change(SeatId(1), Role::R2);
        seats.settle(&ids(&[2]), |_| None);
        seats.settle(&ids(&[1, 2]), |_| None);
        assert_eq!(seats.role_of(SeatId(1)), Some(Role::R2));
        // Another player has it meanwhile.
        seats.settle(&ids(&[2]), |_| None);
        seats.settle(&ids(&[2, 3]), |_| Some(Role::R2));
        seats.settle(&ids(&[1, 2, 3]), |_| None);
        assert_eq!((seats.role_of(SeatId(3)), seats.role_of(SeatId(1))), (Some(Role::R2), Some(Role::R1)));
    }

    #[test]
    fn waiting_members_are_bounded() {
        let mut seats = Seats::default();
        let many: Vec<_> = (1..2_000).map(SeatId).collect();
        seats.settle(&many, |_| None);
        assert_eq!((seats.roles.iter().flatten().count(), seats.waiting.len()), (4, WAITING_MAX - 4));
    }
}
