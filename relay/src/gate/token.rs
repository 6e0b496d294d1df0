//! Join tokens: JSON Web Tokens (RFC 7519) with `EdDSA` (RFC 8037) or `HS256` (RFC 7518 §3.2).
//!
//! The algorithm chooses the keys, and a key is of one algorithm: no token can make the relay take a public key for a
//! secret.

use std::fs;
use std::io;
use std::path::Path;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use samovar_directory::{Clearance, TokenId};
use samovar_peer_native::fit_name;
use samovar_wire::relay::TokenFault;
use samovar_wire::{Duration, GameCode, Vouched};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::TokenKeys;
use crate::data;
use crate::error::RelayError;

/// How far the clocks of the relay and the game's own server may be apart, in seconds.
const LEEWAY: u64 = 30;
/// The longest time until a token ends, in seconds: the relay remembers used tokens until then.
const LIFETIME_MAX: u64 = 24 * 60 * 60;
/// The fewest bytes of a secret: as many as the hash has (RFC 7518 §3.2).
const SECRET_MIN: usize = 32;

/// The keys that verify tokens.
pub(super) struct Keys {
    public: Vec<DecodingKey>,
    secret: Option<DecodingKey>,
    audience: Option<String>,
}

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    /// When it ends, in seconds of Unix time.
    exp: u64,
    /// When it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<u64>,
    /// The player, in the words of the game's own server.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    /// The code of the one game that it lets into; any game without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    game: Option<String>,
    /// The player's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The player's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
}

/// The role of a peer in its game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Player,
    Spectator,
}

impl Role {
    pub(super) const fn watches(self) -> bool {
        matches!(self, Self::Spectator)
    }
}

impl Keys {
    /// Reads the keys.
    ///
    /// # Errors
    /// A file cannot be read, or holds no such key.
    pub(super) fn read(files: &TokenKeys) -> Result<Self, RelayError> {
        let of_public = |path: &std::path::PathBuf| {
            let key = read(path)?;
            DecodingKey::from_ed_pem(&key)
                .map_err(|_| failed(path, "it holds no public key of Ed25519 in PEM"))
        };
        let of_secret = |path: &std::path::PathBuf| {
            let secret = read_secret(path)?;
            if secret.len() < SECRET_MIN {
                return Err(failed(path, "a secret has 32 bytes or more; `openssl rand -hex 32` makes one"));
            }
            if secret.starts_with(b"-----BEGIN") {
                return Err(failed(path, "a key in PEM is no secret: --token-key takes public keys"));
            }
            DecodingKey::from_secret(&secret).map_err(|error| failed(path, error.to_string()))
        };
        Ok(Self {
            public: files.public.iter().map(of_public).collect::<Result<_, _>>()?,
            secret: files.secret.as_ref().map(of_secret).transpose()?,
            audience: files.audience.clone(),
        })
    }

    /// The claims of a token, and what they say about its bearer.
    ///
    /// # Errors
    /// The token does not serve.
    pub(super) fn verify(&self, token: &str, now: u64) -> Result<(Claims, Clearance), TokenFault> {
        let header = decode_header(token).map_err(|_| TokenFault::Malformed)?;
        let keys = match header.alg {
            Algorithm::EdDSA => &self.public[..],
            Algorithm::HS256 => self.secret.as_slice(),
            _ => return Err(TokenFault::Forged),
        };
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        match &self.audience {
            Some(audience) => validation.set_audience(&[audience]),
            None => validation.validate_aud = false,
        }
        let required: &[&str] = if self.audience.is_some() { &["exp", "aud"] } else { &["exp"] };
        validation.set_required_spec_claims(required);
        let mut fault = TokenFault::Forged;
        for key in keys {
            match decode::<Claims>(token, key, &validation) {
                Ok(data) => return clearance(token, data.claims, now),
                // Another key may verify it.
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
                Err(error) => fault = of_error(error.kind()),
            }
        }
        Err(fault)
    }
}

impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Keys(secret)")
    }
}

const fn of_error(kind: &ErrorKind) -> TokenFault {
    match kind {
        ErrorKind::ExpiredSignature => TokenFault::Expired,
        ErrorKind::ImmatureSignature => TokenFault::NotYet,
        ErrorKind::InvalidAudience => TokenFault::OtherGame,
        ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => TokenFault::Forged,
        _ => TokenFault::Malformed,
    }
}

fn clearance(token: &str, claims: Claims, now: u64) -> Result<(Claims, Clearance), TokenFault> {
    if claims.exp > now + LIFETIME_MAX + LEEWAY {
        tracing::warn!("a token ends more than a day ahead, and is refused; give tokens a few minutes");
        return Err(TokenFault::Malformed);
    }
    let game = match claims.game.as_deref() {
        Some(code) => Some(GameCode::parse(code).ok_or(TokenFault::Malformed)?),
        None => None,
    };
    let name = claims.name.as_deref().map(fit_name).filter(|name| !name.is_empty());
    let watches = claims.role.map(Role::watches);
    // The signed part names the token: the signature itself could be written in other ways.
    let signed = token.rsplit_once('.').map_or(token, |(signed, _)| signed);
    let digest = Sha256::digest(signed);
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    let left = (claims.exp + LEEWAY).saturating_sub(now);
    let token = Some((TokenId(id), Duration::from_millis(left * 1_000)));
    Ok((claims, Clearance { game, vouched: Vouched { name, watches }, token }))
}

/// A secret in a file, without the line's end behind it.
pub(super) fn read_secret(path: &Path) -> Result<Vec<u8>, RelayError> {
    let mut secret = read(path)?;
    if data::is_open(path) {
        return Err(failed(path, "every user of this machine may read it: `chmod 600` it"));
    }
    while secret.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        secret.pop();
    }
    Ok(secret)
}

fn read(path: &Path) -> Result<Vec<u8>, RelayError> {
    fs::read(path).map_err(|source| RelayError::GateKey { path: path.to_owned(), source })
}

pub(super) fn failed(path: &Path, why: impl Into<String>) -> RelayError {
    RelayError::GateKey { path: path.to_owned(), source: io::Error::other(why.into()) }
}
