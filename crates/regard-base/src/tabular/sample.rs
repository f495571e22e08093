//! Rows that a learner is fitted to.

use std::sync::OnceLock;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use regard_data::Result;

use super::bins::{Bins, MOST};
use super::counts::CountRows;
use super::scaling::Scaling;
use super::{Target, View};

/// A view with what several fits share. Scaling, bins and kernels use the features of all prepared rows, never a
/// target.
pub(crate) struct Prepared<'a> {
    pub(crate) view: &'a View,
    /// The examples prepared, in rising order.
    pub(crate) examples: Vec<usize>,
    /// The rows of the view that belong to them.
    pub(crate) rows: Vec<usize>,
    /// Where the rows of each prepared example begin among `rows`.
    pub(crate) starts: Vec<usize>,
    scaled: OnceLock<Scaled>,
    bins: OnceLock<Bins>,
    coarse_bins: OnceLock<Bins>,
    counts: OnceLock<CountRows>,
    products: OnceLock<Mat<f64>>,
    shared: OnceLock<Mat<f64>>,
    dots: OnceLock<Mat<f64>>,
}

/// Scaled rows.
pub(crate) struct Scaled {
    pub(crate) scaling: Scaling,
    /// `[rows, scaling.outputs()]`
    pub(crate) values: Vec<f32>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(view: &'a View, examples: Vec<usize>) -> Self {
        let mut rows = Vec::new();
        let mut starts = vec![0];
        for example in &examples {
            rows.extend(view.rows_of(*example));
            starts.push(rows.len());
        }
        Self {
            view,
            examples,
            rows,
            starts,
            scaled: OnceLock::new(),
            bins: OnceLock::new(),
            coarse_bins: OnceLock::new(),
            counts: OnceLock::new(),
            products: OnceLock::new(),
            shared: OnceLock::new(),
            dots: OnceLock::new(),
        }
    }

    /// The groups of these prepared examples (places among `examples`), where there are several.
    pub(crate) fn groups_of(&self, places: &[usize]) -> Option<Vec<u64>> {
        self.view.groups_of(&places.iter().map(|place| self.examples[*place]).collect::<Vec<_>>())
    }

    /// Imputed and standardised rows.
    pub(crate) fn scaled(&self) -> &Scaled {
        self.scaled.get_or_init(|| {
            let values = self.view.gather(&self.rows);
            let scaling = Scaling::of(&values, self.view.columns());
            let values = scaling.apply(&values);
            Scaled { scaling, values }
        })
    }

    /// Binned rows.
    pub(crate) fn bins(&self) -> &Bins {
        self.binned(&self.bins, MOST)
    }

    /// Binned rows, with several rows a bin where there are few rows.
    pub(crate) fn coarse_bins(&self) -> &Bins {
        self.binned(&self.coarse_bins, (self.rows.len() / 4).clamp(16, MOST))
    }

    /// Rows in at most so many bins, kept in `place`.
    fn binned<'p>(&self, place: &'p OnceLock<Bins>, most: usize) -> &'p Bins {
        if let Some(bins) = place.get() {
            return bins;
        }
        // Binning is parallel. A thread that waits for its parts may begin another fit, which wants the same bins: it would
        // wait for itself if the place were locked meanwhile. So two threads may make them, and one is kept.
        let bins = Bins::of(&self.view.gather(&self.rows), self.view.columns(), most);
        place.get_or_init(|| bins)
    }

    /// Rows without their zeros.
    pub(crate) fn counts(&self) -> &CountRows {
        self.counts.get_or_init(|| CountRows::of(&self.view.gather(&self.rows), self.view.columns()))
    }

    /// Inner products of scaled rows `[rows, rows]`.
    pub(crate) fn products(&self) -> &Mat<f64> {
        self.products
            .get_or_init(|| products(&self.scaled().values, &self.scaled().values, self.scaled().scaling.outputs()))
    }

    /// Sums of least values of two rows `[rows, rows]`.
    pub(crate) fn shared(&self) -> &Mat<f64> {
        self.shared.get_or_init(|| self.counts().shared_with(self.counts()))
    }

    /// Inner products of counts `[rows, rows]`.
    pub(crate) fn dots(&self) -> &Mat<f64> {
        self.dots.get_or_init(|| self.counts().dots_with(self.counts()))
    }
}

