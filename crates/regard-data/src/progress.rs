//! The progress of work that has no other way to tell it: a large file is read, or base learners are fitted, before a
//! training begins.
//!
//! As with a [cancellation token](crate::cancel), the watcher is of the thread and not an argument. Work that is not
//! watched says nothing.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use crate::cancel::with_current;

/// The amount of some work that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage<'a> {
    /// A file is read.
    Reading {
        /// The file.
        path: &'a Path,
        /// Bytes that were read.
        done: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// Base learners are fitted to one task.
    Fitting {
        /// Learners that were fitted.
        done: usize,
        /// All of them.
        of: usize,
    },
}

type Watcher = Rc<dyn Fn(Stage<'_>)>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Computes and calls `watcher` with the progress.
///
/// ```
/// use regard_data::progress::{Stage, report, watched};
///
/// let fitting = Stage::Fitting { done: 1, of: 2 };
/// assert_eq!(watched(move |now| assert_eq!(now, fitting), || { report(fitting); 7 }), 7);
/// ```
pub fn watched<T>(watcher: impl Fn(Stage<'_>) + 'static, compute: impl FnOnce() -> T) -> T {
    with_current(&WATCHER, Some(Rc::new(watcher)), compute)
}

/// Calls the watcher of this thread, where there is one.
pub fn report(stage: Stage<'_>) {
    let watcher = WATCHER.with_borrow(Clone::clone);
    if let Some(watcher) = watcher {
        watcher(stage);
    }
}
