//! The scenes: who says what when, which path is slow, and what may go wrong.

/// Something that is said in a scene.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The role that says it.
    pub by: usize,
    /// When.
    pub after: After,
    /// The text.
    pub text: &'static str,
}

/// When a line is said.
#[derive(Clone, Copy, Debug)]
pub enum After {
    /// This many milliseconds after the scene begins.
    Millis(u32),
    /// When its speaker has heard the line of this number.
    Hearing(usize),
}

/// Whether all was as it should be, and what the members saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the members saw what happened.
    pub is_right: bool,
    /// A sentence about what they saw.
    pub text: String,
}

impl core::fmt::Display for Verdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mark = if self.is_right { '✓' } else { '✗' };
        write!(f, "{mark} {}", self.text)
    }
}

/// The lines in the order in which each role heard them.
pub type Heard = Vec<Vec<usize>>;

/// A scene. The host has no role: it is another member.
#[derive(Debug)]
pub struct Scene {
    /// Its name in the page's address.
    pub name: &'static str,
    /// A headline.
    pub title: &'static str,
    /// A description.
    pub story: &'static str,
    /// The members beside the host.
    pub roles: &'static [&'static str],
    /// The lines that they say.
    pub lines: &'static [Line],
    /// The slow paths: between a role and another; `None` is the host.
    pub slow: &'static [(usize, Option<usize>)],
    judge: fn(&Heard) -> Option<Verdict>,
}

impl Scene {
    /// Says what the members saw; `None` while a line is not heard yet by
    /// those who must hear it.
    #[must_use]
    pub fn judge(&self, heard: &Heard) -> Option<Verdict> {
        (self.judge)(heard)
    }
}

const fn line(by: usize, after: After, text: &'static str) -> Line {
    Line { by, after, text }
}

fn verdict(is_right: bool, text: impl Into<String>) -> Option<Verdict> {
    Some(Verdict { is_right, text: text.into() })
}

/// All scenes.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "tank",
        title: "The shot and the hit",
        story: "A tank fires. Its target hears of the shot, is destroyed, and \
                says so. The path between the tank and the observer is slow. What \
                does the observer see first?",
        roles: &["tank", "target", "observer"],
        lines: &[
            line(0, After::Millis(0), "fires"),
            line(1, After::Hearing(0), "destroyed"),
        ],
        slow: &[(0, Some(2))],
        judge: |heard| match heard[2][..] {
            [0, 1] => {
                verdict(true, "The observer sees the shot, then the hit.")
            }
            [1, 0] => {
                verdict(false, "The observer sees the hit before the shot.")
            }
            _ => None,
        },
    },
    Scene {
        name: "pilots",
        title: "The first and the second enemy",
        story: "Pilot 1 has orders to attack the first enemy that takes off, \
                pilot 2 to attack the second. Two enemies take off at nearly \
                the same time. The paths from enemy 1 to pilot 1 and to enemy 2 are \
                slow. Do the pilots attack different enemies?",
        roles: &["enemy 1", "enemy 2", "pilot 1", "pilot 2"],
        lines: &[
            line(0, After::Millis(0), "takes off"),
            line(1, After::Millis(40), "takes off"),
        ],
        slow: &[(0, Some(1)), (0, Some(2))],
        judge: |heard| {
            let (first, second) = (heard[2].first()?, heard[3].get(1)?);
            if first == second {
                let number = first + 1;
                verdict(false, format!("Both pilots attack enemy {number}."))
            } else {
                verdict(true, "The pilots attack different enemies.")
            }
        },
    },
    Scene {
        name: "target",
        title: "The first in range",
        story: "The gunner has orders to fire at the first that comes into \
                range. B comes first, then C. B's paths are slow. At whom does the gunner fire?",
        roles: &["gunner", "B", "C"],
        lines: &[
            line(1, After::Millis(0), "in range"),
            line(2, After::Millis(70), "in range"),
        ],
        slow: &[(1, Some(0)), (1, Some(2)), (1, None)],
        judge: |heard| match heard[0][..] {
            [0, 1] => verdict(true, "The gunner fires at B, who came first."),
            [1, 0] => verdict(false, "The gunner fires at C, who came second."),
            _ => None,
        },
    },
    Scene {
        name: "diversion",
        title: "The diversion and the attack",
        story: "B begins a diversion, and C the main attack after it, as both \
                were told by telephone: no message says that one depends on \
                the other. B's paths are slow. What does the enemy see first?",
        roles: &["B", "C", "enemy"],
        lines: &[
            line(0, After::Millis(0), "diversion"),
            line(1, After::Millis(60), "main attack"),
        ],
        slow: &[(0, Some(1)), (0, Some(2)), (0, None)],
        judge: |heard| match heard[2][..] {
            [0, 1] => {
                verdict(true, "The enemy sees the diversion, then the attack.")
            }
            [1, 0] => verdict(
                false,
                "The enemy sees the attack before the diversion.",
            ),
            _ => None,
        },
    },
];

/// The scene of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Scene> {
    SCENES.iter().find(|scene| scene.name == name)
}
