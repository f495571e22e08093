//! The test sets of the Attention Model paper (W. Kool, H. van Hoof, M. Welling, "Attention, learn
//! to solve routing problems!", 2019), drawn again bit for bit.
//!
//! Every set has [`INSTANCES`] instances from numpy's legacy generator seeded with [`TEST_SEED`],
//! rounded to `f32` as the paper's data set classes do. Sizes other than the paper's are drawn the
//! same way, with the constants of [`super::drawn`].

mod names;
mod problems;

pub use names::PaperSet;
pub use problems::{cvrp_set, orienteering_set, prize_collecting_set};

use crate::random::NumpyLegacy;
use crate::{Error, Result};

/// Seed of the paper's test sets.
pub const TEST_SEED: u32 = 1234;

/// Instances in each of the paper's sets.
pub const INSTANCES: usize = 10_000;

/// The most points one call gives (1 GiB of coordinates).
const MOST_POINTS: usize = 1 << 27;

/// The paper's test set by name, `[instances, n, 2]`: "tsp20", "tsp50", "tsp100", or any other
/// size made the same way ("tsp37"); with `limit`, only its first instances.
///
/// [`PaperSet`] knows the names of the other problems' sets.
///
/// # Errors
/// [`Error::Invalid`] when there is no set of that name or it would be too large for memory.
///
/// ```
/// let set = regard_data::routes::paper::test_set("tsp20", Some(1))?;
/// assert_eq!(set[0][0], [0.19151945, 0.62210877]);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn test_set(name: &str, limit: Option<usize>) -> Result<Vec<Vec<[f32; 2]>>> {
    let Ok(PaperSet::Tsp { n }) = PaperSet::parse(name) else {
        let reason = "no such set; expected tsp20, tsp50, tsp100 or another tspN with N at least 1";
        return Err(Error::invalid(format!("paper set `{name}`"), reason));
    };
    let instances = limit.unwrap_or(INSTANCES).min(INSTANCES);
    if n.checked_mul(instances.max(1)).is_none_or(|points| points > MOST_POINTS) {
        let reason =
            format!("{instances} instances of {n} nodes are more than {MOST_POINTS} points; give a lower limit");
        return Err(Error::invalid(format!("paper set `{name}`"), reason));
    }
    Ok(uniform(TEST_SEED, instances, n))
}

/// Uniform instances as the paper's `generate_tsp_data` draws them with numpy's legacy generator,
/// rounded to `f32` as its data set class does: `[instances, n, 2]`.
#[must_use]
pub fn uniform(seed: u32, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    let mut random = NumpyLegacy::new(seed);
    let mut coordinate = || random.uniform() as f32;
    (0..instances).map(|_| (0..n).map(|_| [coordinate(), coordinate()]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_prefixes_of_one_another() {
        let two = test_set("tsp7", Some(2)).unwrap();
        assert_eq!(two[..1], test_set("tsp7", Some(1)).unwrap());
        assert_eq!(test_set("tsp1", None).unwrap().len(), INSTANCES);
        assert_eq!(test_set("tsp1", Some(20_000)).unwrap().len(), INSTANCES);
        assert!(test_set("tsp5", Some(0)).unwrap().is_empty());
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "tsp", "tsp0", "tsp-5", "tsp+5", "cvrp20", "TSP20", "tsp2x", "tsp99999999999999999999"] {
            let error = test_set(name, None).unwrap_err().to_string();
            assert!(error.contains("expected tsp20"), "{name}: {error}");
        }
        let error = test_set("tsp4000000000", None).unwrap_err().to_string();
        assert!(error.contains("lower limit"), "{error}");
    }
}
