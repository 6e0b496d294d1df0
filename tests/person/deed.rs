//! People's acts on a page, its browser and the relay.

use samovar_wire::Entropy;

/// One act. People are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Drives at another teapot and throws, by keys.
    Chase { who: usize },
    /// Holds keys at random.
    Fumble { who: usize, keys: u8 },
    /// Throws by the mouse's button on the table.
    Throw { who: usize },
    /// Switches sounds by a key or by the button.
    Mute { who: usize, by_key: bool },
    /// Opens the help and closes it.
    Help { who: usize },
    /// Copies the invitation.
    Copy { who: usize },
    /// Resizes the window.
    Resize { who: usize, shape: u8 },
    /// Reloads one page, or several at one moment: a bit for each.
    Reload { who: u8 },
    /// Goes to an empty page and back by the browser's button.
    BackAndForth { who: usize },
    /// Puts another tab in front, and puts this one back after `tenths` tenths of a second.
    Hide { who: usize, tenths: u64 },
    /// The browser freezes the tab, and wakes it after `tenths` tenths of a second.
    Freeze { who: usize, tenths: u64 },
    /// The computer sleeps for `tenths` tenths of a second.
    Sleep { who: usize, tenths: u64 },
    /// The browser reports another network.
    Online { who: usize },
    /// Leaves by the button and joins again by the list.
    LeaveAndJoin { who: usize },
    /// Closes the window, and opens the invitation in a new one.
    CloseAndCome { who: usize },
    /// The browser crashes, and its owner opens the invitation in a new one.
    CrashAndCome { who: usize },
    /// The relay crashes and is started again after `tenths` tenths of a second.
    RelayCrash { tenths: u64 },
}

/// The frequency of each kind of deed, in percent, in the order of [`Deed`].
const WEIGHTS: [u64; 17] = [14, 8, 5, 5, 5, 3, 5, 14, 6, 7, 4, 3, 5, 4, 4, 4, 4];

impl Deed {
    /// Chooses the next deed for `people` people. Each choice draws the same number of values from the entropy.
    pub(crate) fn choose(entropy: &mut Entropy, people: usize) -> Self {
        let [kind, who, more] = [(); 3].map(|()| entropy.number());
        let who = who as usize % people;
        let tenths = 5 + more % 60;
        let mut left = kind % WEIGHTS.iter().sum::<u64>();
        let chosen = WEIGHTS.iter().position(|&weight| {
            let is_it = left < weight;
            left = left.saturating_sub(weight);
            is_it
        });
        match chosen {
            Some(0) => Self::Chase { who },
            Some(1) => Self::Fumble { who, keys: (more % 32) as u8 },
            Some(2) => Self::Throw { who },
            Some(3) => Self::Mute { who, by_key: more % 2 == 0 },
            Some(4) => Self::Help { who },
            Some(5) => Self::Copy { who },
            Some(6) => Self::Resize { who, shape: (more % 4) as u8 },
            Some(7) => Self::Reload { who: (1 + more % ((1 << people) - 1)) as u8 },
            Some(8) => Self::BackAndForth { who },
            Some(9) => Self::Hide { who, tenths },
            Some(10) => Self::Freeze { who, tenths },
            Some(11) => Self::Sleep { who, tenths },
            Some(12) => Self::Online { who },
            Some(13) => Self::LeaveAndJoin { who },
            Some(14) => Self::CloseAndCome { who },
            Some(15) => Self::CrashAndCome { who },
            _ => Self::RelayCrash { tenths: 5 + more % 25 },
        }
    }

    /// The name of the deed's kind, under which its times are summed up.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Chase { .. } => "chase",
            Self::Fumble { .. } => "fumble",
            Self::Throw { .. } => "throw",
            Self::Mute { .. } => "mute",
            Self::Help { .. } => "help",
            Self::Copy { .. } => "copy",
            Self::Resize { .. } => "resize",
            Self::Reload { .. } => "reload",
            Self::BackAndForth { .. } => "back and forth",
            Self::Hide { .. } => "hide",
            Self::Freeze { .. } => "freeze",
            Self::Sleep { .. } => "sleep",
            Self::Online { .. } => "online",
            Self::LeaveAndJoin { .. } => "leave and join",
            Self::CloseAndCome { .. } => "close and come",
            Self::CrashAndCome { .. } => "crash and come",
            Self::RelayCrash { .. } => "relay crash",
        }
    }
}

#[test]
fn same_seed_chooses_the_same_deeds() {
    let deeds = |seed| {
        let mut entropy = Entropy::new([seed; 32]);
        (0..200).map(|_| Deed::choose(&mut entropy, 3)).collect::<Vec<_>>()
    };
    assert_eq!(deeds(1), deeds(1));
    assert_ne!(deeds(1), deeds(2));
    let names: std::collections::BTreeSet<_> = deeds(1).into_iter().map(Deed::name).collect();
    assert_eq!(names.len(), WEIGHTS.len(), "each is done: {names:?}");
}
