//! The addresses from which nobody is let in, in a file of the data directory.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::data;
use crate::error::RelayError;
use crate::network::Network;

/// The file's name in the data directory.
const FILE: &str = "bans.json";
/// The most bans.
const BANS_MAX: usize = 10_000;

/// A ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// The address or the network.
    pub network: Network,
    /// When it ends, in seconds of Unix time; `None` if it does not.
    pub until: Option<u64>,
    /// The operator's reason.
    #[serde(default)]
    pub reason: String,
}

/// The bans in force.
#[derive(Debug)]
pub(crate) struct Bans {
    /// The data directory; `None` keeps nothing.
    directory: Option<PathBuf>,
    table: RwLock<Table>,
    /// Held while a change is written, so that the file has the last one.
    writing: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    all: HashMap<Network, Ban>,
    /// The lengths of the prefixes in use, of IPv4 and of IPv6. An address is looked up once for each.
    prefixes: [BTreeSet<u8>; 2],
}

impl Bans {
    /// No bans, for a door that has none.
    pub(crate) fn none() -> Self {
        Self { directory: None, table: RwLock::default(), writing: Mutex::default() }
    }

    /// Reads the bans in a data directory.
    ///
    /// # Errors
    /// The file is damaged, or cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Self, RelayError> {
        let path = directory.join(FILE);
        let all: Vec<Ban> = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| RelayError::DamagedBans { path, source: io::Error::other(error) })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(RelayError::DamagedBans { path, source }),
        };
        let table = RwLock::new(Table::of(all));
        Ok(Self { directory: Some(directory.to_owned()), table, writing: Mutex::default() })
    }

    /// The ban of an address, if there is one in force.
    pub(crate) fn of(&self, address: IpAddr) -> Option<Ban> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.of_address(address.to_canonical(), unix_time()).cloned()
    }

    /// The bans in force, by network.
    pub(crate) fn all(&self) -> Vec<Ban> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let now = unix_time();
        let mut all: Vec<_> = table.all.values().filter(|ban| is_in_force(ban, now)).cloned().collect();
        all.sort_by_key(|ban| ban.network);
        all
    }

    /// Adds a ban, in place of an earlier one of that network. Blocks until it is on disk.
    ///
    /// # Errors
    /// There are too many, or the disk fails; then nothing has changed.
    pub(crate) fn add(&self, ban: Ban) -> Result<(), String> {
        self.change(|table| {
            if table.all.len() >= BANS_MAX && !table.all.contains_key(&ban.network) {
                return Err(format!("there are {BANS_MAX} bans already: take some back, or ban a network"));
            }
            table.all.insert(ban.network, ban);
            Ok(())
        })
    }

    /// Takes a ban back. Blocks until that is on disk.
    ///
    /// # Errors
    /// There is no such ban, or the disk fails; then nothing has changed.
    pub(crate) fn remove(&self, network: Network) -> Result<(), String> {
        self.change(|table| match table.all.remove(&network) {
            Some(_) => Ok(()),
            None => Err(format!("there is no ban of {network}; `bans` lists them")),
        })
    }

    fn change(&self, act: impl FnOnce(&mut Table) -> Result<(), String>) -> Result<(), String> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        let now = unix_time();
        table.all.retain(|_, ban| is_in_force(ban, now));
        act(&mut table)?;
        let table = Table::of(table.all.into_values().collect());
        if let Some(directory) = &self.directory {
            let mut all: Vec<_> = table.all.values().collect();
            all.sort_by_key(|ban| ban.network);
            let bytes = serde_json::to_vec_pretty(&all).map_err(|error| error.to_string())?;
            data::write_private(directory, &directory.join(FILE), &bytes)
                .map_err(|error| format!("{FILE} in the data directory cannot be written ({error})"))?;
        }
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
        Ok(())
    }
}

impl Table {
    fn of(all: Vec<Ban>) -> Self {
        let mut prefixes = [BTreeSet::new(), BTreeSet::new()];
        for ban in &all {
            prefixes[usize::from(!ban.network.is_v4())].insert(ban.network.prefix());
        }
        Self { all: all.into_iter().map(|ban| (ban.network, ban)).collect(), prefixes }
    }

    fn of_address(&self, address: IpAddr, now: u64) -> Option<&Ban> {
        let prefixes = &self.prefixes[usize::from(address.is_ipv6())];
        let mut bans =
            prefixes.iter().filter_map(|&prefix| self.all.get(&Network::with_prefix(address, prefix)));
        bans.find(|ban| is_in_force(ban, now))
    }
}

/// Unix time in seconds.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn is_in_force(ban: &Ban, now: u64) -> bool {
    ban.until.is_none_or(|until| now < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ban(network: &str, until: Option<u64>) -> Ban {
        Ban { network: network.parse().expect("a network"), until, reason: "rude".to_owned() }
    }

    fn with_directory(name: &str, check: impl FnOnce(&Path)) {
        let directory = std::env::temp_dir().join(format!("samovar-bans-{name}-{}", std::process::id()));
        data::prepare_directory(&directory).expect("a directory");
        check(&directory);
        fs::remove_dir_all(directory).expect("it is there");
    }

    #[test]
    fn a_ban_holds_for_its_network_and_until_its_end() {
        let bans = Bans::none();
        bans.add(ban("203.0.113.0/24", None)).expect("room");
        bans.add(ban("198.51.100.7", Some(unix_time() + 1_000))).expect("room");
        bans.add(ban("2001:db8::/56", None)).expect("room");
        bans.add(ban("192.0.2.1", Some(unix_time() - 1))).expect("room");
        let is_banned = |address: &str| bans.of(address.parse().expect("an address")).is_some();
        for address in ["203.0.113.200", "198.51.100.7", "::ffff:198.51.100.7", "2001:db8:0:ff::1"] {
            assert!(is_banned(address), "{address}");
        }
        for address in ["203.0.114.1", "198.51.100.8", "2001:db8:0:100::1", "192.0.2.1", "::1"] {
            assert!(!is_banned(address), "{address}");
        }
        assert_eq!(bans.all().len(), 3, "one is over");
        bans.remove("203.0.113.0/24".parse().expect("a network")).expect("it is there");
        assert!(!is_banned("203.0.113.200"));
        assert!(bans.remove("203.0.113.0/24".parse().expect("a network")).is_err());
    }

    #[test]
    fn bans_outlast_the_process_in_a_private_file() {
        with_directory("kept", |directory| {
            let bans = Bans::read(directory).expect("none yet");
            bans.add(ban("203.0.113.0/24", None)).expect("room");
            drop(bans);
            let again = Bans::read(directory).expect("readable");
            assert_eq!(again.all(), [ban("203.0.113.0/24", None)]);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = fs::metadata(directory.join(FILE)).expect("a file").permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
        });
    }

    #[test]
    fn a_damaged_file_is_named() {
        with_directory("damaged", |directory| {
            fs::write(directory.join(FILE), "[{\"network\":\"here\"}]").expect("room");
            let error = Bans::read(directory).expect_err("no network").to_string();
            assert!(error.contains(FILE) && error.contains("here"), "{error}");
        });
    }
}
