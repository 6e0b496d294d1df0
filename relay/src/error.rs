//! The errors that stop a relay, told to the person who started it: the side at fault, and what to do.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why a relay cannot start, or had to stop.
#[derive(Debug)]
#[non_exhaustive]
pub enum RelayError {
    /// The data directory cannot be used.
    DataDirectory {
        /// The directory, or the file in it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another relay uses the data directory.
    DataInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The database of terms cannot be read or written.
    Database {
        /// The database's file.
        path: PathBuf,
        /// The database's error.
        source: Box<redb::Error>,
    },
    /// The file of the relay's key holds no key.
    DamagedKey {
        /// The file.
        path: PathBuf,
    },
    /// All users may read the file of the relay's key.
    OpenKey {
        /// The file.
        path: PathBuf,
    },
    /// The key or the secret of the game's own server cannot be used.
    GateKey {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file of bans cannot be used.
    DamagedBans {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The relay cannot listen at the address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The flag that sets the address.
        flag: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    Certificate {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory of the page cannot be read.
    Page {
        /// The directory, or the file in it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory of the page holds no page.
    NoPage {
        /// The directory.
        path: PathBuf,
    },
    /// The system denies a resource that every program needs.
    System {
        /// The act that failed, as in "the relay could not read its data".
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DataDirectory { path, source } => write!(
                f,
                "{} cannot be used for the relay's data ({source}): choose a directory that this user may write, \
                 with --data",
                path.display()
            ),
            Self::Certificate { path, source } => write!(
                f,
                "{} cannot be used for TLS ({source}): --tls-cert is a certificate with its chain and --tls-key its key, \
                 --acme-ca certificates; all in PEM and readable by this user",
                path.display()
            ),
            Self::DataInUse { path } => write!(
                f,
                "another relay runs on the data in {}: stop it, or choose another directory with --data",
                path.display()
            ),
            Self::Database { path, source } => write!(
                f,
                "the terms in {} cannot be kept ({source}). A relay that forgets terms must not grant any, so it \
                 stops: check the disk, or start with another --data",
                path.display()
            ),
            Self::DamagedKey { path } => write!(
                f,
                "{} does not hold a key: restore it from a backup; or delete it to get a new one, which ends the \
                 reconnection of everybody who is in a game",
                path.display()
            ),
            Self::GateKey { path, source } => write!(
                f,
                "{} cannot be used ({source}): check --token-key, --token-secret and --webhook-secret",
                path.display()
            ),
            Self::DamagedBans { path, source } => write!(
                f,
                "{} cannot be read ({source}): mend it, restore it from a backup, or delete it to ban nobody",
                path.display()
            ),
            Self::OpenKey { path } => write!(
                f,
                "every user of this machine may read {0}, and who has that key can take any game: `chmod 600 {0}`. If \
                 somebody may have read it, delete it: that ends the reconnection of everybody who is in a game",
                path.display()
            ),
            Self::Listen { address, flag, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "{address} is taken by another program: stop that, or choose another with {flag}")
            }
            Self::Listen { address, source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "this user may not listen at {address} ({source}): a port below 1024 needs root or the right \
                 CAP_NET_BIND_SERVICE"
                )
            }
            Self::Listen { address, flag, source } => {
                write!(f, "cannot listen at {address} ({source}): choose another with {flag}")
            }
            Self::Page { path, source } => {
                write!(f, "the page in {} cannot be read ({source}): check --web", path.display())
            }
            Self::NoPage { path } => write!(
                f,
                "{} is not a built page (it has no index.html, or far too much): build one with `trunk build`, and \
                 give its dist directory with --web",
                path.display()
            ),
            Self::System { what, source } => write!(f, "the relay could not {what} ({source})"),
        }
    }
}

impl std::error::Error for RelayError {}
