//! Gradient boosting of trees on histograms (J. Friedman, "Greedy function approximation", 2001; leaf-wise growth as in
//! G. Ke and others, "LightGBM", 2017).

use rayon::prelude::*;
use regard_data::cancel::{CancellationToken, run_under};
use regard_data::random::Draws;
use regard_data::split::others;
use regard_data::{Error, Result, cancel};
use serde::{Deserialize, Serialize};

use super::Target;
use super::bins::{Bins, MISSING};
use super::calibration::probabilities;
use super::linear::least;
use super::sample::Sample;
use super::tree::Tree;

/// The settings of gradient boosting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostingConfig {
    /// The most rounds; how many are kept is decided by inner folds.
    pub rounds: usize,
    /// The share of each tree that is added.
    pub learning_rate: f64,
    /// The most leaves of a tree.
    pub leaves: usize,
    /// The least number of rows at a leaf; at most a twentieth of all rows is asked for.
    pub min_leaf: usize,
    /// The penalty of squared leaf values.
    pub l2: f64,
    /// The share of rows that a round sees.
    pub row_share: f64,
    /// The share of columns that a tree sees.
    pub column_share: f64,
    /// The rounds without a better loss in inner folds after which no more are tried.
    pub patience: usize,
}

impl Default for BoostingConfig {
    fn default() -> Self {
        Self {
            rounds: 400,
            learning_rate: 0.08,
            leaves: 24,
            min_leaf: 10,
            l2: 1.0,
            row_share: 0.8,
            column_share: 0.4,
            patience: 30,
        }
    }
}

/// Fitted boosted trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Boosted {
    /// The values before the first tree, one an output.
    base: Vec<f64>,
    /// Round by round, one tree an output.
    trees: Vec<Tree>,
    classes: usize,
}

impl BoostingConfig {
    pub(crate) fn fit(&self, sample: &Sample) -> Result<Boosted> {
        let bins = sample.prepared.coarse_bins();
        if bins.columns.is_empty() {
            return Err(Error::invalid("boosting", "every column is constant"));
        }
        let rounds = self.choose_rounds(sample, bins)?;
        let everything: Vec<usize> = (0..sample.rows()).collect();
        let mut run = Run::new(self, sample, bins, everything, 0);
        (0..rounds).for_each(|_| run.round(&[]));
        Ok(run.finish())
    }

    /// The rounds of the least mean loss over inner folds; fewer folds are run where there are many examples.
    fn choose_rounds(&self, sample: &Sample, bins: &Bins) -> Result<usize> {
        let folds = sample.folds(if sample.examples < 3000 { 4 } else { 5 })?;
        let used = match sample.examples {
            0..600 => folds.len(),
            600..3000 => 2,
            _ => 1,
        };
        let curve = |at: usize| {
            let fold = &folds[at];
            let mut run = Run::new(self, sample, bins, others(sample.rows(), fold), at as u64 + 1);
            let mut losses = vec![run.loss(fold)];
            let mut best = 0;
            while losses.len() <= self.rounds && losses.len() <= best + self.patience {
                run.round(fold);
                losses.push(run.loss(fold));
                if losses[losses.len() - 1] < losses[best] {
                    best = losses.len() - 1;
                }
            }
            losses
        };
        let token = CancellationToken::current();
        let curve = |at: usize| run_under(token.clone(), || curve(at));
        let curves: Vec<Vec<f64>> = (0..used.min(folds.len())).into_par_iter().map(curve).collect();
        let longest = curves.iter().map(Vec::len).max().unwrap_or(0);
        // A fold that stopped early keeps its last loss.
        let loss = |round: usize| curves.iter().map(|curve| curve[round.min(curve.len() - 1)]).sum::<f64>();
        let losses: Vec<f64> = (0..longest).map(loss).collect();
        // More rows carry a few more rounds than the folds had.
        least(&losses)
            .map(|best| best + best / 10)
            .ok_or_else(|| Error::invalid("boosting", "no round gives a finite loss"))
    }
}

/// A leaf of a tree that grows.
struct Leaf {
    node: usize,
    /// Its rows in `Run::order`.
    from: usize,
    to: usize,
    gradient: f64,
    hessian: f64,
    sums: Vec<[f64; 2]>,
    best: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    gain: f64,
    column: usize,
    code: u8,
    missing_left: bool,
}

