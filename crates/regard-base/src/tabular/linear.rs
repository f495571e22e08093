//! Linear models: logistic and ridge regression (A. Hoerl and R. Kennard, 1970).

use faer::Mat;
use regard_data::split::others;
use regard_data::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Target;
use super::calibration::{log_probabilities, probabilities};
use super::descent::minimise;
use super::sample::Sample;
use super::scaling::Scaling;
use super::smoother::{Smoother, eigen};

/// The settings of a linear model with a squared penalty on standardised columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearConfig {
    /// The number of penalties that are tried, each about a third of the one before it.
    pub penalties: usize,
    /// The folds by which the penalty of logistic regression is chosen. Ridge regression leaves one out.
    pub folds: usize,
}

impl Default for LinearConfig {
    fn default() -> Self {
        Self { penalties: 12, folds: 5 }
    }
}

/// The most rows for which the eigenvalues of all inner products are computed.
const MOST_EIGEN: usize = 1000;

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Linear {
    scaling: Scaling,
    /// `[outputs, columns]`
    weights: Vec<f64>,
    /// `[outputs]`
    intercepts: Vec<f64>,
}

impl LinearConfig {
    pub(crate) fn fit(&self, sample: &Sample) -> Result<Linear> {
        let scaled = sample.prepared.scaled();
        let columns = scaled.scaling.outputs();
        if columns == 0 {
            return Err(Error::invalid("linear", "every column is constant"));
        }
        let instances = sample.prepared.view.has_instances();
        let rows = sample.rows();
        if let (Target::Numbers(numbers), false) = (&sample.target, instances)
            && rows <= 2 * MOST_EIGEN
        {
            return self.ridge(sample, numbers);
        }
        // With more columns than rows, rotated rows have no more columns than rows and the same solution.
        let rotated =
            if columns > rows && rows <= MOST_EIGEN && !instances { Some(Rotation::of(sample)?) } else { None };
        let data = match &rotated {
            Some(rotation) => Rows { values: rotation.rows.clone(), columns: rotation.rank },
            None => Rows {
                values: sample
                    .places
                    .iter()
                    .flat_map(|place| &scaled.values[place * columns..(place + 1) * columns])
                    .copied()
                    .collect(),
                columns,
            },
        };
        let fitted = self.path(sample, &data)?;
        let width = fitted.len() / (data.columns + 1);
        let intercepts = (0..width).map(|output| fitted[output * (data.columns + 1) + data.columns]).collect();
        let of_output = |output: usize| &fitted[output * (data.columns + 1)..(output + 1) * (data.columns + 1) - 1];
        let weights = (0..width)
            .flat_map(|output| match &rotated {
                Some(rotation) => rotation.back(sample, of_output(output)),
                None => of_output(output).to_vec(),
            })
            .collect();
        Ok(Linear { scaling: scaled.scaling.clone(), weights, intercepts })
    }

    /// Ridge regression with the penalty of the least leave-one-out error.
    fn ridge(&self, sample: &Sample, numbers: &[f64]) -> Result<Linear> {
        let products = sample.prepared.products();
        let rows = sample.rows();
        let kernel = Mat::from_fn(rows, rows, |a, b| products[(sample.places[a], sample.places[b])]);
        let smoother = Smoother::new(kernel, &sample.weights)?;
        let scale = smoother.scale();
        let penalties: Vec<f64> =
            (0..self.penalties.max(1)).map(|at| scale * 100.0 * 10f64.powf(-0.5 * at as f64)).collect();
        let everything: Vec<usize> = (0..rows).collect();
        let losses: Vec<f64> = smoother
            .leave_one_out(numbers, &penalties)
            .iter()
            .map(|predictions| sample.loss(&everything, predictions))
            .collect();
        let best = least(&losses).ok_or_else(|| Error::invalid("linear", "no penalty gives a finite error"))?;
        let (coefficients, intercept) = smoother.coefficients(numbers, penalties[best]);
        let scaled = sample.prepared.scaled();
        let weights = combine(sample, &coefficients);
        Ok(Linear { scaling: scaled.scaling.clone(), weights, intercepts: vec![intercept] })
    }

