//! Cancelling a computation from outside: whoever asked for it has gone, or its time is over.
//!
//! A computation runs under a [`CancellationToken`] and looks at it where it could end. A search ends with what it has
//! ([`is_cancelled`]); what has no answer before its end unwinds from there to [`CancellationToken::run`] ([`check`]), as
//! incremental compilers do.
//!
//! The token is of the thread and not an argument, because an argument would stand in the signature of every search and
//! every network for the sake of a rare use. A thread that a computation starts does not know of it unless it takes
//! [`CancellationToken::current`] along.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;
use std::time::{Duration, Instant};

/// A switch that ends a computation, which many threads can hold.
///
/// ```
/// use regard_data::cancel::{CancellationToken, Cancelled, check};
///
/// let token = CancellationToken::default();
/// assert_eq!(token.run(|| { check(); 7 }), Ok(7));
/// token.cancel();
/// assert_eq!(token.run(|| { check(); 7 }), Err(Cancelled));
/// // No token is current: nothing happens.
/// check();
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancellationToken {
    switch: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

/// A computation was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the computation was cancelled")
    }
}

impl std::error::Error for Cancelled {}

thread_local! {
    static CURRENT: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

impl CancellationToken {
    /// Asks the computation to end.
    pub fn cancel(&self) {
        self.switch.store(true, Ordering::Relaxed);
    }

    /// The same switch for a computation that also ends at this time, or at an earlier one that it has already.
    ///
    /// ```
    /// use std::time::Instant;
    /// use regard_data::cancel::{CancellationToken, Cancelled, check};
    ///
    /// let late = CancellationToken::default().until(Some(Instant::now()));
    /// assert_eq!(late.run(check), Err(Cancelled));
    /// ```
    #[must_use]
    pub fn until(&self, deadline: Option<Instant>) -> Self {
        let deadline = self.deadline.into_iter().chain(deadline).min();
        Self { switch: self.flag(), deadline }
    }

    /// If true, it was asked to end, or its time is over.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// If true, it was asked to end, or its time is over before so long.
    fn ends_within(&self, time: Duration) -> bool {
        let late = |deadline: Instant| deadline.saturating_duration_since(Instant::now()) <= time;
        self.switch.load(Ordering::Relaxed) || self.deadline.is_some_and(late)
    }

    /// The switch itself, for what takes one.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.switch)
    }

    /// The token that this thread computes under.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Computes under this token.
    ///
    /// # Errors
    /// [`Cancelled`] where the computation unwound because of it.
    pub fn run<T>(&self, compute: impl FnOnce() -> T) -> Result<T, Cancelled> {
        let computed = catch_unwind(AssertUnwindSafe(|| run_under(Some(self.clone()), compute)));
        computed.or_else(|payload| if payload.is::<Cancelled>() { Err(Cancelled) } else { resume_unwind(payload) })
    }
}

/// Computes under a token, or under none.
pub fn run_under<T>(token: Option<CancellationToken>, compute: impl FnOnce() -> T) -> T {
    with_current(&CURRENT, token, compute)
}

/// Computes while a value of this thread is another one, and restores what was there before, also when the computation
/// panics.
pub(crate) fn with_current<V: 'static, T>(
    current: &'static LocalKey<RefCell<Option<V>>>,
    value: Option<V>,
    compute: impl FnOnce() -> T,
) -> T {
    struct Restore<V: 'static>(&'static LocalKey<RefCell<Option<V>>>, Option<V>);
    impl<V> Drop for Restore<V> {
        fn drop(&mut self) {
            self.0.with_borrow_mut(|current| std::mem::swap(current, &mut self.1));
        }
    }
    let _restore = Restore(current, current.replace(value));
    compute()
}

/// If true, the computation of this thread was cancelled.
#[must_use]
pub fn is_cancelled() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(CancellationToken::is_cancelled))
}

/// Unwinds to [`CancellationToken::run`] if the computation of this thread was cancelled.
pub fn check() {
    check_before(Duration::ZERO);
}

/// As [`check`], before a part of the computation that takes so long and cannot end earlier.
pub fn check_before(time: Duration) {
    if CURRENT.with_borrow(|current| current.as_ref().is_some_and(|token| token.ends_within(time))) {
        resume_unwind(Box::new(Cancelled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_of_its_computation_alone() {
        let (outer, inner) = (CancellationToken::default(), CancellationToken::default());
        inner.cancel();
        let found = outer.run(|| {
            assert_eq!(inner.run(check), Err(Cancelled));
            assert!(!is_cancelled());
            let token = CancellationToken::current();
            outer.cancel();
            let other = std::thread::spawn(move || (is_cancelled(), run_under(token, is_cancelled)));
            other.join().unwrap()
        });
        assert_eq!(found, Ok((false, true)));
        assert!(!is_cancelled() && CancellationToken::current().is_none());
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let token = CancellationToken::default();
        let caught = catch_unwind(AssertUnwindSafe(|| token.run(|| panic!("a fault"))));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"a fault"));
    }
}
