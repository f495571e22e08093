//! Random forests (L. Breiman, "Random forests", 2001) and extremely randomised trees (P. Geurts and others, 2006).

use rayon::prelude::*;
use regard_data::cancel::{CancellationToken, run_under};
use regard_data::random::Draws;
use regard_data::{Error, Result, cancel};
use serde::{Deserialize, Serialize};

use super::Target;
use super::bins::{Bins, MISSING};
use super::sample::Sample;
use super::tree::Tree;

/// The settings of a random forest.
///
/// ```
/// use regard_base::tabular::{ForestConfig, Learner, Options, Target, View};
///
/// let view = View::new("x", (0..60).map(|at| at as f32).collect(), 1)?;
/// let target = Target::Classes { of: (0..60).map(|at| usize::from(at >= 30)).collect(), count: 2 };
/// let forest = Learner::Forest(ForestConfig { trees: 50, ..ForestConfig::default() });
/// let model = forest.fit(&view, &target, &(0..60).collect::<Vec<_>>(), &Options::default())?;
/// let predictions = model.predict(&view, &[0, 59])?;
/// assert!(predictions[0] > 0.9 && predictions[3] > 0.9);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestConfig {
    /// The number of trees.
    pub trees: usize,
    /// The columns that are tried for a split.
    pub columns: ColumnShare,
    /// The least number of rows at a leaf.
    pub min_leaf: usize,
    /// If true, one threshold a column is drawn at random, and trees see all rows (extremely randomised trees).
    pub extra: bool,
}

impl Default for ForestConfig {
    fn default() -> Self {
        Self { trees: 500, columns: ColumnShare::Auto, min_leaf: 1, extra: false }
    }
}

/// The number of columns that are tried for a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnShare {
    /// The square root for classes, a third for numbers.
    Auto,
    /// The square root.
    Root,
    /// A third.
    Third,
    /// All.
    All,
}

impl ColumnShare {
    fn of(self, columns: usize, target: &Target) -> usize {
        let root = (columns as f64).sqrt().round() as usize;
        let tried = match (self, target) {
            (Self::Auto, Target::Classes { .. }) | (Self::Root, _) => root,
            (Self::Auto, Target::Numbers(_)) | (Self::Third, _) => columns / 3,
            (Self::All, _) => columns,
        };
        tried.max(1)
    }
}

/// A fitted forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forest {
    trees: Vec<Tree>,
    /// Numbers at the leaves: one for numbers and for two classes, else one a class.
    width: usize,
    classes: usize,
}

/// A forest, and the prediction of each row by the trees that have not seen its example.
pub(crate) struct ForestFit {
    pub(crate) forest: Forest,
    /// `[rows, outputs]`; none for a forest whose trees see all rows.
    pub(crate) out_of_bag: Option<Vec<f64>>,
}

impl ForestConfig {
    pub(crate) fn fit(&self, sample: &Sample) -> Result<ForestFit> {
        let bins = sample.prepared.bins();
        if bins.columns.is_empty() {
            return Err(Error::invalid("forest", "every column is constant"));
        }
        let width = match &sample.target {
            Target::Classes { count, .. } if *count > 2 => *count,
            _ => 1,
        };
        let classes = if let Target::Classes { count, .. } = &sample.target { *count } else { 0 };
        let token = CancellationToken::current();
        let tree = |at: usize| run_under(token.clone(), || self.tree(sample, bins, width, at));
        let grown: Vec<(Tree, Vec<bool>)> = (0..self.trees.max(1)).into_par_iter().map(tree).collect();
        let (trees, seen): (Vec<Tree>, Vec<Vec<bool>>) = grown.into_iter().unzip();
        let forest = Forest { trees, width, classes };
        let out_of_bag = (!self.extra).then(|| forest.out_of_bag(sample, &seen));
        Ok(ForestFit { forest, out_of_bag })
    }

