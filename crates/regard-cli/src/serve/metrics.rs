//! Measurements of the service in the text format of Prometheus (OpenMetrics).

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::work::Queue;

/// Upper ends of the classes of seconds.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0, 60.0];
/// Upper ends of the classes of batch sizes.
const BATCHES: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    /// The endpoint, such as `/v1/solve`; `other` for what is none.
    endpoint: String,
    status: u64,
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Endpoint {
    endpoint: String,
}

/// All measurements.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Endpoint, Histogram>,
    waited: Histogram,
    batch: Histogram,
    /// Connections that are open.
    pub(super) connections: Gauge,
    /// Bytes of bodies that were received.
    received: Counter,
    /// Requests whose client went before the answer.
    pub(super) gone: Counter,
}

impl Metrics {
    /// Nothing measured yet.
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        let mut registry = Registry::with_prefix("regard");
        let (requests, connections) = (Family::default(), Gauge::default());
        let seconds = Family::<Endpoint, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        let (waited, batch) = (Histogram::new(SECONDS), Histogram::new(BATCHES));
        let (received, gone) = (Counter::default(), Counter::default());
        registry.register("requests", "Requests that were answered", requests.clone());
        registry.register("request_seconds", "Time from the head of a request to its answer", seconds.clone());
        registry.register("queue_seconds", "Time that requests waited in the queue", waited.clone());
        registry.register("batch_requests", "Requests that shared a pass through a network", batch.clone());
        registry.register("connections", "Open connections", connections.clone());
        registry.register("received_bytes", "Bytes of bodies that were received", received.clone());
        registry.register("gone", "Requests whose client went before the answer", gone.clone());
        registry.register("build", "Version of the program", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        registry.register_collector(Box::new(Current { queue }));
        Self { registry, requests, seconds, waited, batch, connections, received, gone }
    }

    /// Takes note of an answer.
    pub(super) fn answered(&self, endpoint: &str, status: u64, seconds: Duration) {
        let endpoint = endpoint.to_owned();
        self.requests.get_or_create(&Answered { endpoint: endpoint.clone(), status }).inc();
        self.seconds.get_or_create(&Endpoint { endpoint }).observe(seconds.as_secs_f64());
    }

    /// Takes note of a request that was computed.
    pub(super) fn computed(&self, waited: Duration, batch: usize) {
        self.waited.observe(waited.as_secs_f64());
        self.batch.observe(batch as f64);
    }

    /// Takes note of a body.
    pub(super) fn received(&self, bytes: usize) {
        self.received.inc_by(bytes as u64);
    }

    /// The text of all measurements.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Measurements that are looked up when they are asked for.
struct Current {
    queue: Arc<Queue>,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Current")
    }
}

impl Collector for Current {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let all = [
            ("queue_requests", "Requests that wait in the queue", self.queue.waiting() as f64),
            ("running_requests", "Workers that compute", self.queue.running() as f64),
            ("resident_memory_bytes", "Resident memory of the process", resident().unwrap_or(0) as f64),
        ];
        for (name, help, value) in all {
            let gauge = ConstGauge::<f64>::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

/// Resident memory of this process in bytes, where the system tells it.
fn resident() -> Option<u64> {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<u64>().ok()? * PAGE)
}
