//! The terms that the relay has granted, on disk before anybody hears of them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvError};

use redb::{Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use samovar_directory::{Request, TermRecord};
use samovar_wire::{GameCode, PeerId, SessionId, Term};

use crate::error::RelayError;

/// Session to code, parameters, term, host, serial.
const TERMS: TableDefinition<'static, u64, (&str, u64, u64, u32, u64)> = TableDefinition::new("terms");

/// Session to the term that goes on, and its host, while the one in [`TERMS`] is held in reserve.
const BEGUN: TableDefinition<'static, u64, (u64, u32)> = TableDefinition::new("begun");

/// Session to its members, four bytes each, little-endian. A store of before there was this table has none of them.
const MEMBERS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("members");

/// Bytes of the database that are kept in memory. It is read once, and then written.
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
    /// When another process has it, or the disk refuses.
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
    /// When the database cannot be read.
    pub(crate) fn records(&self) -> Result<Vec<TermRecord>, RelayError> {
        self.read().map_err(|error| self.failed(error))
    }

    fn read(&self) -> Result<Vec<TermRecord>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let table = match transaction.open_table(TERMS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let begun = match transaction.open_table(BEGUN) {
            Ok(table) => Some(table),
            Err(redb::TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let members = match transaction.open_table(MEMBERS) {
            Ok(table) => Some(table),
            Err(redb::TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut records = Vec::new();
        for entry in table.iter()? {
            let (session, value) = entry?;
            let (code, params, term, host, serial) = value.value();
            // Only this program writes codes, so one that is none is skipped rather than reported.
            if let Some(code) = GameCode::parse(code) {
                let (session, term, host) = (SessionId(session.value()), Term(term), PeerId(host));
                let begun = begun.as_ref().map(|begun| begun.get(session.0)).transpose()?.flatten();
                let begun = begun.map(|begun| begun.value());
                let begun = begun.map_or((term, host), |(term, host)| (Term(term), PeerId(host)));
                let members = members.as_ref().map(|members| members.get(session.0)).transpose()?.flatten();
                let members = members.map(|members| peers(members.value())).unwrap_or_default();
                records.push(TermRecord { session, code, params, term, host, begun, members, serial });
            }
        }
        Ok(records)
    }

    /// Does what a directory asks for in one transaction, and says which terms are on disk by it.
    ///
    /// # Errors
    /// When the disk refuses; nothing of it is on disk then.
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
            for request in requests {
                match request {
                    Request::Persist(record) => {
                        let TermRecord { session, code, params, term, host, begun, members, serial } = record;
                        if begun.0 < *term {
                            reigns.insert(session.0, (begun.0.0, begun.1.0))?;
                        } else {
                            reigns.remove(session.0)?;
                        }
                        if members.is_empty() {
                            named.remove(session.0)?;
                        } else {
                            named.insert(session.0, &*bytes(members))?;
                        }
                        table.insert(session.0, (code.as_str(), *params, term.0, host.0, *serial))?;
                        persisted.push((*session, *term));
                    }
                    Request::Forget(session) => {
                        table.remove(session.0)?;
                        reigns.remove(session.0)?;
                        named.remove(session.0)?;
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(persisted)
    }

    /// Serves requests until their sender is gone. Those that wait together are committed together; `begun` is told before.
    ///
    /// # Errors
    /// At the first write that the disk refuses.
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

fn bytes(members: &[PeerId]) -> Vec<u8> {
    members.iter().flat_map(|member| member.0.to_le_bytes()).collect()
}

fn peers(bytes: &[u8]) -> Vec<PeerId> {
    bytes.as_chunks().0.iter().map(|&id| PeerId(u32::from_le_bytes(id))).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]
mod tests {
    use super::*;

    #[test]
    fn a_term_in_reserve_is_read_again_with_the_one_that_goes_on() {
        let directory = std::env::temp_dir().join(format!("samovar-store-{}", std::process::id()));
        crate::data::prepare_directory(&directory).unwrap();
        let store = Store::open(&directory).unwrap();
        let record = |term, host, begun: (u64, u32), members: &[u32]| TermRecord {
            session: SessionId(9),
            code: GameCode::parse("TEA").unwrap(),
            params: 3,
            term: Term(term),
            host: PeerId(host),
            begun: (Term(begun.0), PeerId(begun.1)),
            members: members.iter().copied().map(PeerId).collect(),
            serial: 1,
        };
        for written in [
            record(256, 1, (256, 1), &[1, u32::MAX]),
            record(512, 2, (256, 1), &[2]),
            record(768, 1, (768, 1), &[]),
        ] {
            store.apply(&[Request::Persist(written.clone())]).unwrap();
            assert_eq!(store.records().unwrap(), [written]);
        }
        store.apply(&[Request::Persist(record(1_024, 2, (768, 1), &[1, 2]))]).unwrap();
        store.apply(&[Request::Forget(SessionId(9))]).unwrap();
        assert_eq!(store.records().unwrap(), []);
        store.apply(&[Request::Persist(record(256, 1, (256, 1), &[]))]).unwrap();
        assert_eq!(
            store.records().unwrap(),
            [record(256, 1, (256, 1), &[])],
            "nothing is left of what was forgotten"
        );
        drop(store);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