/// The state of boosting some rows of a sample.
struct Run<'a> {
    config: &'a BoostingConfig,
    sample: &'a Sample<'a>,
    bins: &'a Bins,
    rows: Vec<usize>,
    draws: Draws,
    base: Vec<f64>,
    /// `[rows of the sample, width]`
    values: Vec<f64>,
    trees: Vec<Tree>,
    width: usize,
    classes: usize,
    min_leaf: f64,
}

impl<'a> Run<'a> {
    fn new(config: &'a BoostingConfig, sample: &'a Sample, bins: &'a Bins, rows: Vec<usize>, stream: u64) -> Self {
        let target = sample.target.of(&rows);
        let weights: Vec<f64> = rows.iter().map(|row| sample.weights[*row]).collect();
        let prior = target.prior(&weights);
        let (base, classes) = match &target {
            Target::Numbers(_) => (prior, 0),
            Target::Classes { count: 2, .. } => (vec![(prior[1] / prior[0]).ln()], 2),
            Target::Classes { count, .. } => (prior.iter().map(|p| p.ln()).collect(), *count),
        };
        let width = base.len();
        let values = (0..sample.rows()).flat_map(|_| base.iter().copied()).collect();
        let min_leaf = config.min_leaf.min(rows.len() / 20).max(2) as f64;
        let draws = Draws::of_batch(sample.seed, stream.wrapping_add(1 << 32));
        Self { config, sample, bins, rows, draws, base, values, trees: Vec::new(), width, classes, min_leaf }
    }

    fn predictions(&self, rows: &[usize]) -> Vec<f64> {
        let outputs = self.sample.target.outputs();
        let mut predictions = vec![0.0; rows.len() * outputs];
        for (row, prediction) in rows.iter().zip(predictions.chunks_mut(outputs)) {
            let values = &self.values[row * self.width..(row + 1) * self.width];
            if self.classes == 0 {
                prediction.copy_from_slice(values);
            } else {
                probabilities(values, prediction);
            }
        }
        predictions
    }

    fn loss(&self, rows: &[usize]) -> f64 {
        self.sample.loss(rows, &self.predictions(rows))
    }

    /// Adds a tree for each output; values are kept up to date for the rows that are trained on and those watched.
    fn round(&mut self, watched: &[usize]) {
        cancel::check();
        let predictions = self.predictions(&self.rows);
        let outputs = self.sample.target.outputs();
        let seen: Vec<usize> = if self.config.row_share < 1.0 {
            let share = self.config.row_share;
            (0..self.rows.len()).filter(|_| self.draws.unit() < share).collect()
        } else {
            (0..self.rows.len()).collect()
        };
        let columns = self.columns();
        for output in 0..self.width {
            let slope = |at: &usize| {
                let row = self.rows[*at];
                let weight = self.sample.weights[row];
                let p = &predictions[at * outputs..(at + 1) * outputs];
                let (gradient, hessian) = match &self.sample.target {
                    Target::Numbers(numbers) => (p[0] - numbers[row], 1.0),
                    Target::Classes { of, count } => {
                        let class = if *count == 2 { 1 } else { output };
                        let factor = if *count == 2 { 1.0 } else { *count as f64 / (*count as f64 - 1.0) };
                        let p = p[class];
                        (p - f64::from(u8::from(of[row] == class)), (factor * p * (1.0 - p)).max(1e-12))
                    }
                };
                RowGradient {
                    place: self.sample.places[row] as u32,
                    gradient: weight * gradient,
                    hessian: weight * hessian,
                }
            };
            let mut order: Vec<RowGradient> = seen.iter().map(slope).collect();
            let tree = self.tree(&mut order, &columns);
            let view = self.sample.prepared.view;
            for row in self.rows.iter().chain(watched) {
                let features = view.row(self.sample.prepared.rows[self.sample.places[*row]]);
                self.values[row * self.width + output] += f64::from(tree.predict(features)[0]);
            }
            self.trees.push(tree);
        }
    }

