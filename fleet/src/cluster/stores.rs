//! The places of tables, for the processes of a cluster.

use crate::stores::open;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::object_store::ObjectStore;
use std::sync::Arc;
use url::Url;

/// Opens the store of a URL when a query first needs it. So the processes of a cluster find the tables.
#[derive(Debug, Default)]
pub(super) struct Stores(DefaultObjectStoreRegistry);

impl Stores {
    /// A builder of an environment for queries that has these stores.
    pub(super) fn runtime() -> RuntimeEnvBuilder {
        RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Self::default()))
    }
}

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        self.0.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        if let Ok(store) = self.0.get_store(url) {
            return Ok(store);
        }
        let (store, _) = open(url)?;
        self.0.register_store(url, Arc::clone(&store));
        Ok(store)
    }
}
