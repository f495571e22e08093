//! `regard serve`: models over HTTP, and a page to look at them.
//!
//! Every answer is that of a command, computed by the same functions ([`answer`]) with the same arguments ([`options`]).
//! Connections ([`server`]) are read and written apart from the workers that compute ([`work`]). What is not said at the
//! start is closed: other machines, other pages, other models, files of this machine.

mod access;
mod answer;
mod error;
mod examples;
mod metrics;
mod models;
mod openapi;
mod options;
mod page;
mod question;
mod reading;
mod router;
mod runs;
mod server;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use regard::Device;
use serde::Serialize;
use tokio::sync::Semaphore;
use tracing_subscriber::filter::LevelFilter;

use self::access::Access;
use self::error::ApiError;
use self::metrics::Metrics;
use self::models::Models;
use self::work::{Limits, Queue};
use crate::args::{GlobalArgs, ServeArgs};
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::report::Printer;

/// Bodies that are in memory at the same time, in largest bodies.
const BODIES: usize = 16;

/// State that all requests share.
pub(crate) struct Service {
    models: Models,
    device: Device,
    queue: Arc<Queue>,
    metrics: Metrics,
    access: Access,
    runs: Vec<PathBuf>,
    max_body: usize,
    request_time: Duration,
    /// KiB of bodies that may be in memory.
    buffered: Arc<Semaphore>,
    /// Requests that were accepted and are not answered.
    in_flight: AtomicUsize,
    /// If true, new requests are refused.
    draining: AtomicBool,
}

impl Service {
    /// Refuses a time that is beyond the time limit of requests.
    fn check_time(&self, option: &str, time: Duration) -> Result<(), ApiError> {
        if time <= self.request_time {
            return Ok(());
        }
        let seconds = |time: Duration| crate::report::number::seconds(time.as_secs_f64());
        Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("is {}", seconds(time)))
            .at(format!("option {option}"))
            .expected(format!("at most {}, the time limit of a request", seconds(self.request_time))))
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// The line on standard output.
#[derive(Serialize)]
struct Listening {
    /// The address to open.
    url: String,
    models: usize,
}

/// Serves until a signal ends it.
pub(crate) fn run(
    args: &ServeArgs,
    global: &GlobalArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let token = args.token(&|note| printer.note(note))?;
    log(global);
    let models = Models::open(&args.models, device, &|note| printer.note(note))?;
    let workers = args.workers.unwrap_or_else(rayon::current_num_threads);
    let limits = Limits { queue: args.queue, workers, batch: args.batch, batch_wait: args.batch_wait };
    let queue = Arc::new(Queue::new(limits));
    let service = Arc::new(Service {
        models,
        device: device.clone(),
        metrics: Metrics::new(Arc::clone(&queue)),
        queue,
        access: Access::new(args.listen, token.as_deref(), args.allow_origin.clone()),
        runs: args.runs.clone(),
        max_body: args.max_body,
        request_time: args.request_time,
        buffered: Arc::new(Semaphore::new((BODIES * args.max_body).div_ceil(1024))),
        in_flight: AtomicUsize::new(0),
        draining: AtomicBool::new(false),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers.div_ceil(4))
        .thread_name("connections")
        .enable_all()
        .build()?;
    let running = work::start(&service)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(args.listen).await.map_err(|error| {
            Failure::new(format!("--listen {}: {error}", args.listen))
                .hint("`--listen 127.0.0.1:0` takes a port that is free")
        })?;
        let url = format!("http://{}/", listener.local_addr()?);
        if printer.json() {
            printer.object(&Listening { url, models: service.models.entries().count() })?;
        } else {
            printer.result(&url)?;
        }
        server::serve(listener, Arc::clone(&service), args.connections, args.drain_time).await
    })?;
    service.queue.close();
    // Workers that still compute for clients that have gone are not waited for.
    running.into_iter().filter(std::thread::JoinHandle::is_finished).for_each(|worker| drop(worker.join()));
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(Outcome::Done)
}

/// Sends logs to standard error: one line for each request, as JSON with `--json`; warnings alone with `--quiet`.
fn log(global: &GlobalArgs) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::WARN,
        (false, true) => LevelFilter::DEBUG,
        (false, false) => LevelFilter::INFO,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // Another part of the process may have set one.
    let _ = if global.json { lines.json().flatten_event(true).try_init() } else { lines.with_ansi(false).try_init() };
    // The message of a panic may have values of a file.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}