    /// The columns of one round, in rising order.
    fn columns(&mut self) -> Columns {
        let count = self.bins.columns.len();
        let wanted = ((count as f64 * self.config.column_share).ceil() as usize).max(8).min(count);
        let mut order: Vec<usize> = (0..count).collect();
        if wanted < count {
            for at in 0..wanted {
                let other = at + self.draws.index(count - at);
                order.swap(at, other);
            }
            order.truncate(wanted);
            order.sort_unstable();
        }
        let mut columns = Columns { at: order, starts: Vec::new(), total: 0, places: vec![NOWHERE; self.bins.total] };
        for at in &columns.at {
            let column = &self.bins.columns[*at];
            columns.starts.push(columns.total);
            for bin in 0..column.count {
                columns.places[column.start + bin] = (columns.total + bin) as u32;
            }
            columns.total += column.count;
        }
        columns
    }

    fn tree(&self, order: &mut [RowGradient], columns: &Columns) -> Tree {
        let mut tree = Tree::new(1);
        let mut sums = Vec::new();
        self.histogram(order, columns, &mut sums);
        let mut leaves = vec![self.leaf(0, 0, order, sums, columns)];
        let mut right_side = Vec::new();
        while leaves.len() < self.config.leaves.max(2) {
            let gain = |leaf: &Leaf| leaf.best.map_or(0.0, |best| best.gain);
            let Some(widest) = (0..leaves.len())
                .filter(|at| gain(&leaves[*at]) > 0.0)
                .max_by(|a, b| gain(&leaves[*a]).total_cmp(&gain(&leaves[*b])).then(b.cmp(a)))
            else {
                break;
            };
            let leaf = leaves.swap_remove(widest);
            let Some(split) = leaf.best else { break };
            let column = &self.bins.columns[split.column];
            let part = &mut order[leaf.from..leaf.to];
            let mut end = 0;
            right_side.clear();
            for at in 0..part.len() {
                let seen = part[at];
                let code = column.codes[seen.place as usize];
                if if code == MISSING { split.missing_left } else { code <= split.code } {
                    part[end] = seen;
                    end += 1;
                } else {
                    right_side.push(seen);
                }
            }
            part[end..].copy_from_slice(&right_side);
            let threshold = column.cuts.get(split.code as usize).copied().unwrap_or(f32::MAX);
            let left = tree.split(leaf.node, column.at, threshold, split.missing_left);
            // The sums of the smaller side are counted; those of the other are what is left.
            let middle = leaf.from + end;
            let left_is_smaller = end * 2 <= leaf.to - leaf.from;
            let (from, to) = if left_is_smaller { (leaf.from, middle) } else { (middle, leaf.to) };
            let mut smaller = Vec::new();
            self.histogram(&order[from..to], columns, &mut smaller);
            let mut larger = leaf.sums;
            for (sum, less) in larger.iter_mut().zip(&smaller) {
                sum[0] -= less[0];
                sum[1] -= less[1];
            }
            let (of_left, of_right) = if left_is_smaller { (smaller, larger) } else { (larger, smaller) };
            leaves.push(self.leaf(left, leaf.from, &order[leaf.from..middle], of_left, columns));
            leaves.push(self.leaf(left + 1, middle, &order[middle..leaf.to], of_right, columns));
        }
        for leaf in &leaves {
            let value = -leaf.gradient / (leaf.hessian + self.config.l2) * self.config.learning_rate;
            tree.leaf(leaf.node, [value as f32]);
        }
        tree
    }

    fn leaf(&self, node: usize, from: usize, rows: &[RowGradient], sums: Vec<[f64; 2]>, columns: &Columns) -> Leaf {
        let gradient = rows.iter().map(|seen| seen.gradient).sum();
        let hessian = rows.iter().map(|seen| seen.hessian).sum();
        let mut leaf = Leaf { node, from, to: from + rows.len(), gradient, hessian, sums, best: None };
        if rows.len() as f64 >= 2.0 * self.min_leaf {
            leaf.best = self.best_split(&leaf, columns);
        }
        leaf
    }

