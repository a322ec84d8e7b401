//! HTTP/1.1 within limits: every wait has an end, and every message a largest size.
//!
//! `server` is the listener of the gateway, of the issuer and of the witness; `client` reads the answers of engines,
//! issuers and witnesses. Each is a feature, because a crate that needs the one should not link the other. This crate
//! has neither routes nor retries: the services and clients above it add these.
//!
//! ```
//! # use std::{convert::Infallible, future::pending, time::Duration};
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use hyper::{Request, Response, body::Incoming, service::service_fn};
//! use portcullis_http::client::{BoundedClient, ExchangeLimits, TrustedRoots};
//! use portcullis_http::server::{BoundedListener, ListenerLimits};
//!
//! async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
//!     Ok(Response::new(Full::new(Bytes::from("hello"))))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Runtime::new()?;
//! # let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
//! # let url = format!("http://{}/", listener.local_addr()?);
//! let time = Duration::from_secs(10);
//! let limits = ListenerLimits { connections: 8, head: time, head_bytes: 8192, head_fields: 32, write: time };
//! std::thread::spawn(move || {
//!     runtime.block_on(BoundedListener::new(listener, limits).serve(service_fn(hello), pending::<()>()));
//! });
//!
//! let client = BoundedClient::direct(ExchangeLimits { time, answer_bytes: 5 }, TrustedRoots::mozilla());
//! let answer = client.post(&url, &[], b"")?;
//! assert_eq!((answer.status, answer.body.as_slice()), (200, b"hello".as_slice()));
//!
//! // A longer answer than the client accepts.
//! let client = BoundedClient::direct(ExchangeLimits { time, answer_bytes: 4 }, TrustedRoots::mozilla());
//! assert!(client.post(&url, &[], b"").is_err());
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
mod linger;
#[cfg(feature = "server")]
pub mod server;