    /// A tree, and which examples it has seen.
    fn tree(&self, sample: &Sample, bins: &Bins, width: usize, at: usize) -> (Tree, Vec<bool>) {
        cancel::check();
        let mut draws = Draws::of_batch(sample.seed, at as u64);
        let mut counts = vec![u32::from(self.extra); sample.examples];
        if !self.extra {
            (0..sample.examples).for_each(|_| counts[draws.index(sample.examples)] += 1);
        }
        let mut rows = Vec::new();
        for (row, group) in sample.groups.iter().enumerate().filter(|(_, group)| counts[**group] > 0) {
            let weight = sample.weights[row] * f64::from(counts[*group]);
            let (value, class) = match &sample.target {
                Target::Numbers(numbers) => (numbers[row], 0),
                Target::Classes { of, .. } => (f64::from(u8::from(of[row] == 1)), of[row] as u32),
            };
            rows.push(Row { place: sample.places[row] as u32, class, weight, product: weight * value });
        }
        let tried = self.columns.of(bins.columns.len(), &sample.target);
        let mut grower = Grower {
            bins,
            config: self,
            tried,
            width,
            draws,
            tree: Tree::new(width),
            order: (0..bins.columns.len() as u32).collect(),
            codes: Vec::new(),
            marks: vec![0; if tried * bins.starts.len() > 2 * bins.entries.len() { bins.columns.len() } else { 0 }],
            node: 0,
            sums: vec![0.0; 256 * (width + 1)],
        };
        grower.grow(&mut rows);
        (grower.tree, counts.into_iter().map(|count| count > 0).collect())
    }
}

/// A row of a bootstrap sample.
#[derive(Debug, Clone, Copy)]
struct Row {
    place: u32,
    class: u32,
    weight: f64,
    /// The weight times the number, or times 1 for class 1.
    product: f64,
}

/// The best split found of a node.
struct Split {
    gain: f64,
    column: usize,
    code: u8,
    missing_left: bool,
}

struct Grower<'a> {
    bins: &'a Bins,
    config: &'a ForestConfig,
    tried: usize,
    width: usize,
    draws: Draws,
    tree: Tree,
    /// The columns in an order that each node shuffles as far as it needs.
    order: Vec<u32>,
    codes: Vec<u8>,
    /// The last node at which each sparse column had another value than its common one; empty where it costs more to
    /// find these than to look at the columns that are tried.
    marks: Vec<u32>,
    node: u32,
    /// For each code the weight and the weighted sums `[256, 1 + width]`.
    sums: Vec<f64>,
}