    /// Sums of gradients and second derivatives in each bin; those of the common bin of sparse columns are not filled.
    fn histogram(&self, rows: &[RowGradient], columns: &Columns, sums: &mut Vec<[f64; 2]>) {
        sums.clear();
        sums.resize(columns.total, [0.0; 2]);
        for seen in rows {
            let place = seen.place as usize;
            for entry in &self.bins.entries[self.bins.starts[place]..self.bins.starts[place + 1]] {
                let place = columns.places[*entry as usize];
                if place == NOWHERE {
                    continue;
                }
                let sum = &mut sums[place as usize];
                sum[0] += seen.gradient;
                sum[1] += seen.hessian;
            }
        }
        for (at, start) in columns.at.iter().zip(&columns.starts) {
            let column = &self.bins.columns[*at];
            if column.common.is_some() {
                continue;
            }
            let sums = &mut sums[*start..start + column.count];
            for seen in rows {
                let sum = &mut sums[column.bin(column.codes[seen.place as usize])];
                sum[0] += seen.gradient;
                sum[1] += seen.hessian;
            }
        }
    }

    fn best_split(&self, leaf: &Leaf, columns: &Columns) -> Option<Split> {
        let rows = (leaf.to - leaf.from) as f64;
        // Rows on a side are estimated by its share of second derivatives, as in LightGBM.
        let least = self.min_leaf / rows * leaf.hessian - 1e-12 * leaf.hessian;
        let score = |gradient: f64, hessian: f64| gradient * gradient / (hessian + self.config.l2);
        let base = score(leaf.gradient, leaf.hessian);
        let mut best: Option<Split> = None;
        for (at, start) in columns.at.iter().zip(&columns.starts) {
            let column = &self.bins.columns[*at];
            let sums = &leaf.sums[*start..start + column.count];
            // What is in no other bin is in the common one.
            let rest = column.common.map(|common| {
                let all = sums.iter().fold([0.0; 2], |all, sum| [all[0] + sum[0], all[1] + sum[1]]);
                (column.bin(common), [leaf.gradient - all[0], leaf.hessian - all[1]])
            });
            let bin = |at: usize| match rest {
                Some((common, rest)) if common == at => rest,
                _ => sums[at],
            };
            let thresholds = column.cuts.len();
            let lost = if column.has_missing { bin(column.count - 1) } else { [0.0; 2] };
            let mut left = [0.0; 2];
            for code in 0..=thresholds {
                if code == thresholds && !column.has_missing {
                    break;
                }
                let of = bin(code);
                left[0] += of[0];
                left[1] += of[1];
                for missing_left in [false, true] {
                    if missing_left && (!column.has_missing || code == thresholds) {
                        continue;
                    }
                    let side = if missing_left { [left[0] + lost[0], left[1] + lost[1]] } else { left };
                    let other = [leaf.gradient - side[0], leaf.hessian - side[1]];
                    if side[1] < least || other[1] < least {
                        continue;
                    }
                    let gain = score(side[0], side[1]) + score(other[0], other[1]) - base;
                    if gain > best.map_or(1e-10 * base.max(1e-300), |best| best.gain) {
                        let code = if code == thresholds { MISSING - 1 } else { code as u8 };
                        best = Some(Split { gain, column: *at, code, missing_left });
                    }
                }
            }
        }
        best
    }

    fn finish(self) -> Boosted {
        Boosted { base: self.base, trees: self.trees, classes: self.classes }
    }
}

/// The columns of a round, and where their bins are in its histograms.
struct Columns {
    at: Vec<usize>,
    /// Where the bins of each column begin.
    starts: Vec<usize>,
    /// The number of bins.
    total: usize,
    /// The place of every bin of all columns, [`NOWHERE`] for those of other columns.
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// A row that a round sees.
#[derive(Debug, Clone, Copy)]
struct RowGradient {
    place: u32,
    gradient: f64,
    hessian: f64,
}

impl Boosted {
    pub(crate) fn predict(&self, row: &[f32], output: &mut [f64]) {
        let mut values = self.base.clone();
        for trees in self.trees.chunks(values.len()) {
            values.iter_mut().zip(trees).for_each(|(value, tree)| *value += f64::from(tree.predict(row)[0]));
        }
        if self.classes == 0 {
            output.copy_from_slice(&values);
        } else {
            probabilities(&values, output);
        }
    }
}
