//! The queue of requests, and the workers that compute them: threads of their own, apart from those that read and write
//! connections.
//!
//! Requests for one pass through a network that wait together are computed together; a pass waits a little for requests
//! that are just being received. Where more than one request is computed, each has one thread, since requests side by
//! side are faster than parts of one; alone, a request has all cores. The answers are the same either way.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use regard::data::cancel::{CancellationToken, Cancelled};
use tokio::sync::oneshot;

use super::Service;
use super::answer::{Task, together};
use super::error::ApiError;

/// A request that waits.
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) token: CancellationToken,
    pub(super) reply: oneshot::Sender<Reply>,
    pub(super) queued: Instant,
}

/// The answer to a request, and what it took.
pub(super) struct Reply {
    pub(super) answer: Result<Vec<u8>, ApiError>,
    /// Time in the queue.
    pub(super) waited: Duration,
    /// Requests of its pass.
    pub(super) batch: usize,
}

/// Limits of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Requests that wait at most.
    pub(super) queue: usize,
    /// Threads that compute.
    pub(super) workers: usize,
    /// Requests of a pass at most.
    pub(super) batch: usize,
    /// Time that a pass waits for requests that are being received.
    pub(super) batch_wait: Duration,
}

/// The queue.
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    wake: Condvar,
    /// Requests of predictions whose body is being received.
    receiving: AtomicUsize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// Workers that compute.
    running: usize,
    /// Workers that compute a long request.
    running_long: usize,
    /// Seconds that a request took lately.
    seconds: f64,
    closed: bool,
}

/// Requests that one worker computes.
struct Batch {
    jobs: Vec<Job>,
    is_long: bool,
    /// If true, the worker uses its own thread alone.
    one_thread: bool,
}

/// The weight of the latest request in the mean of seconds.
const LATEST: f64 = 0.1;

impl Queue {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default(), wake: Condvar::new(), receiving: AtomicUsize::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker catches panics of computations; the state itself is never half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Requests that are computed.
    pub(super) fn running(&self) -> usize {
        self.lock().running
    }

    /// Counts a request that is being received until the guard is dropped.
    pub(super) fn receiving(self: &Arc<Self>) -> Receiving {
        self.receiving.fetch_add(1, Ordering::Relaxed);
        Receiving(Arc::clone(self))
    }