impl Grower<'_> {
    fn grow(&mut self, rows: &mut [Row]) {
        let mut stack = vec![(0, 0, rows.len())];
        let mut right_side = Vec::new();
        while let Some((node, from, to)) = stack.pop() {
            let part = &mut rows[from..to];
            let Some(split) = self.best_split(part) else {
                let values = self.leaf(part);
                self.tree.leaf(node, values);
                continue;
            };
            let column = &self.bins.columns[split.column];
            // A stable partition keeps the order of rows, and with it the order of sums.
            let mut end = 0;
            right_side.clear();
            for at in 0..part.len() {
                let row = part[at];
                let code = column.codes[row.place as usize];
                if if code == MISSING { split.missing_left } else { code <= split.code } {
                    part[end] = row;
                    end += 1;
                } else {
                    right_side.push(row);
                }
            }
            part[end..].copy_from_slice(&right_side);
            let threshold = column.cuts.get(split.code as usize).copied().unwrap_or(f32::MAX);
            let left = self.tree.split(node, column.at, threshold, split.missing_left);
            stack.push((left + 1, from + end, to));
            stack.push((left, from, from + end));
        }
    }

    fn leaf(&self, rows: &[Row]) -> Vec<f32> {
        let weight: f64 = rows.iter().map(|row| row.weight).sum();
        let mut sums = vec![0.0; self.width];
        if self.width == 1 {
            sums[0] = rows.iter().map(|row| row.product).sum();
        } else {
            rows.iter().for_each(|row| sums[row.class as usize] += row.weight);
        }
        let weight = if weight > 0.0 { weight } else { 1.0 };
        sums.into_iter().map(|sum| (sum / weight) as f32).collect()
    }

    fn best_split(&mut self, rows: &[Row]) -> Option<Split> {
        if rows.len() < 2 * self.config.min_leaf.max(1) {
            return None;
        }
        let pure = if self.width == 1 {
            let value = |row: &Row| row.product / row.weight;
            rows.iter().all(|row| (value(row) - value(&rows[0])).abs() < 1e-12)
        } else {
            rows.iter().all(|row| row.class == rows[0].class)
        };
        if pure {
            return None;
        }
        let mut totals = vec![0.0; self.width + 1];
        for row in rows {
            totals[0] += row.weight;
            if self.width == 1 {
                totals[1] += row.product;
            } else {
                totals[1 + row.class as usize] += row.weight;
            }
        }
        self.node += 1;
        if !self.marks.is_empty() {
            for place in rows.iter().map(|row| row.place as usize) {
                for entry in &self.bins.entries[self.bins.starts[place]..self.bins.starts[place + 1]] {
                    self.marks[self.bins.owners[*entry as usize] as usize] = self.node;
                }
            }
        }
        let base = score(&totals);
        let mut best: Option<Split> = None;
        let (mut visited, mut varied) = (0, 0);
        let columns = self.order.len();
        // As in scikit-learn, columns that are constant at the node count as tried, but one that varies is needed.
        while visited < columns && (visited < self.tried || varied == 0) {
            let other = visited + self.draws.index(columns - visited);
            self.order.swap(visited, other);
            let at = self.order[visited] as usize;
            visited += 1;
            if !self.marks.is_empty() && self.bins.columns[at].common.is_some() && self.marks[at] != self.node {
                continue;
            }
            let found = self.split_of(at, rows, &totals, best.as_ref().map_or(base + 1e-10 * base.abs(), |b| b.gain));
            let Some(found) = found else { continue };
            varied += 1;
            if let Found::Better(split) = found {
                best = Some(split);
            }
        }
        best
    }

    /// The best split by one column if it is better than `least`; nothing if the column is constant.
    fn split_of(&mut self, at: usize, rows: &[Row], totals: &[f64], least: f64) -> Option<Found> {
        let column = &self.bins.columns[at];
        self.codes.clear();
        let (mut low, mut high, mut missing) = (MISSING, 0, 0usize);
        for row in rows {
            let code = column.codes[row.place as usize];
            self.codes.push(code);
            if code == MISSING {
                missing += 1;
            } else {
                low = low.min(code);
                high = high.max(code);
            }
        }
        if missing == rows.len() || missing == 0 && low == high {
            return None;
        }
        let mut search = Search {
            column: at,
            least_rows: self.config.min_leaf.max(1),
            rows: rows.len(),
            totals,
            best: None,
            gain: least,
        };
        let step = self.width + 1;
        let mut lost = vec![0.0; if missing > 0 { step } else { 0 }];
        if missing > 0 {
            for (row, _) in rows.iter().zip(&self.codes).filter(|(_, code)| **code == MISSING) {
                add(&mut lost, row);
            }
            search.offer(&lost, missing, 0, true, true);
        }
        if self.config.extra {
            if low < high {
                let code = low + self.draws.index(usize::from(high - low)) as u8;
                let mut left = vec![0.0; step];
                let mut count = 0;
                for (row, _) in rows.iter().zip(&self.codes).filter(|(_, of)| **of <= code) {
                    add(&mut left, row);
                    count += 1;
                }
                search.both_ways(&left, &lost, count, missing, code);
            }
        } else if rows.len() <= 24 && usize::from(high - low) > 4 {
            self.by_order(rows, &mut search, &lost, missing);
        } else {
            self.by_histogram(rows, &mut search, &lost, missing, (low, high));
        }
        Some(search.best.map_or(Found::Worse, Found::Better))
    }

    /// Tries all thresholds of few rows in the order of their codes.
    fn by_order(&self, rows: &[Row], search: &mut Search, lost: &[f64], missing: usize) {
        let mut order: [(u8, u8); 24] = [(0, 0); 24];
        let mut count = 0;
        for (at, code) in self.codes.iter().enumerate().filter(|(_, code)| **code != MISSING) {
            let mut place = count;
            while place > 0 && order[place - 1].0 > *code {
                order[place] = order[place - 1];
                place -= 1;
            }
            order[place] = (*code, at as u8);
            count += 1;
        }
        let mut left = vec![0.0; self.width + 1];
        for at in 0..count.saturating_sub(1) {
            add(&mut left, &rows[order[at].1 as usize]);
            let (code, next) = (order[at].0, order[at + 1].0);
            if code < next {
                search.both_ways(&left, lost, at + 1, missing, between(code, next));
            }
        }
    }

    /// Tries all thresholds by sums over the rows of each code.
    fn by_histogram(&mut self, rows: &[Row], search: &mut Search, lost: &[f64], missing: usize, (low, high): (u8, u8)) {
        if low >= high {
            return;
        }
        let step = self.width + 1;
        let mut counts = [0u32; 256];
        self.sums[low as usize * step..(high as usize + 1) * step].fill(0.0);
        for (row, code) in rows.iter().zip(&self.codes) {
            let code = *code as usize;
            counts[code] += 1;
            // Codes of missing values have a place of their own at the end.
            add(&mut self.sums[code * step..(code + 1) * step], row);
        }
        let mut left = vec![0.0; step];
        let (mut count, mut last) = (0, low);
        for code in low..=high {
            if counts[code as usize] == 0 {
                continue;
            }
            if count > 0 {
                search.both_ways(&left, lost, count, missing, between(last, code));
            }
            left.iter_mut().zip(&self.sums[code as usize * step..]).for_each(|(sum, of)| *sum += of);
            count += counts[code as usize] as usize;
            last = code;
        }
    }
}