/// Inner products `[a_rows, b_rows]` of `a [a_rows, columns]` and `b [b_rows, columns]`.
pub(crate) fn products(a: &[f32], b: &[f32], columns: usize) -> Mat<f64> {
    let (m, n) = (a.len() / columns.max(1), b.len() / columns.max(1));
    let mut all = Mat::zeros(m, n);
    // Blocks of columns are converted one after another, so that the whole never lies there twice.
    const BLOCK: usize = 256;
    for start in (0..columns).step_by(BLOCK) {
        let width = BLOCK.min(columns - start);
        let part = |values: &[f32], rows: usize| -> Vec<f64> {
            let mut part = Vec::with_capacity(rows * width);
            (0..rows).for_each(|row| {
                let from = row * columns + start;
                part.extend(values[from..from + width].iter().map(|value| f64::from(*value)));
            });
            part
        };
        let (left, right) = (part(a, m), part(b, n));
        let left = MatRef::from_row_major_slice(&left, m, width);
        let right = MatRef::from_row_major_slice(&right, n, width);
        matmul(&mut all, Accum::Add, left, right.transpose(), 1.0, Par::Seq);
    }
    all
}

/// Rows to fit a learner to, out of those prepared.
pub(crate) struct Sample<'a> {
    pub(crate) prepared: &'a Prepared<'a>,
    /// Places among the prepared rows.
    pub(crate) places: Vec<usize>,
    /// The example of each row, counted within the sample.
    pub(crate) groups: Vec<usize>,
    /// The number of examples.
    pub(crate) examples: usize,
    /// The group of each example, where examples of a group are held out together.
    pub(crate) held_together: Option<Vec<u64>>,
    /// The target of each row.
    pub(crate) target: Target,
    /// The target of each example.
    pub(crate) example_target: Target,
    /// The weight of each row; those of an example add up to its weight, 1 on the mean.
    pub(crate) weights: Vec<f64>,
    pub(crate) seed: u64,
}

impl<'a> Sample<'a> {
    /// The rows of these prepared examples (places among `prepared.examples`), whose targets are given in the same
    /// order.
    pub(crate) fn new(
        prepared: &'a Prepared<'a>,
        examples: &[usize],
        example_target: Target,
        balanced: bool,
        seed: u64,
    ) -> Self {
        let counts = example_target.class_counts();
        let present = counts.iter().filter(|count| **count > 0).count();
        let mut sample = Self {
            prepared,
            places: Vec::new(),
            groups: Vec::new(),
            examples: examples.len(),
            held_together: prepared.groups_of(examples),
            target: Target::Numbers(Vec::new()),
            example_target,
            weights: Vec::new(),
            seed,
        };
        for (group, example) in examples.iter().enumerate() {
            let weight = match &sample.example_target {
                Target::Classes { of, .. } if balanced => examples.len() as f64 / (present * counts[of[group]]) as f64,
                _ => 1.0,
            };
            let run = prepared.starts[*example]..prepared.starts[example + 1];
            let each = weight / run.len().max(1) as f64;
            for place in run {
                sample.places.push(place);
                sample.groups.push(group);
                sample.weights.push(each);
            }
        }
        sample.target = sample.example_target.of(&sample.groups);
        sample
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.places.len()
    }

    /// Cuts the examples into at most `k` folds; a fold is the rows of its examples, by their place in the sample.
    pub(crate) fn folds(&self, k: usize) -> Result<Vec<Vec<usize>>> {
        let folds = self.example_target.folds(self.held_together.as_deref(), k, self.seed)?;
        let mut fold_of = vec![0; self.examples];
        for (fold, examples) in folds.iter().enumerate() {
            examples.iter().for_each(|example| fold_of[*example] = fold);
        }
        let rows = |fold| (0..self.rows()).filter(|row| fold_of[self.groups[*row]] == fold).collect();
        Ok((0..folds.len()).map(rows).collect())
    }

    /// The mean loss of predictions of these rows, by the weights of the rows; both in the sample's order.
    pub(crate) fn loss(&self, rows: &[usize], predictions: &[f64]) -> f64 {
        let losses = self.target.of(rows).losses(predictions);
        let all: f64 = rows.iter().map(|row| self.weights[*row]).sum();
        rows.iter().zip(losses).map(|(row, loss)| self.weights[*row] * loss).sum::<f64>() / all.max(f64::MIN_POSITIVE)
    }
}
