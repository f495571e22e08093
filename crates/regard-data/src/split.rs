//! Splits of examples, sets or graphs into those to train on and those to test with.
//!
//! A split is decided by its arguments alone: the same seed gives the same parts on every machine.

use crate::random::Draws;
use crate::{Error, Result};

/// Cuts `count` examples into `k` parts at random; sizes differ by at most 1. Each part is the test set of
/// one fold, in rising order; [`others`] are its training set.
///
/// # Errors
/// [`Error::Invalid`] when `k` is below 2 or above `count`.
///
/// ```
/// use regard_data::split::{folds, others};
///
/// let three = folds(7, 3, 42)?;
/// assert_eq!(three.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2, 2]);
/// assert_eq!(others(7, &three[0]).len(), 4);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn folds(count: usize, k: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    stratified_folds(&vec![0; count], k, seed)
}

/// Cuts examples of these classes into `k` parts at random, so that the parts' sizes differ by at most 1,
/// and so do their counts of any class.
///
/// # Errors
/// [`Error::Invalid`] when `k` is below 2 or above the number of examples.
pub fn stratified_folds(classes: &[usize], k: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    let count = classes.len();
    if k < 2 || k > count {
        let reason = match count {
            0 | 1 => format!("{count} examples cannot be cut, expected at least 2"),
            _ => format!("expected 2 to {count}, the number of examples"),
        };
        return Err(Error::invalid(format!("{k} folds"), reason));
    }
    let mut parts = vec![Vec::new(); k];
    // Dealing goes on where the class before it ended: that evens out both counts.
    for (place, example) in by_class(classes, seed).into_iter().flatten().enumerate() {
        parts[place % k].push(example);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    Ok(parts)
}

/// Cuts examples into `k` parts, all examples of a group in one part: the largest group goes to the smallest part, then
/// the next, groups of one size in a random order (as scikit-learn's `GroupKFold`, which has no such order).
///
/// # Errors
/// [`Error::Invalid`] when `k` is below 2 or above the number of groups.
///
/// ```
/// use regard_data::split::group_folds;
///
/// let parts = group_folds(&[7, 7, 7, 1, 1, 5], 2, 42)?;
/// assert_eq!(parts, [vec![0, 1, 2], vec![3, 4, 5]]);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn group_folds(groups: &[u64], k: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    let mut distinct = groups.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if k < 2 || k > distinct.len() {
        let reason = format!("expected 2 to {}, the number of groups", distinct.len());
        return Err(Error::invalid(format!("{k} folds"), reason));
    }
    let place = |group: &u64| distinct.partition_point(|other| other < group);
    let mut members = vec![Vec::new(); distinct.len()];
    groups.iter().enumerate().for_each(|(example, group)| members[place(group)].push(example));
    Draws::new(seed).shuffle(&mut members);
    members.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut parts = vec![Vec::new(); k];
    for group in members {
        let smallest = (0..k).min_by_key(|part| parts[*part].len()).unwrap_or(0);
        parts[smallest].extend(group);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    Ok(parts)
}

/// The examples of `0..count` that are not in `part`, in rising order.
#[must_use]
pub fn others(count: usize, part: &[usize]) -> Vec<usize> {
    let mut kept = vec![true; count];
    for at in part.iter().filter(|at| **at < count) {
        kept[*at] = false;
    }
    (0..count).filter(|at| kept[*at]).collect()
}

/// The seed of a repeat: the given one for the first, others for those after it.
#[must_use]
pub fn seed_of_repeat(seed: u64, repeat: usize) -> u64 {
    if repeat == 0 { seed } else { Draws::of_batch(seed, repeat as u64).bits() }
}

/// Examples to train on, and those held out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdout {
    /// In rising order.
    pub training: Vec<usize>,
    /// In rising order.
    pub held_out: Vec<usize>,
}

