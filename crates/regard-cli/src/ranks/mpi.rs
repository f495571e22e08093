//! Ranks that MPI connects. The only file that uses it, and of it only sending and receiving.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading, processor_name};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{Destination, Source};
use regard::train::ranks::{Ranks, Transport};
use regard::{Error, Result};

/// Time between two looks at the time limit.
const LOOK: Duration = Duration::from_millis(100);

/// Connects the ranks that a launcher such as `mpirun` started. `silent` gets the error when a rank is waited for longer
/// than `limit`, and the process ends after it: MPI has no way to give up a message.
///
/// # Errors
/// [`Error::Unsupported`] for an MPI library that is initialised already, or has no support for threads.
pub(super) fn start(limit: Duration, silent: impl Fn(Error) + Send + 'static) -> Result<Ranks> {
    let refuse = |reason: &str| Error::Unsupported { what: "MPI".into(), reason: reason.into() };
    let started = initialize_with_threading(Threading::Funneled);
    let (universe, threading) = started.ok_or_else(|| refuse("is initialised already"))?;
    if threading < Threading::Funneled {
        return Err(refuse("the library has no support for programs with threads"));
    }
    let wait: Arc<Mutex<Option<Wait>>> = Arc::default();
    let watched = Arc::downgrade(&wait);
    thread::spawn(move || watch(&watched, silent));
    Ok(Ranks::new(World { world: universe.world(), limit, wait, waited: Cell::default(), _universe: universe }))
}

/// The other rank of a message under way.
struct Wait {
    rank: usize,
    begun: Instant,
    limit: Duration,
}

/// Ends the process when a message takes too long; this thread calls nothing of MPI.
fn watch(wait: &Weak<Mutex<Option<Wait>>>, silent: impl Fn(Error)) {
    while let Some(wait) = wait.upgrade() {
        if let Some(Wait { rank, begun, limit }) = &*wait.lock().unwrap_or_else(PoisonError::into_inner)
            && begun.elapsed() >= *limit
        {
            let reason = format!("no message for {} s", limit.as_secs_f64().round());
            let error = Error::Unsupported { what: format!("rank {rank}"), reason };
            silent(error.with_hint("it is slow or does not answer; REGARD_RANK_TIMEOUT=SECONDS sets another limit"));
            std::process::exit(2);
        }
        drop(wait);
        thread::sleep(LOOK);
    }
}

/// All ranks of the launcher.
struct World {
    world: SimpleCommunicator,
    limit: Duration,
    wait: Arc<Mutex<Option<Wait>>>,
    /// The time of all messages so far.
    waited: Cell<Duration>,
    /// Ends MPI when it is dropped, after all that uses it.
    _universe: Universe,
}

impl World {
    /// Calls `run`, which needs `rank`, under the time limit.
    fn limited<R>(&self, rank: usize, patience: f64, run: impl FnOnce() -> R) -> R {
        let set = |wait| *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = wait;
        let begun = Instant::now();
        set(Some(Wait { rank, begun, limit: self.limit.mul_f64(patience) }));
        let found = run();
        set(None);
        self.waited.set(self.waited.get() + begun.elapsed());
        found
    }
}

impl Transport for World {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn machine(&self) -> String {
        processor_name().unwrap_or_default()
    }

    fn send(&self, to: usize, message: &[u8]) {
        // A large message waits for its receiver, which may wait for a silent rank itself.
        self.limited(to, 3.0, || self.world.process_at_rank(to as i32).send(message));
    }

    fn receive(&self, from: usize, patience: f64) -> Vec<u8> {
        self.limited(from, patience, || self.world.process_at_rank(from as i32).receive_vec::<u8>().0)
    }

    fn waited(&self) -> Duration {
        self.waited.get()
    }

    fn abort(&self, code: u8) {
        self.world.abort(i32::from(code))
    }
}
