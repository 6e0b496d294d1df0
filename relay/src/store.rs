//! The terms that the relay has granted, on disk before any peer hears of them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvError};

use redb::{
    Database, DatabaseError, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    Table, TableDefinition, TableError, Value,
};
use samovar_directory::{Barred, Origin, Request, TermRecord};
use samovar_wire::{GameCode, PeerId, SessionId, Term, Vouched};

use crate::error::RelayError;

/// Maps a session to its code, parameters, term, host and serial.
const TERMS: TableDefinition<'static, u64, (&str, u64, u64, u32, u64)> = TableDefinition::new("terms");

/// Maps a session to the term that has begun and to its host, while the term in [`TERMS`] is a reserve that has not
/// begun.
const BEGUN: TableDefinition<'static, u64, (u64, u32)> = TableDefinition::new("begun");

/// Maps a session to its members, four bytes each, little-endian. A store from before this table has none.
const MEMBERS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("members");

/// Maps a session to its former members, in the same form. A store from before this table has none.
const FORMER: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("former");

/// Maps a session to its barred peers, in the same form. The next table maps it to its barred addresses: eight bytes
/// each, a digest keyed by the relay. A store from before these tables has none.
const BARRED: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("barred");
const BARRED_ORIGINS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("barred_origins");

/// The sessions that the operator has ended. A store from before this table has none.
const ENDED: TableDefinition<'static, u64, ()> = TableDefinition::new("ended");

/// Maps a session to what the game's own server says about its members, in JSON. A store from before this table has none.
const VOUCHED: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("vouched");

/// Bytes of the database that are kept in memory. It is read once, and then only written.
const CACHE: usize = 8 * 1_024 * 1_024;

/// The database of one data directory; no other process can have it open.
pub(crate) struct Store {
    database: Database,
    path: PathBuf,
}

/// Terms that are on disk now.
pub(crate) type Persisted = Vec<(SessionId, Term)>;

impl Store {
    /// Opens the database in `directory`, or creates it.
    ///
    /// # Errors
    /// Another process has it open, or the disk fails.
    pub(crate) fn open(directory: &Path) -> Result<Self, RelayError> {
        let path = directory.join("terms.redb");
        match Database::builder().set_cache_size(CACHE).create(&path) {
            Ok(database) => Ok(Self { database, path }),
            Err(DatabaseError::DatabaseAlreadyOpen) => {
                Err(RelayError::DataInUse { path: directory.to_owned() })
            }
            Err(error) => Err(RelayError::Database { path, source: Box::new(error.into()) }),
        }
    }

