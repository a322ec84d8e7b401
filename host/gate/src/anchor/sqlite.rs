//! Anchor stores as SQLite databases.

use super::contents::{AnchorCitation, AnchorContents, AnchorEntity, AnchorFact};
use rusqlite::{Connection, OpenFlags, params};
use std::collections::BTreeMap;
use std::path::Path;

/// `application_id` of an anchor store's file, "PTCA".
const APPLICATION: i64 = 0x5054_4341;
const TABLES: &str = "
CREATE TABLE entity (id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL) STRICT;
CREATE TABLE alias (entity TEXT NOT NULL REFERENCES entity (id), alias TEXT NOT NULL, PRIMARY KEY (entity, alias)) STRICT;
CREATE TABLE fact (entity TEXT NOT NULL REFERENCES entity (id), text TEXT NOT NULL, source TEXT NOT NULL,
  PRIMARY KEY (entity, text, source)) STRICT;
CREATE TABLE citation (id TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (id, source)) STRICT;
";

pub(super) fn read(path: &Path) -> rusqlite::Result<AnchorContents> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let application: i64 = database.query_row("PRAGMA application_id", [], |r| r.get(0))?;
    if application != APPLICATION {
        return Err(rusqlite::Error::InvalidParameterName("the file's application_id is not a store's".into()));
    }
    let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut rows = database.prepare("SELECT entity, alias FROM alias")?;
    for row in rows.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get(1)?)))? {
        let (entity, alias) = row?;
        aliases.entry(entity).or_default().push(alias);
    }
    let mut entities = database.prepare("SELECT id, name, kind FROM entity")?;
    let entity = |r: &rusqlite::Row<'_>| {
        let id: String = r.get(0)?;
        Ok(AnchorEntity {
            aliases: aliases.get(&id).cloned().unwrap_or_default(),
            id,
            name: r.get(1)?,
            kind: r.get(2)?,
        })
    };
    let mut facts = database.prepare("SELECT entity, text, source FROM fact")?;
    let fact = |r: &rusqlite::Row<'_>| Ok(AnchorFact { entity: r.get(0)?, text: r.get(1)?, source: r.get(2)? });
    let mut citations = database.prepare("SELECT id, source FROM citation")?;
    let citation = |r: &rusqlite::Row<'_>| Ok(AnchorCitation { id: r.get(0)?, source: r.get(1)? });
    Ok(AnchorContents {
        entities: entities.query_map([], entity)?.collect::<Result<_, _>>()?,
        facts: facts.query_map([], fact)?.collect::<Result<_, _>>()?,
        citations: citations.query_map([], citation)?.collect::<Result<_, _>>()?,
    })
}

/// Writes a store into a new file. Errors: those of SQLite, also if the file is not an empty database.
pub fn write(path: &Path, contents: &AnchorContents) -> rusqlite::Result<()> {
    let mut database = Connection::open(path)?;
    database.execute_batch(TABLES)?;
    database.pragma_update(None, "application_id", APPLICATION)?;
    let work = database.transaction()?;
    for entity in &contents.entities {
        work.execute("INSERT INTO entity VALUES (?, ?, ?)", params![entity.id, entity.name, entity.kind])?;
        for alias in &entity.aliases {
            work.execute("INSERT INTO alias VALUES (?, ?)", params![entity.id, alias])?;
        }
    }
    for fact in &contents.facts {
        work.execute("INSERT INTO fact VALUES (?, ?, ?)", params![fact.entity, fact.text, fact.source])?;
    }
    for citation in &contents.citations {
        work.execute("INSERT INTO citation VALUES (?, ?)", params![citation.id, citation.source])?;
    }
    work.commit()
}
