//! An S3-compatible service in memory: protocol and signatures (AWS Signature Version 4) by s3s.

use bytes::Bytes;
use futures::TryStreamExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, GetObjectInput,
    GetObjectOutput, HeadObjectInput, HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object,
    PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp, UploadPartInput, UploadPartOutput,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::SystemTime;

pub(crate) const NAME: &str = "evidence";
pub(crate) const SECRET: &str = "a secret of the test";
const KEY: &str = "fleet";
/// Objects of one page of a list. It is small, so that every list has several pages.
const PAGE: usize = 2;

/// The objects of the bucket, and the parts of objects that are not complete.
#[derive(Clone, Default)]
pub(crate) struct Bucket {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
    parts: Arc<Mutex<BTreeMap<(String, i32), Bytes>>>,
}

impl Bucket {
    /// Serves the bucket until the test's process ends.
    pub(crate) fn serve(&self) -> SocketAddr {
        let mut builder = S3ServiceBuilder::new(self.clone());
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let (address, bound) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                address.send(listener.local_addr().unwrap()).unwrap();
                let server = Builder::new(TokioExecutor::new());
                while let Ok((socket, _)) = listener.accept().await {
                    let connection = server.serve_connection(TokioIo::new(socket), service.clone()).into_owned();
                    tokio::spawn(async { drop(connection.await) });
                }
            });
        });
        bound.recv().unwrap()
    }

    /// Names of the objects, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }

    /// Changes an object.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        let object = objects.get_mut(name).unwrap();
        *object = change(object).into();
    }

    fn object(&self, bucket: &str, key: &str) -> S3Result<Bytes> {
        if bucket != NAME {
            return Err(s3_error!(NoSuchBucket));
        }
        self.objects.lock().unwrap().get(key).cloned().ok_or_else(|| s3_error!(NoSuchKey))
    }
}

/// The address and the credentials of a service, in a command's environment.
pub(crate) fn environment(command: &mut Command, service: SocketAddr, secret: &str) {
    command
        .env("AWS_ENDPOINT_URL", format!("http://{service}"))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", secret);
}

fn now() -> Option<Timestamp> {
    Some(Timestamp::from(SystemTime::now()))
}

fn tag(content: &[u8]) -> Option<ETag> {
    Some(ETag::Strong(format!("{:x}", content.len())))
}

async fn content(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let body = body.ok_or_else(|| s3_error!(IncompleteBody))?;
    let blocks: Vec<Bytes> = body.try_collect().await.map_err(|_| s3_error!(IncompleteBody))?;
    Ok(blocks.concat().into())
}

#[async_trait::async_trait]
impl S3 for Bucket {
    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = request.input;
        if input.bucket != NAME {
            return Err(s3_error!(NoSuchBucket));
        }
        let content = content(input.body).await?;
        let e_tag = tag(&content);
        self.objects.lock().unwrap().insert(input.key, content);
        Ok(S3Response::new(PutObjectOutput { e_tag, ..PutObjectOutput::default() }))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let whole = self.object(&input.bucket, &input.key)?;
        let (mut part, mut content_range) = (whole.clone(), None);
        if let Some(range) = input.range {
            let range = range.check(whole.len() as u64)?;
            content_range = Some(format!("bytes {}-{}/{}", range.start, range.end - 1, whole.len()));
            part = whole.slice(range.start as usize..range.end as usize);
        }
        let output = GetObjectOutput {
            content_length: Some(part.len() as i64),
            body: Some(StreamingBlob::wrap(futures::stream::iter([Ok::<_, std::io::Error>(part)]))),
            content_range,
            e_tag: tag(&whole),
            last_modified: now(),
            ..GetObjectOutput::default()
        };
        Ok(S3Response::new(output))
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let whole = self.object(&request.input.bucket, &request.input.key)?;
        let output = HeadObjectOutput {
            content_length: Some(whole.len() as i64),
            e_tag: tag(&whole),
            last_modified: now(),
            ..HeadObjectOutput::default()
        };
        Ok(S3Response::new(output))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let mut objects = self.objects.lock().unwrap();
        let removed = request.input.delete.objects.into_iter().map(|object| {
            objects.remove(&object.key);
            DeletedObject { key: Some(object.key), ..DeletedObject::default() }
        });
        let deleted = Some(removed.collect());
        Ok(S3Response::new(DeleteObjectsOutput { deleted, ..DeleteObjectsOutput::default() }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        if input.delimiter.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let (prefix, after) = (input.prefix.unwrap_or_default(), input.continuation_token.or(input.start_after));
        let objects = self.objects.lock().unwrap();
        let mut found: Vec<Object> = objects
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix) && after.as_ref().is_none_or(|after| *key > after))
            .take(PAGE + 1)
            .map(|(key, whole)| Object {
                key: Some(key.clone()),
                size: Some(whole.len() as i64),
                e_tag: tag(whole),
                last_modified: now(),
                ..Object::default()
            })
            .collect();
        let more = found.len() > PAGE;
        found.truncate(PAGE);
        let last = found.last().and_then(|object| object.key.clone());
        let output = ListObjectsV2Output {
            is_truncated: Some(more),
            next_continuation_token: last.filter(|_| more),
            key_count: Some(found.len() as i32),
            contents: Some(found),
            name: Some(input.bucket),
            prefix: Some(prefix),
            ..ListObjectsV2Output::default()
        };
        Ok(S3Response::new(output))
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let input = request.input;
        // The name of an upload is that of its object, since no test writes one twice at a time.
        let output = CreateMultipartUploadOutput {
            upload_id: Some(input.key.clone()),
            bucket: Some(input.bucket),
            key: Some(input.key),
            ..CreateMultipartUploadOutput::default()
        };
        Ok(S3Response::new(output))
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let input = request.input;
        let content = content(input.body).await?;
        let e_tag = tag(&content);
        self.parts.lock().unwrap().insert((input.upload_id, input.part_number), content);
        Ok(S3Response::new(UploadPartOutput { e_tag, ..UploadPartOutput::default() }))
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let input = request.input;
        let mut parts = self.parts.lock().unwrap();
        let own: Vec<_> = parts.keys().filter(|(upload, _)| *upload == input.upload_id).cloned().collect();
        let whole: Bytes = own.iter().filter_map(|part| parts.remove(part)).collect::<Vec<_>>().concat().into();
        let e_tag = tag(&whole);
        self.objects.lock().unwrap().insert(input.key.clone(), whole);
        let output = CompleteMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            e_tag,
            ..CompleteMultipartUploadOutput::default()
        };
        Ok(S3Response::new(output))
    }
}