    /// Weights and intercept of each output `[outputs, columns + 1]`, with the penalty of the least loss in inner folds.
    fn path(&self, sample: &Sample, data: &Rows) -> Result<Vec<f64>> {
        let everything: Vec<usize> = (0..sample.rows()).collect();
        let squares: f64 = data.values.iter().map(|value| f64::from(*value).powi(2)).sum();
        let strongest = 0.25 * squares / sample.rows() as f64 * sample.examples as f64;
        let penalties: Vec<f64> =
            (0..self.penalties.max(1)).map(|at| strongest * 10f64.powf(-0.5 * at as f64)).collect();
        let folds = sample.folds(if sample.examples > 1000 { self.folds.min(3) } else { self.folds })?;
        let problem = |rows: Vec<usize>| Problem { sample, data, rows };
        let parts: Vec<Problem> = folds.iter().map(|fold| problem(others(sample.rows(), fold))).collect();
        let mut starts = vec![parts[0].start(); parts.len()];
        let mut losses: Vec<f64> = Vec::new();
        for penalty in &penalties {
            let mut loss = 0.0;
            for ((part, start), fold) in parts.iter().zip(&mut starts).zip(&folds) {
                // A fold without its class in training would be refused by no one: its loss says it.
                *start = part.solve(start, *penalty);
                loss += sample.loss(fold, &data.predict(sample, start, fold)) * fold.len() as f64;
            }
            losses.push(loss);
            // Weaker penalties take longest, and the loss has one valley.
            if least(&losses).is_some_and(|best| losses.len() > best + 2) {
                break;
            }
        }
        let best = least(&losses).ok_or_else(|| Error::invalid("linear", "no penalty gives a finite loss"))?;
        let whole = problem(everything);
        let mut weights = whole.start();
        // From the strong end too, so that the last solution starts near.
        for penalty in &penalties[best.saturating_sub(1)..=best] {
            weights = whole.solve(&weights, *penalty);
        }
        Ok(weights)
    }
}

/// The place of the least finite value.
pub(crate) fn least(values: &[f64]) -> Option<usize> {
    (0..values.len()).filter(|at| values[*at].is_finite()).min_by(|a, b| values[*a].total_cmp(&values[*b]))
}

/// The weights of columns that coefficients of rows make.
fn combine(sample: &Sample, coefficients: &[f64]) -> Vec<f64> {
    let scaled = sample.prepared.scaled();
    let columns = scaled.scaling.outputs();
    let mut weights = vec![0.0; columns];
    for (place, coefficient) in sample.places.iter().zip(coefficients) {
        let row = &scaled.values[place * columns..(place + 1) * columns];
        weights.iter_mut().zip(row).for_each(|(weight, value)| *weight += coefficient * f64::from(*value));
    }
    weights
}

/// Rows in the coordinates of the eigenvectors of their inner products.
struct Rotation {
    rank: usize,
    /// `[rows, rank]`
    rows: Vec<f32>,
    /// Eigenvectors over roots of eigenvalues `[rows, rank]`.
    inverse: Mat<f64>,
}

impl Rotation {
    fn of(sample: &Sample) -> Result<Self> {
        let products = sample.prepared.products();
        let rows = sample.rows();
        let kernel = Mat::from_fn(rows, rows, |a, b| products[(sample.places[a], sample.places[b])]);
        let (values, vectors) = eigen(kernel.as_ref())?;
        let floor = values.last().copied().unwrap_or(0.0) * 1e-8;
        let first = values.partition_point(|value| *value <= floor.max(f64::MIN_POSITIVE));
        let rank = values.len() - first;
        let at = |row: usize, column: usize| vectors[(row, first + column)];
        let rotated = (0..rows * rank)
            .map(|cell| (at(cell / rank, cell % rank) * values[first + cell % rank].sqrt()) as f32)
            .collect();
        let inverse = Mat::from_fn(rows, rank, |row, column| at(row, column) / values[first + column].sqrt());
        Ok(Self { rank, rows: rotated, inverse })
    }

    /// Weights of the columns of the view from those of the rotated ones.
    fn back(&self, sample: &Sample, weights: &[f64]) -> Vec<f64> {
        let rows = sample.rows();
        let coefficient = |row| (0..self.rank).map(|at| self.inverse[(row, at)] * weights[at]).sum();
        let coefficients: Vec<f64> = (0..rows).map(coefficient).collect();
        combine(sample, &coefficients)
    }
}

/// Rows `[rows, columns]` of features.
struct Rows {
    values: Vec<f32>,
    columns: usize,
}

impl Rows {
    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// The values of each output for one row.
    fn outputs(&self, weights: &[f64], narrow: &[f32], row: usize, values: &mut [f64]) {
        for (output, value) in values.iter_mut().enumerate() {
            let from = output * (self.columns + 1);
            *value = dot(self.row(row), &narrow[from..from + self.columns]) + weights[from + self.columns];
        }
    }

