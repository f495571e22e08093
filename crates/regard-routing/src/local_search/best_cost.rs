//! The best cost of a search that runs, for those who watch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lowest cost that searches have offered; clones share it. It has no influence on the searches.
///
/// ```
/// use regard_routing::local_search::BestCost;
///
/// let best = BestCost::default();
/// assert_eq!(best.get(), None);
/// [3.0, -1.0, 2.0].iter().for_each(|cost| best.clone().offer(*cost));
/// assert_eq!(best.get(), Some(-1.0));
/// ```
#[derive(Clone, Debug)]
pub struct BestCost {
    bits: Arc<AtomicU64>,
    /// Subtracted from what is offered.
    less: f64,
}

impl Default for BestCost {
    fn default() -> Self {
        Self { bits: Arc::new(AtomicU64::new(f64::INFINITY.to_bits())), less: 0.0 }
    }
}

impl BestCost {
    /// For a search whose costs are larger by so much.
    pub(super) fn less(&self, less: f64) -> Self {
        Self { bits: Arc::clone(&self.bits), less }
    }

    /// Keeps a cost when it is the lowest so far.
    pub fn offer(&self, cost: f64) {
        let cost = cost - self.less;
        let lower = |known: u64| (cost < f64::from_bits(known)).then(|| cost.to_bits());
        // Where it is not lower, there is nothing to do.
        let _ = self.bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    }

    /// The lowest cost; `None` before the first.
    #[must_use]
    pub fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.bits.load(Ordering::Relaxed))).filter(|cost| cost.is_finite())
    }
}
