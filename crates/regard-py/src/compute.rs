//! Calls into the library without the interpreter's lock, after which panics and signals are exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::failure::{ComputeError, panicked, with_hint};

/// Signals are looked at so often while a call computes.
const LOOK: Duration = Duration::from_millis(50);

/// The process that computed first; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// What becomes of a call that Ctrl-C interrupts.
pub(crate) enum OnInterrupt {
    /// The exception is raised at once; the computation ends in its own thread, and its result is dropped.
    Leave,
    /// The flag is set, and the exception is raised when the computation has ended.
    Wait(Arc<AtomicBool>),
}

/// Refuses to compute in a fork of a process that has computed: the threads of its pool do not exist there, and a call
/// would wait for them for ever.
fn check_process() -> PyResult<()> {
    let own = std::process::id();
    match PROCESS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != own => Err(with_hint::<ComputeError>(
            "this process was forked from one in which regard had computed, whose threads it does not have",
            Some(
                "start workers by multiprocessing.get_context(\"spawn\") or by joblib, or fork before the first call of \
                 regard",
            ),
        )),
        _ => Ok(()),
    }
}

/// If true, regard has computed in this process.
pub(crate) fn has_computed() -> bool {
    PROCESS.load(Ordering::Relaxed) != 0
}

/// Computes something short; Ctrl-C waits for it.
pub(crate) fn short<T: Send>(py: Python<'_>, call: impl FnOnce() -> T + Send) -> PyResult<T> {
    check_process()?;
    py.detach(|| catch_unwind(AssertUnwindSafe(call))).map_err(|cause| panicked(&*cause))
}

/// Computes something in a thread of its own, while this one looks at signals.
pub(crate) fn long<T: Send + 'static>(
    py: Python<'_>,
    interrupt: OnInterrupt,
    call: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    check_process()?;
    let (sender, receiver) = channel::<Result<T, Box<dyn Any + Send>>>();
    std::thread::Builder::new()
        .name("regard".into())
        .spawn(move || {
            // Nobody listens to a call that was left.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(call)));
        })
        .map_err(|error| with_hint::<ComputeError>(&format!("cannot start a thread: {error}"), None))?;
    let (mut receiver, mut pending) = (receiver, None);
    loop {
        let received;
        // A receiver may move to where the lock is not held, but not be shared with it.
        (received, receiver) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
        match received {
            Ok(Ok(_)) if pending.is_some() => break,
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(cause)) => return Err(panicked(&*cause)),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(signal) = py.check_signals() {
            match &interrupt {
                OnInterrupt::Leave => return Err(signal),
                OnInterrupt::Wait(flag) => {
                    flag.store(true, Ordering::Relaxed);
                    pending.get_or_insert(signal);
                }
            }
        }
    }
    Err(pending.unwrap_or_else(|| with_hint::<ComputeError>("the computation ended without a result", None)))
}
