//! The progress of work that has no other way to tell it: a large file is read before a training begins.
//!
//! As with a [cancellation token](crate::cancel), the watcher is of the thread and not an argument. Work that is not
//! watched says nothing.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use crate::cancel::with_current;

/// The amount of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The file.
    pub path: &'a Path,
    /// Bytes that were read.
    pub done: u64,
    /// Bytes of the file.
    pub size: u64,
}

type Watcher = Rc<dyn Fn(Reading<'_>)>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Computes and calls `watcher` with the progress.
///
/// ```
/// use regard_data::progress::{Reading, report, watched};
/// use std::path::Path;
///
/// let reading = Reading { path: Path::new("a.csv"), done: 1, size: 2 };
/// assert_eq!(watched(move |now| assert_eq!(now, reading), || { report(reading); 7 }), 7);
/// ```
pub fn watched<T>(watcher: impl Fn(Reading<'_>) + 'static, compute: impl FnOnce() -> T) -> T {
    with_current(&WATCHER, Some(Rc::new(watcher)), compute)
}

/// Calls the watcher of this thread, where there is one.
pub fn report(reading: Reading<'_>) {
    let watcher = WATCHER.with_borrow(Clone::clone);
    if let Some(watcher) = watcher {
        watcher(reading);
    }
}
