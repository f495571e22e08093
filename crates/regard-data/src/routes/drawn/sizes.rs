//! Capacities, lengths and penalties by the number of customers.

/// Capacities by customers: 10, 20, 50 and 100 of the paper (after M. Nazari et al.,
/// "Reinforcement learning for solving the vehicle routing problem", 2018), the others as RL4CO
/// has them (after A. Hottung et al., 2022, and M. Kim et al., 2023).
const CAPACITIES: [(usize, u32); 14] = [
    (10, 20),
    (15, 25),
    (20, 30),
    (30, 33),
    (40, 37),
    (50, 40),
    (60, 43),
    (75, 45),
    (100, 50),
    (125, 55),
    (150, 60),
    (200, 70),
    (500, 100),
    (1000, 150),
];

/// Longest tours by customers, as in the paper.
const LENGTHS: [(usize, f64); 3] = [(20, 2.0), (50, 3.0), (100, 4.0)];

/// Capacity of a vehicle for `n` customers with demands from 1 to 9, in units of goods.
///
/// 20, 30, 40, 50 for 10, 20, 50, 100 customers as in the paper, and RL4CO's capacities for its
/// other sizes up to 1000. Between these sizes it lies on the line, rounded; below 10 customers it
/// stays 20, and above 1000 it grows by 1 with every 10 customers.
#[must_use]
pub fn capacity(n: usize) -> u32 {
    let [(first, least), .., (last, most)] = CAPACITIES;
    if n <= first {
        return least;
    }
    if n >= last {
        return most.saturating_add(u32::try_from((n - last) / 10).unwrap_or(u32::MAX));
    }
    let upper = CAPACITIES.partition_point(|(size, _)| *size < n);
    let [(low, below), (high, above)] = [CAPACITIES[upper - 1], CAPACITIES[upper]];
    let share = (n - low) as f64 / (high - low) as f64;
    (f64::from(below) + share * f64::from(above - below)).round() as u32
}

/// Length of the longest tour of orienteering among `n` customers in the unit square, about half
/// an optimal tour through all of them.
///
/// 2, 3, 4 for 20, 50, 100 customers as in the paper, on the line between these sizes, and with
/// the square root of `n` outside them, as optimal tours grow (J. Beardwood, J. H. Halton,
/// J. M. Hammersley, "The shortest path through many points", 1959).
#[must_use]
pub fn max_length(n: usize) -> f64 {
    let [(first, least), .., (last, most)] = LENGTHS;
    let grown = |length: f64, size: usize| length * (n as f64 / size as f64).sqrt();
    if n <= first {
        return grown(least, first);
    }
    if n >= last {
        return grown(most, last);
    }
    let upper = LENGTHS.partition_point(|(size, _)| *size < n);
    let [(low, below), (high, above)] = [LENGTHS[upper - 1], LENGTHS[upper]];
    below + (above - below) * ((n - low) as f64 / (high - low) as f64)
}

/// The largest penalty of prize collecting among `n` customers: three times
/// [`max_length`] over `n`, so that all penalties together come to about a tour's length.
#[must_use]
pub fn largest_penalty(n: usize) -> f64 {
    max_length(n) * 3.0 / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_the_paper_have_its_values() {
        assert_eq!([10, 20, 50, 100].map(capacity), [20, 30, 40, 50]);
        assert_eq!([20, 50, 100].map(max_length), [2.0, 3.0, 4.0]);
        assert_eq!([20, 50, 100].map(largest_penalty), [6.0 / 20.0, 9.0 / 50.0, 12.0 / 100.0]);
    }

    #[test]
    fn other_sizes_lie_between_and_beyond() {
        assert_eq!([0, 1, 12, 350, 1000, 1010, 2000].map(capacity), [20, 20, 22, 85, 150, 151, 250]);
        assert_eq!(capacity(usize::MAX), u32::MAX);
        assert_eq!([5, 35, 75, 400].map(max_length), [1.0, 2.5, 3.5, 8.0]);
        assert!((1..2000).all(|n| capacity(n) <= capacity(n + 1) && max_length(n) < max_length(n + 1)));
    }
}
