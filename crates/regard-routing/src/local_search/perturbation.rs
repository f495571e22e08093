//! Perturbation: a small random change, repair of what it touched, and back if that was worse.
//!
//! The change is the double bridge of Martin, Otto and Felten, "Large-step Markov chains for the
//! traveling salesman problem", Complex Systems 5 (1991): three consecutive segments change to the
//! reverse order, which no sequential exchange of three edges takes back. The segments are short,
//! so that only a part of the tour is looked at again (Applegate, Cook and Rohe, "Chained
//! Lin-Kernighan for large traveling salesman problems", INFORMS Journal on Computing 15, 2003,
//! find such segment perturbations best for large instances).

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::{clock::Clock, directed::are_one, search::Search};

/// The longest segment that a perturbation moves.
const LONGEST: usize = 50;

impl Search<'_> {
    /// Perturbs, repairs and keeps what is not worse, `perturbations` times or until the clock stops.
    pub(super) fn perturb_and_repair(&mut self, perturbations: usize, random: &mut Pcg64Mcg, clock: &mut Clock) {
        for _ in 0..perturbations {
            if clock.is_over() {
                return;
            }
            self.tour.mark();
            let moves = self.moves;
            let lost = self.double_bridge(random);
            let gained = self.descend(|| false);
            if lost > gained + self.tolerance {
                self.tour.take_back();
                self.moves = moves;
            }
        }
    }

    /// Reverses the order of three consecutive segments, keeping their directions; returns by how
    /// much the tour got longer. The tour has at least five nodes.
    pub(super) fn double_bridge(&mut self, random: &mut Pcg64Mcg) -> f64 {
        let n = self.tour.len();
        let longest = LONGEST.min((n - 2) / 3);
        let mut start = random.random_range(0..n);
        let [mut a, mut b, mut c]: [usize; 3] = std::array::from_fn(|_| random.random_range(1..=longest));
        if self.has_entrances {
            // No entrance is torn from its exit.
            start += usize::from(are_one(self.tour.at(start), self.tour.at(start + 1)));
            [a, b, c] = [a, b, c].map(|length| (length / 2 * 2).max(2));
        }
        let cuts = [start, start + a, start + a + b, start + a + b + c];
        let before = cuts.map(|cut| self.tour.at(cut));
        let after = cuts.map(|cut| self.tour.at(cut + 1));
        let joined = [(0, 2), (3, 1), (2, 0), (1, 3)];
        let lost: f64 = (0..4).map(|cut| -self.distance(before[cut], after[cut])).sum::<f64>()
            + joined.map(|(from, to)| self.distance(before[from], after[to])).iter().sum::<f64>();
        let first = (start + 1) % n;
        self.tour.reverse(first, a + b + c);
        self.tour.reverse(first, c);
        self.tour.reverse((first + c) % n, b);
        self.tour.reverse((first + c + b) % n, a);
        for node in before.into_iter().chain(after) {
            self.queue.push(node);
        }
        lost
    }
}
