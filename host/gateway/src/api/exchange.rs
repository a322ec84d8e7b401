//! Answers in the APIs of models, whole or as a stream of events.

use super::dialect::ApiDialect;
use super::event::AnswerHeader;
use super::reply::{error_response, json_response, put_request_id};
use crate::answer::AnswerEnd;
use crate::error::ApiError;
use crate::output::GatedAnswerPart;
use crate::service::{AnswerLabels, GatewayService, RunningAnswer};
use crate::traces::RequestTrace;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Pieces of an answer that are buffered for the network.
const PIECES: usize = 16;

/// Answers a request in one of the dialects.
pub(crate) async fn answer(
    service: &Arc<GatewayService>,
    dialect: ApiDialect,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    let trace = service.trace(dialect.path(), headers);
    let answered = answer_traced(service, dialect, headers, body, &trace).await;
    trace.answered(answered.as_ref().map(Response::status));
    answered.unwrap_or_else(|error| error_response(dialect, &error))
}

async fn answer_traced(
    service: &Arc<GatewayService>,
    dialect: ApiDialect,
    headers: &HeaderMap,
    body: Body,
    trace: &RequestTrace,
) -> Result<Response, ApiError> {
    let caller = service.caller(headers)?;
    service.check_running()?;
    let body = service.body(body).await?;
    let request = dialect.parse(&body)?;
    let (is_stream, model, include_usage) = (request.stream, request.model.clone(), request.include_usage);
    let labels = AnswerLabels { id_prefix: dialect.id_prefix(), operation: dialect.operation() };
    let RunningAnswer { id, created, outputs, written } = service.begin_answer(caller, request, labels, trace).await?;
    let header = AnswerHeader { id, model, created, include_usage };
    let exchange = AnswerDelivery { dialect, header, outputs, written, keep_alive: service.limits().keep_alive_ms };
    if is_stream { exchange.stream(service.limits().client()).await } else { exchange.whole().await }
}

/// An answer that is being sent to a client.
struct AnswerDelivery {
    dialect: ApiDialect,
    header: AnswerHeader,
    outputs: mpsc::Receiver<GatedAnswerPart>,
    written: JoinHandle<AnswerEnd>,
    /// Milliseconds of silence after which a comment is sent.
    keep_alive: u64,
}

impl AnswerDelivery {
    /// Sends the answer as one JSON object.
    async fn whole(mut self) -> Result<Response, ApiError> {
        let mut outputs = Vec::new();
        while let Some(output) = self.outputs.recv().await {
            outputs.push(output);
        }
        let AnswerEnd { usage, provenance, failure, .. } = self.written.await.map_err(|_| broken())?;
        match failure {
            Some(error) => Err(error),
            None => {
                let body = self.dialect.body(&self.header, &outputs, usage, &provenance);
                Ok(json_response(StatusCode::OK, body, &self.header.id))
            }
        }
    }

    /// Sends the answer as a stream of events. The head is sent with the first output, so that an earlier failure can
    /// still set the status.
    async fn stream(mut self, client: Duration) -> Result<Response, ApiError> {
        let silence = Duration::from_millis(self.keep_alive.max(1));
        let first = match timeout(silence, self.outputs.recv()).await {
            Ok(None) => {
                let ended = self.written.await.map_err(|_| broken())?;
                if let Some(error) = ended.failure {
                    return Err(error);
                }
                self.written = tokio::spawn(async { ended });
                None
            }
            Ok(first) => first,
            Err(_) => None,
        };
        let id = self.header.id.clone();
        let (pieces, body) = mpsc::channel(PIECES);
        tokio::spawn(self.write_events(first, pieces, silence, client));
        let mut response = Response::new(Body::new(EventBody(Some(body))));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        put_request_id(headers, &id);
        Ok(response)
    }

    async fn write_events(
        mut self,
        first: Option<GatedAnswerPart>,
        pieces: mpsc::Sender<EventBodyChunk>,
        silence: Duration,
        client: Duration,
    ) {
        let mut events = self.dialect.events(self.header.clone());
        let send = async |text: String| {
            text.is_empty()
                || matches!(timeout(client, pieces.send(EventBodyChunk::Bytes(text.into()))).await, Ok(Ok(())))
        };
        if !send(events.start()).await {
            return;
        }
        let mut next = first;
        loop {
            if let Some(output) = next.take()
                && !send(events.output(&output)).await
            {
                return;
            }
            tokio::select! {
                () = pieces.closed() => return,
                received = timeout(silence, self.outputs.recv()) => match received {
                    Ok(Some(output)) => next = Some(output),
                    Ok(None) => break,
                    Err(_) => {
                        if !send(":\n\n".into()).await {
                            return;
                        }
                    }
                },
            }
        }
        if let Ok(AnswerEnd { usage, provenance, failure, .. }) = self.written.await {
            let last = match failure {
                Some(error) => events.fail(&error, &provenance),
                None => events.end(usage, &provenance),
            };
            if send(last).await {
                let _ = timeout(client, pieces.send(EventBodyChunk::End)).await;
            }
        }
    }
}

/// A piece of a streamed answer.
enum EventBodyChunk {
    Bytes(Bytes),
    /// The answer was written completely.
    End,
}

/// The bytes of a streamed answer. If an answer is incomplete, the connection is aborted, so that the client notices.
struct EventBody(Option<mpsc::Receiver<EventBodyChunk>>);

/// The error for an incomplete answer.
#[derive(Debug, thiserror::Error)]
#[error("the answer was not written to its end")]
struct CutOff;

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let Some(pieces) = &mut self.0 else { return Poll::Ready(None) };
        let Poll::Ready(piece) = pieces.poll_recv(cx) else { return Poll::Pending };
        Poll::Ready(match piece {
            Some(EventBodyChunk::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(EventBodyChunk::End) => {
                self.0 = None;
                None
            }
            None => {
                self.0 = None;
                Some(Err(CutOff))
            }
        })
    }
}

fn broken() -> ApiError {
    ApiError::gate("the gate failed, and releases nothing more of this answer")
}
