//! A store of tables that does not list some of its objects.

use async_trait::async_trait;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use futures::stream::BoxStream;
use futures::{StreamExt, future};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The store without the objects that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Readable {
    store: Arc<dyn ObjectStore>,
    hidden: Arc<BTreeSet<Path>>,
}

impl Readable {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, hidden: BTreeSet<Path>) -> Self {
        Self { store, hidden: Arc::new(hidden) }
    }

    fn shown(&self, objects: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
        let hidden = Arc::clone(&self.hidden);
        let is_shown = move |object: &Result<ObjectMeta>| {
            future::ready(object.as_ref().map_or(true, |object| !hidden.contains(&object.location)))
        };
        objects.filter(is_shown).boxed()
    }
}

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} without {} objects", self.store, self.hidden.len())
    }
}

#[async_trait]
impl ObjectStore for Readable {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.store.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.shown(self.store.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.shown(self.store.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut listed = self.store.list_with_delimiter(prefix).await?;
        listed.objects.retain(|object| !self.hidden.contains(&object.location));
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.store.rename_opts(from, to, options).await
    }
}