    /// Predictions of rows `[rows, outputs of the target]`.
    fn predict(&self, sample: &Sample, weights: &[f64], rows: &[usize]) -> Vec<f64> {
        let narrow: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let mut values = vec![0.0; weights.len() / (self.columns + 1)];
        let outputs = sample.target.outputs();
        let mut predictions = vec![0.0; rows.len() * outputs];
        for (row, prediction) in rows.iter().zip(predictions.chunks_mut(outputs)) {
            self.outputs(weights, &narrow, *row, &mut values);
            if let Target::Numbers(_) = sample.target {
                prediction.copy_from_slice(&values);
            } else {
                probabilities(&values, prediction);
            }
        }
        predictions
    }
}

/// Inner product of two rows: eight sums that can be added up side by side.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.chunks(512).zip(b.chunks(512)) {
        let mut lanes = [0.0f32; 16];
        let (whole, rest) = a.as_chunks::<16>();
        let (whole_b, rest_b) = b.as_chunks::<16>();
        for (a, b) in whole.iter().zip(whole_b) {
            (0..16).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
        }
        sum += lanes.iter().map(|lane| f64::from(*lane)).sum::<f64>();
        sum += rest.iter().zip(rest_b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    }
    sum
}

/// A penalised loss over some rows.
struct Problem<'a> {
    sample: &'a Sample<'a>,
    data: &'a Rows,
    rows: Vec<usize>,
}

impl Problem<'_> {
    fn width(&self) -> usize {
        match &self.sample.target {
            Target::Classes { count, .. } if *count > 2 => *count,
            _ => 1,
        }
    }

    fn start(&self) -> Vec<f64> {
        vec![0.0; self.width() * (self.data.columns + 1)]
    }

    fn solve(&self, start: &[f64], penalty: f64) -> Vec<f64> {
        minimise(start, 150, 1e-6, |weights, slope| self.value(weights, slope, penalty))
    }

    fn value(&self, weights: &[f64], slope: &mut [f64], penalty: f64) -> f64 {
        let (columns, width) = (self.data.columns, self.width());
        let narrow: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        slope.fill(0.0);
        let mut loss = 0.0;
        let mut values = vec![0.0; width];
        let mut p = vec![0.0; self.sample.target.outputs()];
        // Sums over a few rows in single precision, over all of them in double precision.
        let mut part = vec![0.0f32; columns];
        let mut errors = vec![0.0; 32 * width];
        for rows in self.rows.chunks(32) {
            for (row, errors) in rows.iter().zip(errors.chunks_mut(width)) {
                self.data.outputs(weights, &narrow, *row, &mut values);
                let weight = self.sample.weights[*row];
                match &self.sample.target {
                    Target::Numbers(numbers) => {
                        let error = values[0] - numbers[*row];
                        loss += 0.5 * weight * error * error;
                        errors[0] = weight * error;
                    }
                    Target::Classes { of, count } => {
                        log_probabilities(&values, &mut p);
                        loss -= weight * p[of[*row]];
                        for (output, error) in errors.iter_mut().enumerate() {
                            let class = if *count == 2 { 1 } else { output };
                            *error = weight * (p[class].exp() - f64::from(u8::from(of[*row] == class)));
                        }
                    }
                }
            }
            for output in 0..width {
                let from = output * (columns + 1);
                part.fill(0.0);
                for (at, row) in rows.iter().enumerate() {
                    let error = errors[at * width + output];
                    slope[from + columns] += error;
                    let error = error as f32;
                    part.iter_mut().zip(self.data.row(*row)).for_each(|(part, value)| *part += error * value);
                }
                slope[from..].iter_mut().zip(&part).for_each(|(slope, part)| *slope += f64::from(*part));
            }
        }
        for output in 0..width {
            let from = output * (columns + 1);
            for at in from..from + columns {
                loss += 0.5 * penalty * weights[at] * weights[at];
                slope[at] += penalty * weights[at];
            }
        }
        loss
    }
}

impl Linear {
    /// Predicts `values [rows, columns]`: the values of each output, before they become probabilities.
    pub(crate) fn predict(&self, values: &[f32], classes: bool, output: &mut [f64]) {
        let columns = self.scaling.outputs();
        let scaled = self.scaling.apply(values);
        let width = self.intercepts.len();
        let outputs = if classes && width == 1 { 2 } else { width };
        for (row, output) in scaled.chunks(columns).zip(output.chunks_mut(outputs)) {
            let value = |(weights, intercept): (&[f64], &f64)| {
                intercept + weights.iter().zip(row).map(|(weight, value)| weight * f64::from(*value)).sum::<f64>()
            };
            let values: Vec<f64> = self.weights.chunks(columns).zip(&self.intercepts).map(value).collect();
            if classes {
                probabilities(&values, output);
            } else {
                output.copy_from_slice(&values);
            }
        }
    }
}