    /// Appends a request.
    ///
    /// # Errors
    /// 429 where too many wait, with the time after which there is room.
    pub(super) fn push(&self, job: Job) -> Result<(), ApiError> {
        let mut state = self.lock();
        if state.waiting.len() >= self.limits.queue {
            state.waiting.retain(|job| !job.token.is_cancelled());
        }
        if state.waiting.len() >= self.limits.queue {
            let seconds = (state.seconds * state.waiting.len() as f64 / self.limits.workers as f64).ceil();
            return Err(ApiError::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!("{} requests wait already", state.waiting.len()),
            )
            .hint("repeat the request after the time in the header Retry-After")
            .retry_after(seconds.clamp(1.0, 60.0) as u64));
        }
        state.waiting.push_back(job);
        drop(state);
        self.wake.notify_all();
        Ok(())
    }

    /// Lets the workers end when nothing waits.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// The next requests for a worker; `None` when the queue is closed and empty.
    fn next(&self) -> Option<Batch> {
        let mut state = self.lock();
        loop {
            state.waiting.retain(|job| !job.token.is_cancelled());
            let most_long = self.limits.workers.saturating_sub(1).max(1);
            let takes = |job: &Job| !job.task.is_long() || state.running_long < most_long;
            if let Some(at) = state.waiting.iter().position(takes) {
                let Some(first) = state.waiting.remove(at) else { continue };
                let is_long = first.task.is_long();
                state.running += 1;
                state.running_long += usize::from(is_long);
                let mut jobs = vec![first];
                state = self.gather(state, &mut jobs);
                let one_thread = state.running > 1 || !state.waiting.is_empty();
                return Some(Batch { jobs, is_long, one_thread });
            }
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds requests for the pass of the first one, and waits a little for those that are being received.
    fn gather<'q>(&self, mut state: MutexGuard<'q, State>, jobs: &mut Vec<Job>) -> MutexGuard<'q, State> {
        let Some(pass) = jobs[0].task.pass().cloned() else { return state };
        let until = Instant::now() + self.limits.batch_wait;
        loop {
            let mut at = 0;
            while jobs.len() < self.limits.batch && at < state.waiting.len() {
                if state.waiting[at].task.pass() == Some(&pass) {
                    jobs.extend(state.waiting.remove(at));
                } else {
                    at += 1;
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            let is_whole = jobs.len() >= self.limits.batch || self.receiving.load(Ordering::Relaxed) == 0;
            if is_whole || left.is_zero() || state.closed {
                return state;
            }
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes note that a worker is done.
    fn done(&self, is_long: bool, seconds: f64) {
        let mut state = self.lock();
        state.running -= 1;
        state.running_long -= usize::from(is_long);
        state.seconds += LATEST * (seconds - state.seconds);
        drop(state);
        self.wake.notify_all();
    }
}

/// A request that is being received.
pub(super) struct Receiving(Arc<Queue>);

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0.receiving.fetch_sub(1, Ordering::Relaxed);
        self.0.wake.notify_all();
    }
}

/// Starts the workers.
///
/// # Errors
/// Threads that cannot be started.
pub(super) fn start(service: &Arc<Service>) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let worker = |number: usize| {
        let service = Arc::clone(service);
        let own = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(move |_| format!("compute-{number}"))
            .build()?;
        let run = move || work(&service, &own);
        Ok(std::thread::Builder::new().name(format!("worker-{number}")).spawn(run)?)
    };
    (0..service.queue.limits.workers).map(worker).collect()
}

/// Computes requests until the queue is closed.
fn work(service: &Service, own: &rayon::ThreadPool) {
    while let Some(Batch { jobs, is_long, one_thread }) = service.queue.next() {
        let begun = Instant::now();
        let batch = jobs.len();
        let (tasks, replies): (Vec<Task>, Vec<_>) =
            jobs.into_iter().map(|job| (job.task, (job.token, job.reply, job.queued))).unzip();
        let compute = || match &tasks[..] {
            [task] => vec![alone(service, task, &replies[0].0)],
            tasks => {
                let tasks: Vec<&Task> = tasks.iter().collect();
                guarded(tasks.len(), || together(service, &tasks))
            }
        };
        // A pool of one thread runs everything of this request there; without it, parallel loops take all cores.
        let answers = if one_thread { own.install(compute) } else { compute() };
        service.queue.done(is_long, begun.elapsed().as_secs_f64() / batch as f64);
        for (answer, (_, reply, queued)) in answers.into_iter().zip(replies) {
            // Nobody listens any more where the client has gone.
            let _ = reply.send(Reply { answer, waited: begun.duration_since(queued), batch });
        }
    }
}

/// Computes one request until it is cancelled.
fn alone(service: &Service, task: &Task, token: &CancellationToken) -> Result<Vec<u8>, ApiError> {
    let computed = catch_unwind(AssertUnwindSafe(|| token.run(|| task.compute(service))));
    match computed {
        Ok(Ok(answer)) => answer,
        // Whoever cancelled it does not wait for an answer.
        Ok(Err(Cancelled)) => Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, "the request was cancelled")),
        Err(payload) => Err(fault(payload.as_ref())),
    }
}

/// The answers to `count` requests, or the same fault for each.
fn guarded(
    count: usize,
    compute: impl FnOnce() -> Vec<Result<Vec<u8>, ApiError>>,
) -> Vec<Result<Vec<u8>, ApiError>> {
    catch_unwind(AssertUnwindSafe(compute)).unwrap_or_else(|payload| vec![Err(fault(payload.as_ref())); count])
}

/// The error of a computation that panicked; its message is not answered, since it may hold data of another request.
fn fault(_: &(dyn Any + Send)) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the computation failed")
        .hint("please report this with the file, if it may be shared")
}