    /// Every record, by session.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) fn records(&self) -> Result<Vec<TermRecord>, RelayError> {
        self.read().map_err(|error| self.failed(error))
    }

    fn read(&self) -> Result<Vec<TermRecord>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let Some(table) = open(&transaction, TERMS)? else { return Ok(Vec::new()) };
        let begun = open(&transaction, BEGUN)?;
        let (members, former) = (open(&transaction, MEMBERS)?, open(&transaction, FORMER)?);
        let (barred, origins) = (open(&transaction, BARRED)?, open(&transaction, BARRED_ORIGINS)?);
        let (ended, vouched) = (open(&transaction, ENDED)?, open(&transaction, VOUCHED)?);
        let mut records = Vec::new();
        for entry in table.iter()? {
            let (session, value) = entry?;
            let (code, params, term, host, serial) = value.value();
            // Only this program writes codes, so an invalid one is skipped rather than reported.
            if let Some(code) = GameCode::parse(code) {
                let (session, term, host) = (SessionId(session.value()), Term(term), PeerId(host));
                let begun = begun.as_ref().map(|begun| begun.get(session.0)).transpose()?.flatten();
                let begun = begun.map(|begun| begun.value());
                let begun = begun.map_or((term, host), |(term, host)| (Term(term), PeerId(host)));
                let (members, former) =
                    (peers_of(members.as_ref(), session)?, peers_of(former.as_ref(), session)?);
                let origins = read_all(origins.as_ref(), session, |id| Origin(u64::from_le_bytes(id)))?;
                let is_ended =
                    ended.as_ref().map(|ended| ended.get(session.0)).transpose()?.flatten().is_some();
                let peers = peers_of(barred.as_ref(), session)?;
                let barred = Barred { peers, origins, is_ended };
                let known = vouched.as_ref().map(|table| table.get(session.0)).transpose()?.flatten();
                let vouched = known.map(|bytes| vouched_of(bytes.value())).unwrap_or_default();
                records.push(TermRecord {
                    session,
                    code,
                    params,
                    term,
                    host,
                    begun,
                    members,
                    former,
                    barred,
                    vouched,
                    serial,
                });
            }
        }
        Ok(records)
    }

    /// Fulfils a directory's requests in one transaction, and returns the terms that it has put on disk.
    ///
    /// # Errors
    /// The disk fails. Then none of the requests is fulfilled.
    pub(crate) fn apply(&self, requests: &[Request]) -> Result<Persisted, RelayError> {
        self.write(requests).map_err(|error| self.failed(error))
    }

    fn write(&self, requests: &[Request]) -> Result<Persisted, redb::Error> {
        let mut persisted = Vec::new();
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(TERMS)?;
            let mut reigns = transaction.open_table(BEGUN)?;
            let mut named = transaction.open_table(MEMBERS)?;
            let mut removed = transaction.open_table(FORMER)?;
            let mut barred_peers = transaction.open_table(BARRED)?;
            let mut barred_origins = transaction.open_table(BARRED_ORIGINS)?;
            let mut ended = transaction.open_table(ENDED)?;
            let mut vouched = transaction.open_table(VOUCHED)?;
            for request in requests {
                match request {
                    Request::Persist(record) => {
                        let TermRecord { session, code, params, term, host, begun, serial, .. } = record;
                        if begun.0 < *term {
                            reigns.insert(session.0, (begun.0.0, begun.1.0))?;
                        } else {
                            reigns.remove(session.0)?;
                        }
                        keep_peers(&mut named, *session, &record.members)?;
                        keep_peers(&mut removed, *session, &record.former)?;
                        keep_peers(&mut barred_peers, *session, &record.barred.peers)?;
                        let origins = record.barred.origins.iter().map(|origin| origin.0.to_le_bytes());
                        keep(&mut barred_origins, *session, origins)?;
                        if record.vouched.is_empty() {
                            vouched.remove(session.0)?;
                        } else {
                            vouched.insert(session.0, &*bytes_of(&record.vouched))?;
                        }
                        if record.barred.is_ended {
                            ended.insert(session.0, ())?;
                        } else {
                            ended.remove(session.0)?;
                        }
                        table.insert(session.0, (code.as_str(), *params, term.0, host.0, *serial))?;
                        persisted.push((*session, *term));
                    }
                    Request::Forget(session) => {
                        table.remove(session.0)?;
                        reigns.remove(session.0)?;
                        named.remove(session.0)?;
                        removed.remove(session.0)?;
                        barred_peers.remove(session.0)?;
                        barred_origins.remove(session.0)?;
                        ended.remove(session.0)?;
                        vouched.remove(session.0)?;
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(persisted)
    }

    /// Serves requests until their sender is dropped. Requests that wait together are committed together. Calls
    /// `begun` before each commit, and `persisted` after it.
    ///
    /// # Errors
    /// The disk refuses a write. The first such write ends the service.
    pub(crate) fn serve(
        &self,
        requests: &Receiver<Request>,
        begun: impl Fn(),
        persisted: impl Fn(Persisted),
    ) -> Result<(), RelayError> {
        loop {
            let mut batch = match requests.recv() {
                Ok(request) => vec![request],
                Err(RecvError) => return Ok(()),
            };
            batch.extend(requests.try_iter());
            begun();
            persisted(self.apply(&batch)?);
        }
    }

    fn failed(&self, error: redb::Error) -> RelayError {
        RelayError::Database { path: self.path.clone(), source: Box::new(error) }
    }
}

/// A table; `None` if the store is older than the table.
fn open<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    definition: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, redb::Error> {
    match transaction.open_table(definition) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The word about a member, as the store has it.
#[derive(serde::Serialize, serde::Deserialize)]
struct Known {
    peer: u32,
    name: Option<String>,
    watches: Option<bool>,
}

fn bytes_of(vouched: &[(PeerId, Vouched)]) -> Vec<u8> {
    let known = vouched.iter().map(|(peer, Vouched { name, watches })| Known {
        peer: peer.0,
        name: name.clone(),
        watches: *watches,
    });
    serde_json::to_vec(&known.collect::<Vec<_>>()).unwrap_or_default()
}

/// Only this program writes these, so invalid ones are skipped rather than reported.
fn vouched_of(bytes: &[u8]) -> Vec<(PeerId, Vouched)> {
    let known: Vec<Known> = serde_json::from_slice(bytes).unwrap_or_default();
    let all = known.into_iter().map(|Known { peer, name, watches }| {
        let name = name.filter(|name| samovar_wire::name::is_valid(name));
        (PeerId(peer), Vouched { name, watches })
    });
    all.collect()
}

fn peers_of(
    table: Option<&ReadOnlyTable<u64, &'static [u8]>>,
    session: SessionId,
) -> Result<Vec<PeerId>, redb::Error> {
    read_all(table, session, |id| PeerId(u32::from_le_bytes(id)))
}

fn read_all<T, const N: usize>(
    table: Option<&ReadOnlyTable<u64, &'static [u8]>>,
    session: SessionId,
    read: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, redb::Error> {
    let bytes = table.map(|table| table.get(session.0)).transpose()?.flatten();
    let all = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|&id| read(id)).collect();
    Ok(bytes.map(|bytes| all(bytes.value())).unwrap_or_default())
}

fn keep_peers(
    table: &mut Table<'_, u64, &[u8]>,
    session: SessionId,
    peers: &[PeerId],
) -> Result<(), redb::Error> {
    keep(table, session, peers.iter().map(|peer| peer.0.to_le_bytes()))
}

fn keep<const N: usize>(
    table: &mut Table<'_, u64, &[u8]>,
    session: SessionId,
    all: impl Iterator<Item = [u8; N]>,
) -> Result<(), redb::Error> {
    let bytes: Vec<u8> = all.flatten().collect();
    if bytes.is_empty() {
        table.remove(session.0)?;
    } else {
        table.insert(session.0, &*bytes)?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]
mod tests {
    use super::*;

    fn record(term: u64, host: u32, begun: (u64, u32), members: &[u32], former: &[u32]) -> TermRecord {
        let peers = |ids: &[u32]| ids.iter().copied().map(PeerId).collect();
        TermRecord {
            session: SessionId(9),
            code: GameCode::parse("TEA").unwrap(),
            params: 3,
            term: Term(term),
            host: PeerId(host),
            begun: (Term(begun.0), PeerId(begun.1)),
            members: peers(members),
            former: peers(former),
            barred: Barred {
                peers: peers(former),
                origins: vec![Origin(1 << 40), Origin(7)],
                is_ended: term == 512,
            },
            vouched: former.iter().map(|id| (PeerId(*id), named("Ann"))).collect(),
            serial: 1,
        }
    }

    fn named(name: &str) -> Vouched {
        Vouched { name: Some(name.to_owned()), watches: Some(true) }
    }

    fn with_store(name: &str, check: impl FnOnce(&Store)) {
        let directory = std::env::temp_dir().join(format!("samovar-{name}-{}", std::process::id()));
        crate::data::prepare_directory(&directory).unwrap();
        let store = Store::open(&directory).unwrap();
        check(&store);
        drop(store);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        with_store("record", |store| {
            for written in [
                record(256, 1, (256, 1), &[1, u32::MAX], &[]),
                record(512, 2, (256, 1), &[2], &[1, u32::MAX]),
                record(768, 1, (768, 1), &[], &[7]),
            ] {
                store.apply(&[Request::Persist(written.clone())]).unwrap();
                assert_eq!(store.records().unwrap(), [written]);
            }
        });
    }

    #[test]
    fn a_forgotten_record_leaves_nothing() {
        with_store("forgotten", |store| {
            store.apply(&[Request::Persist(record(1_024, 2, (768, 1), &[1, 2], &[3]))]).unwrap();
            store.apply(&[Request::Forget(SessionId(9))]).unwrap();
            assert_eq!(store.records().unwrap(), []);
            let written = record(256, 1, (256, 1), &[], &[]);
            store.apply(&[Request::Persist(written.clone())]).unwrap();
            assert_eq!(store.records().unwrap(), [written]);
        });
    }

    #[test]
    fn a_store_of_an_older_release_opens() {
        let written = record(256, 1, (256, 1), &[1], &[2]);
        let mut without_peers = written.clone();
        without_peers.barred.peers.clear();
        let mut without_origins = written.clone();
        without_origins.barred.origins.clear();
        for (table, left) in [
            (FORMER, TermRecord { former: Vec::new(), ..written.clone() }),
            (MEMBERS, TermRecord { members: Vec::new(), ..written.clone() }),
            (BARRED, without_peers),
            (BARRED_ORIGINS, without_origins),
        ] {
            with_store("older", |store| {
                store.apply(&[Request::Persist(written.clone())]).unwrap();
                let transaction = store.database.begin_write().unwrap();
                assert!(transaction.delete_table(table).unwrap());
                transaction.commit().unwrap();
                assert_eq!(store.records().unwrap(), [left]);
                store.apply(&[Request::Persist(written.clone())]).unwrap();
                assert_eq!(store.records().unwrap(), std::slice::from_ref(&written));
            });
        }
    }
}
