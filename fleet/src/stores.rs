//! The places of tables: folders (`file:`), and buckets of an S3-compatible service (`s3:`).
//!
//! Address and credentials of a service come from the environment, under the names of AWS's own tools:
//! `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, and the others of
//! [`AmazonS3ConfigKey`](https://docs.rs/object_store/0.13.2/object_store/aws/enum.AmazonS3ConfigKey.html).

use datafusion::object_store::path::Path;
use datafusion::object_store::{self, ObjectStore, parse_url_opts};
use std::sync::Arc;
use url::Url;

/// What says where credentials come from. Without any of these, the library would look for the role of a virtual
/// machine at an address of the network.
const CREDENTIALS: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

/// The store of a URL, and the path of the URL in it. Errors: tables cannot be at such a URL; there are no credentials;
/// a variable is not valid.
pub(crate) fn open(url: &Url) -> Result<(Arc<dyn ObjectStore>, Path), object_store::Error> {
    // A variable that is not Unicode is none of the service's.
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let settings: Vec<(String, String)> = environment
        .filter(|(name, _)| name.starts_with("AWS_"))
        .filter_map(|(name, value)| Some((name, value.into_string().ok()?)))
        .collect();
    let wrong = |why: String| object_store::Error::Generic { store: "tables", source: why.into() };
    let named = !url.username().is_empty() || url.password().is_some();
    let plain = url.query().is_none() && url.fragment().is_none() && !named;
    match url.scheme() {
        "file" => {}
        "s3" if plain && settings.iter().any(|(name, _)| CREDENTIALS.contains(&&**name)) => {}
        "s3" if plain => {
            let names = CREDENTIALS.join(", ");
            return Err(wrong(format!("no credentials: set one of {names}")));
        }
        _ => return Err(wrong("write a folder, file:///PATH or s3://BUCKET/PATH".to_owned())),
    }
    let (store, path) = parse_url_opts(url, settings)?;
    Ok((store.into(), path))
}
