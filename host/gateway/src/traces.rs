//! OpenTelemetry traces, by the conventions for generative AI: one span per request, and one for the model's answer.
//! Spans contain no text of a request or an answer, only names from configuration and policy, ids, codes and numbers.
//! Spans wait in a bounded queue for an export thread. If the queue is full, spans are dropped; requests never wait.

use crate::answer::AnswerEnd;
use crate::config::{self, ConfigError, UpstreamKind};
use crate::error::ApiError;
use crate::output::{FinishReason, StreamReport};
use crate::request::ClientRequest;
use crate::upstream::{self, UpstreamClient};
use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode};
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request as HttpRequest, Response as HttpResponse};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Longest time between the end of a span and its export.
const DELAY: Duration = Duration::from_secs(1);
/// Longest wait for the export of the last spans.
const LAST: Duration = Duration::from_secs(2);
/// Bytes of a collector's answer that are read.
const ANSWER_BYTES: usize = 64 << 10;

/// Why tracing could not start.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
    #[error(transparent)]
    Client(#[from] reqwest::Error),
    /// A secret for the headers of the requests is missing.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Sends traces to a collector.
pub(crate) struct TraceExporter {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl TraceExporter {
    /// Starts the export thread. Must be called inside the runtime that runs the export requests.
    ///
    /// # Errors
    /// [`TracesError`].
    pub(crate) fn start(config: &config::TraceExportSettings) -> Result<Self, TracesError> {
        let patience = Duration::from_millis(config.timeout_ms);
        let headers = config.headers.iter().map(|(name, secret)| Ok((name.clone(), secret.read()?)));
        let headers = headers.collect::<Result<HashMap<_, _>, ConfigError>>()?;
        let client = upstream::client(patience, None)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(CollectorClient { client, runtime: Handle::current(), patience })
            .with_endpoint(&config.endpoint)
            .with_headers(headers)
            .with_timeout(patience)
            .build()?;
        let batch = config.queue.min(512);
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(config.queue)
            .with_max_export_batch_size(batch)
            .with_scheduled_delay(DELAY)
            .build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = Resource::builder_empty()
            .with_service_name("portcullis")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource).build();
        Ok(Self { tracer: provider.tracer("portcullis"), provider })
    }

    /// Exports the waiting spans and stops. Blocks.
    pub(crate) fn end(&self) {
        // After this time, spans that the collector has not accepted are lost.
        let _ = self.provider.shutdown_with_timeout(LAST);
    }
}

/// The HTTP client of the exporter. The export thread is not a thread of the runtime, so requests are passed to it.
#[derive(Debug)]
struct CollectorClient {
    client: reqwest::Client,
    runtime: Handle,
    patience: Duration,
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: HttpRequest<Bytes>) -> Result<HttpResponse<Bytes>, HttpError> {
        let mut request = reqwest::Request::try_from(request)?;
        *request.timeout_mut() = Some(self.patience);
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let mut response = client.execute(request).await?;
            let mut body = Vec::new();
            while let Some(piece) = response.chunk().await? {
                body.extend_from_slice(&piece);
                if body.len() > ANSWER_BYTES {
                    body.clear();
                    break;
                }
            }
            Ok::<_, reqwest::Error>((response.status(), body))
        });
        let (status, body) = sent.await??;
        Ok(HttpResponse::builder().status(status).body(body.into())?)
    }
}

/// The trace context in a client's request. Its `tracestate` is ignored, since it can contain text.
struct TraceContextHeaders<'a>(&'a HeaderMap);

impl Extractor for TraceContextHeaders<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == "traceparent").then(|| self.0.get(key)?.to_str().ok())?
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// The span of a request, if tracing is on. It ends with the last part of the answer.
pub(crate) struct RequestTrace(Option<(SdkTracer, Context)>);

/// The span of a model's answer.
pub(crate) struct ChatTrace(Option<OpenChat>);

struct OpenChat {
    span: Context,
    begun: Instant,
    /// Keeps the request's span open.
    _request: Context,
}

