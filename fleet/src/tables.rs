//! The place of the tables: an object store with Parquet files under fixed names.
//!
//! ```text
//! bundles/BUNDLE.parquet        one row: name, URI and certificates. It is written last.
//! checkpoints/BUNDLE.parquet    the checkpoints of the bundle, and the number of records of each lane under them
//! notes/ID.parquet              notes of witnesses, from a bundle or given by themselves
//! tickets/ID.parquet            tickets, from a bundle or given by themselves
//! records/key=K/seat=S/serial=N/lane=L/bundle=BUNDLE/part-0.parquet
//! ```
//! BUNDLE is the digest of the bundle's whole content, in hexadecimal.

use crate::error::FleetError;
use crate::readable::Readable;
use crate::stores;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use futures::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Longest time for one operation of the store, in seconds. Reading an object counts block by block.
const WAIT: u64 = 120;

/// Where the tables are.
#[derive(Clone, Debug)]
pub struct FleetTableStore {
    /// The place, with a `/` at its end.
    url: Url,
    store: Arc<dyn ObjectStore>,
    root: Path,
}

impl FleetTableStore {
    /// Opens a folder or a URL, and creates the folder. Errors: [`FleetError::Place`].
    pub fn create(place: &str) -> Result<Self, FleetError> {
        if !place.contains("://") {
            fs::create_dir_all(place).map_err(|source| FleetError::Read { path: place.into(), source })?;
        }
        Self::at(place)
    }

    /// Opens tables that exist. Errors: [`FleetError::Place`], [`Error::NoTables`].
    pub async fn open(place: &str) -> Result<Self, FleetError> {
        let none = || FleetError::NoTables(place.to_owned());
        if !place.contains("://") && !std::path::Path::new(place).is_dir() {
            return Err(none());
        }
        let tables = Self::at(place)?;
        if tables.list("bundles").await?.is_empty() { Err(none()) } else { Ok(tables) }
    }

    fn at(place: &str) -> Result<Self, FleetError> {
        let wrong = |why: String| FleetError::Place { place: place.to_owned(), why };
        let url = if place.contains("://") {
            let text = if place.ends_with('/') { place.to_owned() } else { format!("{place}/") };
            Url::parse(&text).map_err(|error| wrong(error.to_string()))?
        } else {
            let path = fs::canonicalize(place).map_err(|error| wrong(error.to_string()))?;
            Url::from_directory_path(path).map_err(|()| wrong("it has no URL".to_owned()))?
        };
        let (store, root) = stores::open(&url).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { url, store, root })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store)
    }

    /// These tables without the files with these names.
    pub(crate) fn without<'a>(&self, names: impl Iterator<Item = &'a String>) -> Self {
        let hidden: BTreeSet<Path> = names.map(|name| self.object(name)).collect();
        if hidden.is_empty() {
            return self.clone();
        }
        Self { store: Arc::new(Readable::new(self.store(), hidden)), ..self.clone() }
    }

    /// The object with this name below the place.
    pub(crate) fn object(&self, name: &str) -> Path {
        name.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    /// The objects below a folder, by name, with their names below the place.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<(String, ObjectMeta)>, FleetError> {
        let prefix = self.object(folder);
        let mut listed = self.store.list(Some(&prefix));
        let mut objects = Vec::new();
        while let Some(object) = bounded("listing the tables", listed.next()).await?.transpose()? {
            let parts: Option<Vec<String>> = object
                .location
                .prefix_match(&self.root)
                .map(|parts| parts.map(|part| part.as_ref().to_owned()).collect());
            objects.push((parts.unwrap_or_default().join("/"), object));
        }
        objects.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(objects)
    }

    pub(crate) async fn exists(&self, name: &str) -> Result<bool, FleetError> {
        use datafusion::object_store::Error::NotFound;
        match bounded("looking at the tables", self.store.head(&self.object(name))).await? {
            Ok(_) => Ok(true),
            Err(NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object, if it is there. Nothing needs the right to remove if it is not.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), FleetError> {
        if !self.exists(name).await? {
            return Ok(());
        }
        use datafusion::object_store::Error::NotFound;
        match bounded("removing a table", self.store.delete(&self.object(name))).await? {
            Ok(()) | Err(NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// SHA-256 of an object's content.
    pub(crate) async fn digest(&self, object: &ObjectMeta) -> Result<[u8; 32], FleetError> {
        let mut content = bounded("opening a table", self.store.get(&object.location)).await??.into_stream();
        let mut hash = Sha256::new();
        while let Some(block) = bounded("reading a table", content.try_next()).await?? {
            hash.update(&block);
        }
        Ok(hash.finalize().into())
    }
}

/// Waits for an operation of the store, at most [`WAIT`]. Errors: [`FleetError::Timeout`].
pub(crate) async fn bounded<T>(what: &str, operation: impl Future<Output = T>) -> Result<T, FleetError> {
    let done = tokio::time::timeout(Duration::from_secs(WAIT), operation).await;
    done.map_err(|_| FleetError::Timeout { what: what.to_owned(), seconds: WAIT })
}
