//! The ranks that `mpirun` started.

#[cfg(feature = "mpi")]
mod mpi;

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use regard::train::Ranks;

use crate::failure::{self, Failure};

/// The time that the first rank has to report an error that all ranks have.
const GRACE: Duration = Duration::from_secs(2);

/// Calls `run` with the ranks that were started. An error of one rank ends all of them.
pub(crate) fn together<R>(run: impl FnOnce(&Ranks) -> anyhow::Result<R>) -> anyhow::Result<R> {
    let ranks = connect()?;
    let _guard = EndOnPanic(&ranks);
    let done = ranks.enter(|| run(&ranks));
    if let Err(error) = &done
        && ranks.are_several()
        && !failure::is_broken_pipe(error)
    {
        if !ranks.is_first() {
            thread::sleep(GRACE);
            // If standard error is closed, there is nobody to inform.
            let _ = write!(io::stderr(), "rank {}: ", ranks.rank());
        }
        failure::print(error);
        ranks.abort(2);
    }
    done
}

/// Ends all ranks when one of them panics: the others would wait for it.
struct EndOnPanic<'a>(&'a Ranks);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort(101);
        }
    }
}

#[cfg(feature = "mpi")]
fn connect() -> anyhow::Result<Ranks> {
    /// Seconds for which a rank waits for another one.
    const TIMEOUT: &str = "REGARD_RANK_TIMEOUT";
    const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
    if !regard::train::ranks::launched() {
        return Ok(Ranks::default());
    }
    let limit = match std::env::var(TIMEOUT) {
        Err(_) => DEFAULT_TIMEOUT,
        Ok(text) => {
            let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
            let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            limit.ok_or_else(|| Failure::new(format!("{TIMEOUT} is `{text}`; expected seconds above 0")))?
        }
    };
    Ok(mpi::start(limit, |error| failure::print(&error.into()))?)
}

#[cfg(not(feature = "mpi"))]
fn connect() -> anyhow::Result<Ranks> {
    let sizes = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].map(|name| std::env::var(name).ok()?.parse::<usize>().ok());
    match sizes.into_iter().flatten().max() {
        Some(size) if size > 1 => {
            let what = format!("`mpirun` started {size} ranks, but this program was built without MPI");
            Err(Failure::new(what).hint("build it with `cargo build --release --features mpi`").into())
        }
        _ => Ok(Ranks::default()),
    }
}
