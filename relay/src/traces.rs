//! Traces, which a collector of [OpenTelemetry](https://opentelemetry.io/docs/specs/otel/) gets. There are spans for
//! requests, entries, questions to the game's own server, orders of the operator and changes of host. None of them
//! contains an address or the code of a game.

use std::env;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::version;

/// The variables of the environment that name a collector, as OpenTelemetry defines them.
const COLLECTORS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The variable that names this service, and its value without one.
const SERVICE: (&str, &str) = ("OTEL_SERVICE_NAME", "samovar-relay");
/// The longest time that the program waits at its end for a collector that takes the last spans.
const LAST_SPANS_MAX: Duration = Duration::from_secs(2);

/// The way of the spans to a collector. Dropping it sends the spans that wait.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Prepares the way, in a thread of its own, to the collector that the environment names: `None` if it names none.
    ///
    /// # Errors
    /// The variables of the environment cannot be used, in words.
    pub fn start() -> Result<Option<Self>, String> {
        let is_off = env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || !COLLECTORS.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty())) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().build();
        let exporter = exporter.map_err(|error| {
            format!("traces have no way to the collector ({error}): see the variables OTEL_…")
        })?;
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", version::TEXT));
        if env::var_os(SERVICE.0).is_none() {
            resource = resource.with_service_name(SERVICE.1);
        }
        global::set_text_map_propagator(TraceContextPropagator::new());
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build());
        Ok(Some(Self(provider.build())))
    }

    /// The part of the log that takes the relay's spans, and the lines of the log within them.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        let is_own = filter_fn(|metadata| {
            metadata.target().starts_with("samovar_relay") && *metadata.level() <= Level::INFO
        });
        let tracer = self.0.tracer(SERVICE.1);
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_filter(is_own)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // Spans that no collector takes are lost; its failures are in the log.
        self.0.shutdown_with_timeout(LAST_SPANS_MAX).ok();
    }
}

/// Lets a span continue the trace that the headers of a request name, if they do.
pub(crate) fn continue_from(span: &Span, headers: &HeaderMap) {
    let context = global::get_text_map_propagator(|propagator| propagator.extract(&Headers(headers)));
    // Without a collector, there is no trace to continue.
    span.set_parent(context).ok();
}

/// Names the current trace in the headers of a request to another server.
pub(crate) fn carry(headers: &mut HeaderMap) {
    let context = Span::current().context();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut HeadersMut(headers));
    });
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

struct HeadersMut<'a>(&'a mut HeaderMap);

impl Injector for HeadersMut<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}
