//! The pages that may show the relay's page in a frame.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::value::Origin;

/// One entry of the setting: pages that may show the relay's page in a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Frame {
    /// Pages of the relay's own origin.
    Own,
    /// No page at all.
    Nobody,
    /// Every page.
    Anybody,
    /// Pages of this origin.
    Page(Origin),
}

/// The whole setting; by default pages of the relay's own origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameAncestors(Vec<Frame>);

impl Default for FrameAncestors {
    fn default() -> Self {
        Self(vec![Frame::Own])
    }
}

impl FrameAncestors {
    /// The setting; `None` if the list is empty or contradicts itself.
    pub(crate) fn new(frames: Vec<Frame>) -> Option<Self> {
        let is_alone = |frame: &Frame| matches!(frame, Frame::Nobody | Frame::Anybody);
        (frames.len() == 1 || !frames.is_empty() && !frames.iter().any(is_alone)).then_some(Self(frames))
    }

    /// The value of the directive `frame-ancestors`.
    pub(crate) fn to_csp(&self) -> String {
        let word = |frame: &Frame| match frame {
            Frame::Own => "'self'".to_owned(),
            Frame::Nobody => "'none'".to_owned(),
            Frame::Anybody => "*".to_owned(),
            Frame::Page(origin) => origin.as_str().to_owned(),
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for Frame {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "self" => Ok(Self::Own),
            "none" => Ok(Self::Nobody),
            "any" => Ok(Self::Anybody),
            text => text.parse().map(Self::Page).map_err(|error| format!("{error}, or self, none or any")),
        }
    }
}

impl TryFrom<String> for Frame {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Frame> for String {
    fn from(frame: Frame) -> Self {
        match frame {
            Frame::Own => "self".to_owned(),
            Frame::Nobody => "none".to_owned(),
            Frame::Anybody => "any".to_owned(),
            Frame::Page(origin) => origin.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csp(words: &[&str]) -> Option<String> {
        let frames = words.iter().map(|word| word.parse().expect("a frame")).collect();
        FrameAncestors::new(frames).map(|frames| frames.to_csp())
    }

    #[test]
    fn frame_settings_become_a_csp_directive() {
        assert_eq!(csp(&["self", "https://Tea.example"]).as_deref(), Some("'self' https://tea.example"));
        assert_eq!(csp(&["none"]).as_deref(), Some("'none'"));
        assert_eq!(csp(&["any"]).as_deref(), Some("*"));
        for contradiction in [&["none", "self"][..], &["https://tea.example", "any"], &[]] {
            assert_eq!(csp(contradiction), None, "{contradiction:?}");
        }
        for bad in ["", "'self'", "tea.example", "https://tea.example; script-src *"] {
            assert!(bad.parse::<Frame>().is_err(), "{bad}");
        }
    }
}
