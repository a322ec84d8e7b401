//! Object stores by URL: `file:` for folders, `s3:` for a bucket of an S3-compatible service.
//!
//! Address and credentials of a service come from the environment, under the names of AWS's own tools:
//! `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, and the others that
//! [`AmazonS3ConfigKey`](https://docs.rs/object_store/0.13.2/object_store/aws/enum.AmazonS3ConfigKey.html) lists.

use datafusion::error::DataFusionError;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::object_store::path::Path;
use datafusion::object_store::{self, ObjectStore, parse_url_opts};
use std::sync::Arc;
use url::Url;

/// The store of a URL, and the path of the URL in it. Errors: no store has such a URL, or its configuration is not
/// valid.
pub(crate) fn open(url: &Url) -> Result<(Arc<dyn ObjectStore>, Path), object_store::Error> {
    // A variable that is not Unicode is none of these.
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let settings = environment.filter_map(|(name, value)| Some((setting(name)?, value.into_string().ok()?)));
    let (store, path) = parse_url_opts(url, settings)?;
    Ok((store.into(), path))
}

/// A variable of the environment as a setting of the store. AWS's tools say `AWS_ENDPOINT_URL`, `object_store` says
/// `AWS_ENDPOINT`.
fn setting(name: String) -> Option<String> {
    match &*name {
        "AWS_ENDPOINT_URL" | "AWS_ENDPOINT_URL_S3" => Some("AWS_ENDPOINT".to_owned()),
        _ if name.starts_with("AWS_") => Some(name),
        _ => None,
    }
}

/// Opens stores when they are needed, so that processes of a cluster find the tables of a query by its URLs.
#[derive(Debug, Default)]
pub(crate) struct Stores(DefaultObjectStoreRegistry);

impl Stores {
    /// A builder of an environment for queries that has these stores.
    pub(crate) fn runtime() -> RuntimeEnvBuilder {
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