enum Found {
    Better(Split),
    Worse,
}

/// The threshold in the middle of the gap between two codes that occur.
fn between(code: u8, next: u8) -> u8 {
    code + (next - code - 1) / 2
}

fn add(sums: &mut [f64], row: &Row) {
    sums[0] += row.weight;
    if sums.len() == 2 {
        sums[1] += row.product;
    } else {
        sums[1 + row.class as usize] += row.weight;
    }
}

/// The sum over outputs of the squared sum over the weight: the larger, the less variance or impurity is left.
fn score(sums: &[f64]) -> f64 {
    if sums[0] <= 0.0 { 0.0 } else { sums[1..].iter().map(|sum| sum * sum).sum::<f64>() / sums[0] }
}

/// The score of the rest, what `totals` have more than `sums`.
fn rest_score(sums: &[f64], totals: &[f64]) -> f64 {
    let weight = totals[0] - sums[0];
    if weight <= 0.0 {
        return 0.0;
    }
    sums[1..].iter().zip(&totals[1..]).map(|(sum, all)| (all - sum).powi(2)).sum::<f64>() / weight
}

/// The search for the best threshold of one column.
struct Search<'a> {
    column: usize,
    least_rows: usize,
    rows: usize,
    totals: &'a [f64],
    best: Option<Split>,
    gain: f64,
}

impl Search<'_> {
    /// A threshold with missing values on either side.
    fn both_ways(&mut self, left: &[f64], lost: &[f64], count: usize, missing: usize, code: u8) {
        if missing == 0 {
            // What was never missing goes to the larger side if it is missing later.
            self.offer(left, count, code, 2 * count > self.rows, false);
            return;
        }
        self.offer(left, count, code, false, false);
        let with: Vec<f64> = left.iter().zip(lost).map(|(a, b)| a + b).collect();
        self.offer(&with, count + missing, code, true, false);
    }

    /// A split with these sums on the left; `only_missing` says that nothing else is there.
    fn offer(&mut self, left: &[f64], count: usize, code: u8, missing_left: bool, only_missing: bool) {
        if count < self.least_rows || self.rows - count < self.least_rows {
            return;
        }
        let gain = score(left) + rest_score(left, self.totals);
        if gain > self.gain {
            self.gain = gain;
            // Splitting off missing values alone needs a threshold below all values; `u8::MAX - 1` stands for the
            // opposite: all values left, missing ones right.
            let (code, missing_left) = if only_missing { (MISSING - 1, false) } else { (code, missing_left) };
            self.best = Some(Split { gain, column: self.column, code, missing_left });
        }
    }
}

impl Forest {
    /// Adds the mean over trees for one row of features.
    pub(crate) fn predict(&self, row: &[f32], output: &mut [f64]) {
        let mut sums = vec![0.0; self.width];
        for tree in &self.trees {
            sums.iter_mut().zip(tree.predict(row)).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        self.finish(&sums, self.trees.len(), output);
    }

    fn finish(&self, sums: &[f64], trees: usize, output: &mut [f64]) {
        let mean = |sum: f64| sum / trees.max(1) as f64;
        match (self.classes, self.width) {
            (0, _) => output[0] = mean(sums[0]),
            (_, 1) => {
                output[1] = mean(sums[0]).clamp(0.0, 1.0);
                output[0] = 1.0 - output[1];
            }
            _ => output.iter_mut().zip(sums).for_each(|(output, sum)| *output = mean(*sum)),
        }
    }

    fn out_of_bag(&self, sample: &Sample, seen: &[Vec<bool>]) -> Vec<f64> {
        let outputs = sample.target.outputs();
        let prior = sample.target.prior(&sample.weights);
        let mut all = vec![0.0; sample.rows() * outputs];
        all.par_chunks_mut(outputs).enumerate().for_each(|(row, output)| {
            let features = sample.prepared.view.row(sample.prepared.rows[sample.places[row]]);
            let (mut sums, mut trees) = (vec![0.0; self.width], 0);
            for (tree, seen) in self.trees.iter().zip(seen).filter(|(_, seen)| !seen[sample.groups[row]]) {
                debug_assert!(!seen.is_empty());
                sums.iter_mut().zip(tree.predict(features)).for_each(|(sum, value)| *sum += f64::from(*value));
                trees += 1;
            }
            if trees == 0 {
                output.copy_from_slice(&prior);
            } else {
                self.finish(&sums, trees, output);
            }
        });
        all
    }
}
