//! The gate: which peers may enter, by the word of the game's own server: join tokens, and a question to that server (PROTOCOL §5.8;
//! docs/relay.md, "Who may enter").

mod token;
mod webhook;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use samovar_directory::{Clearance, Intent, Preview};
use samovar_wire::relay::{Enter, Purpose, TokenFault};
use samovar_wire::{GameCode, Vouched};
use serde::Serialize;

use crate::bans::unix_time;
use crate::error::RelayError;
use crate::value::HttpUrl;
use token::{Claims, Keys};
use webhook::Webhook;

/// The settings of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateConfig {
    /// The files of the keys of tokens.
    pub keys: TokenKeys,
    /// The server that is asked, if any.
    pub webhook: Option<WebhookConfig>,
}

/// The files of the keys of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenKeys {
    /// Public keys of Ed25519, in PEM: for tokens with `EdDSA`.
    pub public: Vec<PathBuf>,
    /// A secret that the relay shares with the game's own server: for tokens with `HS256`.
    pub secret: Option<PathBuf>,
    /// The audience that tokens must name, if any.
    pub audience: Option<String>,
}

/// The server that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfig {
    /// Its address.
    pub url: HttpUrl,
    /// The file of the secret that the relay shows to it.
    pub secret: Option<PathBuf>,
    /// Certificates of authorities that the server's own may be of, beside those that this machine trusts.
    pub authority: Option<PathBuf>,
    /// The longest time for its answer.
    pub within: std::time::Duration,
}

impl GateConfig {
    /// Whether the relay asks nobody.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.webhook.is_none() && !self.keys.is_set()
    }
}

impl TokenKeys {
    /// Whether the relay lets in peers by tokens.
    const fn is_set(&self) -> bool {
        !self.public.is_empty() || self.secret.is_some()
    }
}

/// Judges peers before they enter.
#[derive(Debug)]
pub(crate) struct Gate {
    files: TokenKeys,
    /// `None` if the relay lets peers in without tokens.
    keys: Option<RwLock<Arc<Keys>>>,
    webhook: Option<Webhook>,
}

/// The word of the game's own server about a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The peer may enter, and this is known about it.
    Vouched(Clearance),
    /// The relay knows the peer, and has asked no server.
    Known,
    /// Its token does not serve.
    Fault(TokenFault),
    /// It may not enter; the text is for the player.
    Refused(Option<String>),
}

/// The question to the game's own server.
#[derive(Debug, Serialize)]
struct Question<'a> {
    /// The peer's intent: `create`, `join`, `match`, or `rejoin` for a member that comes back.
    action: &'static str,
    /// The game's code; `null` if the relay chooses it.
    game: Option<&'a str>,
    /// The hash of the agreed parameters, in 16 hexadecimal digits: it identifies the game program.
    params: String,
    /// The peer's address; `null` if a proxy names none.
    address: Option<IpAddr>,
    /// The claims of the token of a newcomer; `null` without one.
    token: Option<&'a Claims>,
    /// The name of a member that comes back, as it was vouched for.
    name: Option<&'a str>,
}

impl Gate {
    /// Reads the keys.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn new(config: GateConfig) -> Result<Self, RelayError> {
        let GateConfig { keys: files, webhook } = config;
        let keys = if files.is_set() { Some(RwLock::new(Arc::new(Keys::read(&files)?))) } else { None };
        let webhook = webhook.map(Webhook::new).transpose()?;
        Ok(Self { files, keys, webhook })
    }

    /// Reads the keys of tokens again. If that fails, those before stay. Blocks.
    pub(crate) fn read_again(&self) {
        let Some(keys) = &self.keys else { return };
        match Keys::read(&self.files) {
            Ok(read) => {
                *keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
                tracing::info!("the keys of tokens were read again");
            }
            Err(error) => {
                tracing::error!(%error, "the keys of tokens were not read again; those before stay")
            }
        }
    }

    /// Judges a peer that wants to enter as in `preview`, by the token that it has shown.
    pub(crate) async fn judge(
        &self,
        token: Option<&str>,
        (enter, preview): (&Enter, Preview),
        address: Option<IpAddr>,
    ) -> Verdict {
        let Preview { act, known } = preview;
        let action = match act {
            // A peer that goes on where it was needs no leave.
            Intent::Resumes => return Verdict::Known,
            Intent::Creates => "create",
            Intent::Joins => "join",
            Intent::Matches => "match",
            Intent::Rejoins => "rejoin",
        };
        let claims = match (act, self.verify(token)) {
            (Intent::Rejoins, _) => None,
            (_, Ok(claims)) => claims,
            (_, Err(fault)) => return Verdict::Fault(fault),
        };
        let clearance = claims.as_ref().map(|(_, clearance)| clearance.clone()).unwrap_or_default();
        let Some(webhook) = &self.webhook else {
            return if act == Intent::Rejoins { Verdict::Known } else { Verdict::Vouched(clearance) };
        };
        let question = Question {
            action,
            game: code_of(&enter.purpose).map(GameCode::as_str),
            params: format!("{:016x}", enter.params),
            address,
            token: claims.as_ref().map(|(claims, _)| claims),
            name: known.as_ref().and_then(|known| known.name.as_deref()),
        };
        match webhook.ask(&question, address).await {
            Ok(Vouched { name, watches }) => {
                let vouched = Vouched {
                    name: name.or(clearance.vouched.name),
                    watches: watches.or(clearance.vouched.watches),
                };
                Verdict::Vouched(Clearance { vouched, ..clearance })
            }
            Err(told) => Verdict::Refused(told),
        }
    }

    /// The claims of a token, and what they say; `None` if the relay lets peers in without one.
    fn verify(&self, token: Option<&str>) -> Result<Option<(Claims, Clearance)>, TokenFault> {
        let Some(keys) = &self.keys else { return Ok(None) };
        let keys = Arc::clone(&keys.read().unwrap_or_else(PoisonError::into_inner));
        keys.verify(token.ok_or(TokenFault::Missing)?, unix_time()).map(Some)
    }
}

/// The game that a peer names.
const fn code_of(purpose: &Purpose) -> Option<&GameCode> {
    match purpose {
        Purpose::Create(code) => code.as_ref(),
        Purpose::Join(code) | Purpose::Rejoin(code, _) | Purpose::Resume(code, ..) => Some(code),
        Purpose::Match => None,
    }
}
