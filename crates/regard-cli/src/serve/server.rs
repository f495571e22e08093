//! Connections: accepting, limits, and the end of the service.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use super::{Service, router};

/// Time in which the head of a request must come, also on a connection that is kept.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Time in which a client must take a part of its answer.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// Largest head of a request.
const HEAD: usize = 64 << 10;
/// Header lines of a request at most.
const HEADERS: usize = 64;
/// Pause after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// Time for connections to write what is left when all requests are answered.
const CLOSING: Duration = Duration::from_secs(5);
/// Time between two looks for the end of the accepted requests.
const LOOK: Duration = Duration::from_millis(10);

/// Serves connections until a signal comes and the accepted requests are answered.
pub(super) async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    connections: usize,
    drain_time: Duration,
) -> anyhow::Result<()> {
    let router = router::router(Arc::clone(&service));
    let (graceful, free) = (GracefulShutdown::new(), Arc::new(Semaphore::new(connections)));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD).max_headers(HEADERS);
    let mut end = pin!(drained(&service, drain_time)?);
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&free).acquire_owned() => permit?,
            () = &mut end => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    sleep(PAUSE).await;
                    continue;
                }
            },
            () = &mut end => break,
        };
        // Answers are whole and should not wait for more.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIME));
        let (stream, router) = (TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router.clone()));
        let connection = builder.serve_connection(stream, router);
        let connection = graceful.watch(connection);
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            service.metrics.connections.inc();
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            service.metrics.connections.dec();
            drop(permit);
        });
    }
    drop(listener);
    let _ = timeout(CLOSING, graceful.shutdown()).await;
    tracing::info!("ended");
    Ok(())
}

/// Waits for a signal, refuses new requests from then on, and waits until the accepted ones are answered. Connections are
/// accepted meanwhile, so that who comes too late is told so. A second signal ends the waiting.
fn drained(service: &Arc<Service>, time: Duration) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let mut signals = Signals::new()?;
    let service = Arc::clone(service);
    Ok(async move {
        signals.next().await;
        service.draining.store(true, Ordering::Relaxed);
        let in_flight = || service.in_flight.load(Ordering::Relaxed);
        tracing::info!(requests = in_flight(), "draining");
        let answered = async {
            while in_flight() > 0 {
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = answered => {}
            () = sleep(time) => tracing::warn!(requests = in_flight(), "the time to drain is over"),
            () = signals.next() => tracing::warn!(requests = in_flight(), "a second signal ends the service"),
        }
    })
}

/// The signals that end the service.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        // Without a handler the signal ends the process itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