impl RequestTrace {
    /// Starts the span of a request for this path.
    pub(crate) fn begin(traces: Option<&TraceExporter>, path: &'static str, headers: &HeaderMap) -> Self {
        Self(traces.map(|traces| {
            let parent =
                TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceContextHeaders(headers));
            let span = traces
                .tracer
                .span_builder(format!("POST {path}"))
                .with_kind(SpanKind::Server)
                .with_attributes([KeyValue::new("http.request.method", "POST"), KeyValue::new("http.route", path)])
                .start_with_context(&traces.tracer, &parent);
            (traces.tracer.clone(), parent.with_span(span))
        }))
    }

    /// Records the status of the answer.
    pub(crate) fn answered(&self, answered: Result<StatusCode, &ApiError>) {
        let Some((_, context)) = &self.0 else { return };
        let span = context.span();
        let status = answered.unwrap_or_else(|error| error.status);
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        if let Err(error) = answered {
            span.set_attribute(KeyValue::new("error.type", error.code));
            if error.status.is_server_error() {
                span.set_status(Status::error(""));
            }
        }
    }

    /// Starts the span of the model's answer. `operation` is its name in the conventions for generative
    /// models, `model` a name in the configuration.
    pub(crate) fn chat(
        &self,
        operation: &'static str,
        model: &str,
        upstream: &UpstreamClient,
        request: &ClientRequest,
    ) -> ChatTrace {
        ChatTrace(self.0.as_ref().map(|(tracer, context)| {
            let (kind, place) = upstream.server();
            let mut attributes = vec![
                KeyValue::new("gen_ai.operation.name", operation),
                KeyValue::new("gen_ai.provider.name", provider(kind)),
                KeyValue::new("gen_ai.request.model", model.to_owned()),
                KeyValue::new("gen_ai.request.stream", request.stream),
            ];
            let count = (request.choices > 1).then_some(request.choices.into());
            let numbers = [
                ("gen_ai.request.choice.count", count),
                ("gen_ai.request.max_tokens", request.sampling.max_tokens.and_then(|most| i64::try_from(most).ok())),
                ("gen_ai.request.seed", request.sampling.seed),
            ];
            attributes.extend(numbers.into_iter().filter_map(|(key, value)| Some(KeyValue::new(key, value?))));
            if let Some((host, port)) = place {
                attributes.push(KeyValue::new("server.address", host));
                attributes.push(KeyValue::new("server.port", i64::from(port)));
            }
            let span = tracer
                .span_builder(format!("{operation} {model}"))
                .with_kind(SpanKind::Client)
                .with_attributes(attributes)
                .start_with_context(tracer, context);
            OpenChat { span: context.with_span(span), begun: Instant::now(), _request: context.clone() }
        }))
    }
}

impl ChatTrace {
    /// Ends the span.
    pub(crate) fn end(self, ended: &AnswerEnd) {
        let Some(OpenChat { span: context, begun, _request }) = self.0 else { return };
        let AnswerEnd { usage, provenance, failure, first, finishes, .. } = ended;
        let sum = |of: fn(&StreamReport) -> u64| provenance.streams.iter().map(of).sum::<u64>();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let rules: BTreeSet<&String> = provenance.streams.iter().flat_map(|stream| &stream.rules).collect();
        let span = context.span();
        span.set_attributes([
            KeyValue::new("gen_ai.response.id", provenance.answer.clone()),
            KeyValue::new("gen_ai.response.finish_reasons", words(finishes.iter().map(|finish| reason(*finish)))),
            KeyValue::new("gen_ai.usage.input_tokens", number(usage.prompt)),
            KeyValue::new("gen_ai.usage.output_tokens", number(usage.completion)),
            KeyValue::new("portcullis.mode", provenance.mode),
            KeyValue::new("portcullis.policy", provenance.policy.clone()),
            KeyValue::new("portcullis.session", provenance.session.clone()),
            KeyValue::new("portcullis.admitted", number(sum(|stream| stream.admitted))),
            KeyValue::new("portcullis.rejected", number(sum(|stream| stream.rejected))),
            KeyValue::new("portcullis.rules", words(rules.into_iter().map(String::as_str))),
        ]);
        if let Some(first) = first {
            let time = first.saturating_duration_since(begun).as_secs_f64();
            span.set_attribute(KeyValue::new("gen_ai.response.time_to_first_chunk", time));
        }
        if let Some(failure) = failure {
            span.set_attribute(KeyValue::new("error.type", failure.code));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> Value {
    Value::Array(Array::String(words.map(|word| StringValue::from(word.to_owned())).collect()))
}

/// The provider's name in OpenTelemetry's conventions; a provider that they do not list gets its own name.
const fn provider(kind: UpstreamKind) -> &'static str {
    match kind {
        UpstreamKind::OpenAi => "openai",
        UpstreamKind::Vllm => "vllm",
        UpstreamKind::LlamaCpp => "llamacpp",
        UpstreamKind::SgLang => "sglang",
        UpstreamKind::Ollama => "ollama",
        UpstreamKind::Anthropic => "anthropic",
    }
}

/// The end reason of a choice, as in OpenAI's API.
const fn reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refused => "content_filter",
        FinishReason::Failed => "error",
    }
}