/// Holds out a share of the examples, of each class as nearly as integers allow: in all `count *
/// fraction`, rounded, and at least one on either side.
///
/// For examples without classes, give the same class for all.
///
/// # Errors
/// [`Error::Invalid`] when the fraction is not between 0 and 1, or there are fewer than two examples.
pub fn holdout(classes: &[usize], fraction: f64, seed: u64) -> Result<Holdout> {
    let count = classes.len();
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(Error::invalid(format!("fraction {fraction}"), "expected a number between 0 and 1"));
    }
    if count < 2 {
        return Err(Error::invalid(format!("{count} examples"), "cannot be split, expected at least 2"));
    }
    let wanted = ((count as f64 * fraction).round() as usize).clamp(1, count - 1);
    let groups = by_class(classes, seed);
    let exact: Vec<f64> = groups.iter().map(|group| group.len() as f64 * wanted as f64 / count as f64).collect();
    let mut shares: Vec<usize> = exact.iter().map(|share| share.floor() as usize).collect();
    // What is left goes to the classes with the largest remainders, the first of equals.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let left = wanted - shares.iter().sum::<usize>();
    for class in order.into_iter().take(left) {
        shares[class] += 1;
    }
    let mut held_out: Vec<usize> =
        groups.iter().zip(&shares).flat_map(|(group, share)| &group[..*share]).copied().collect();
    held_out.sort_unstable();
    Ok(Holdout { training: others(count, &held_out), held_out })
}

/// As [`holdout`], of the examples at these places alone, each with its class among those of all examples. A fraction of 0
/// holds nothing out.
///
/// # Errors
/// Those of [`holdout`].
pub fn holdout_of(places: &[usize], classes: &[usize], fraction: f64, seed: u64) -> Result<Holdout> {
    if fraction == 0.0 {
        return Ok(Holdout { training: places.to_vec(), held_out: vec![] });
    }
    let of: Vec<usize> = places.iter().map(|&place| classes[place]).collect();
    let Holdout { training, held_out } = holdout(&of, fraction, seed)?;
    let named = |of: Vec<usize>| of.into_iter().map(|at| places[at]).collect();
    Ok(Holdout { training: named(training), held_out: named(held_out) })
}

/// The examples of each class, shuffled.
fn by_class(classes: &[usize], seed: u64) -> Vec<Vec<usize>> {
    let mut distinct: Vec<usize> = classes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut draws = Draws::new(seed);
    let group = |class: &usize| {
        let mut examples: Vec<usize> = (0..classes.len()).filter(|&at| classes[at] == *class).collect();
        draws.shuffle(&mut examples);
        examples
    };
    distinct.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_never_change() {
        assert_eq!(folds(7, 3, 42).unwrap(), [vec![1, 2, 5], vec![0, 3], vec![4, 6]]);
        assert_eq!(holdout(&[0; 7], 0.3, 42).unwrap().held_out, [0, 5]);
        assert_eq!(seed_of_repeat(9, 1), 11_300_447_933_694_540_522);
        assert_ne!(folds(70, 3, 42).unwrap(), folds(70, 3, 43).unwrap());
        assert_eq!(seed_of_repeat(9, 0), 9);
        assert_ne!(seed_of_repeat(9, 1), seed_of_repeat(9, 2));
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let said = |count, k| folds(count, k, 1).unwrap_err().to_string();
        assert_eq!(said(7, 10), "10 folds: expected 2 to 7, the number of examples");
        assert_eq!(said(7, 1), "1 folds: expected 2 to 7, the number of examples");
        assert_eq!(said(1, 2), "2 folds: 1 examples cannot be cut, expected at least 2");
        let groups = group_folds(&[1, 1, 2], 3, 1).unwrap_err().to_string();
        assert_eq!(groups, "3 folds: expected 2 to 2, the number of groups");
        let said = |count, fraction| holdout(&vec![0; count], fraction, 1).unwrap_err().to_string();
        assert_eq!(said(5, 1.0), "fraction 1: expected a number between 0 and 1");
        assert_eq!(said(5, f64::NAN), "fraction NaN: expected a number between 0 and 1");
        assert_eq!(said(1, 0.5), "1 examples: cannot be split, expected at least 2");
    }

    #[test]
    fn a_share_of_each_class_is_held_out() {
        let classes: Vec<usize> = (0..100).map(|bag| usize::from(bag % 10 == 0)).collect();
        let split = holdout(&classes, 0.2, 5).unwrap();
        assert_eq!((split.held_out.len(), split.training.len()), (20, 80));
        assert_eq!(split.held_out.iter().filter(|bag| classes[**bag] == 1).count(), 2);
        assert_eq!(holdout(&[0, 0], 0.001, 1).unwrap().held_out.len(), 1);
        assert_eq!(holdout(&[0, 1], 0.999, 1).unwrap().training.len(), 1);
    }
}
