//! Kernel ridge regression, and least-squares support vector machines (J. Suykens and J. Vandewalle, 1999) whose
//! leave-one-out scores are calibrated.

use faer::Mat;
use regard_data::random::Draws;
use regard_data::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Target;
use super::calibration::Calibration;
use super::counts::CountRows;
use super::linear::least;
use super::sample::{Sample, products};
use super::scaling::Scaling;
use super::smoother::Smoother;

/// The similarity of two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kernel {
    /// `exp(-width |x - y|^2)` of standardised columns; the width is chosen.
    Rbf,
    /// The sum of lesser over the sum of greater counts: Tanimoto's coefficient of bits, the min-max kernel of counts.
    MinMax,
    /// The cosine of counts: the normalised Weisfeiler-Lehman kernel of its histograms.
    Cosine,
}

/// The settings of a kernel machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelConfig {
    /// The kernel.
    pub kernel: Kernel,
    /// Examples above which it is refused: time grows with their cube.
    pub max_rows: usize,
}

impl KernelConfig {
    /// The default settings of a kernel.
    #[must_use]
    pub fn new(kernel: Kernel) -> Self {
        Self { kernel, max_rows: 5000 }
    }
}

/// A fitted kernel machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KernelMachine {
    support: Support,
    /// `[outputs, rows]`
    coefficients: Vec<f64>,
    /// `[outputs]`
    intercepts: Vec<f64>,
    calibration: Option<Calibration>,
}

/// The rows that new ones are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Support {
    Rbf { scaling: Scaling, rows: Vec<f32>, width: f64 },
    MinMax { columns: usize, rows: CountRows },
    Cosine { columns: usize, rows: CountRows },
}

/// Rows by which the width is chosen.
const TUNING_ROWS: usize = 400;

impl KernelConfig {
    pub(crate) fn fit(&self, sample: &Sample) -> Result<KernelMachine> {
        let refused = |reason: String| Err(Error::invalid("kernel", reason));
        if sample.prepared.view.has_instances() {
            return refused("kernels compare examples, and this view has instances".into());
        }
        if sample.rows() > self.max_rows {
            return refused(format!("{} rows, and it takes at most {}", sample.rows(), self.max_rows));
        }
        if self.kernel == Kernel::Rbf && sample.prepared.scaled().scaling.outputs() == 0 {
            return refused("every column is constant".into());
        }
        let responses = responses(&sample.target);
        let (support, kernel) = match self.kernel {
            Kernel::Rbf => {
                let width = choose_width(sample, &responses)?;
                let scaled = sample.prepared.scaled();
                let columns = scaled.scaling.outputs();
                let rows = sample.places.iter().flat_map(|at| &scaled.values[at * columns..(at + 1) * columns]);
                let support = Support::Rbf { scaling: scaled.scaling.clone(), rows: rows.copied().collect(), width };
                (support, rbf(sample, &sample.places, width))
            }
            Kernel::MinMax | Kernel::Cosine => {
                let columns = sample.prepared.view.columns();
                let rows = sample.prepared.counts().select(&sample.places);
                let kernel = self.of_counts(sample);
                if self.kernel == Kernel::MinMax {
                    (Support::MinMax { columns, rows }, kernel)
                } else {
                    (Support::Cosine { columns, rows }, kernel)
                }
            }
        };
        let smoother = Smoother::new(kernel, &sample.weights)?;
        let tuned = tune(&smoother, sample, &(0..sample.rows()).collect::<Vec<_>>(), &responses)?;
        let mut machine =
            KernelMachine { support, coefficients: Vec::new(), intercepts: Vec::new(), calibration: tuned.calibration };
        for response in &responses {
            let (coefficients, intercept) = smoother.coefficients(response, tuned.penalty);
            machine.coefficients.extend(coefficients);
            machine.intercepts.push(intercept);
        }
        Ok(machine)
    }

    fn of_counts(&self, sample: &Sample) -> Mat<f64> {
        let (places, rows) = (&sample.places, sample.rows());
        let counts = sample.prepared.counts();
        if self.kernel == Kernel::MinMax {
            let (shared, sums) = (sample.prepared.shared(), counts.sums());
            return Mat::from_fn(rows, rows, |a, b| {
                min_max(shared[(places[a], places[b])], sums[places[a]], sums[places[b]])
            });
        }
        let (dots, norms) = (sample.prepared.dots(), counts.norms());
        Mat::from_fn(rows, rows, |a, b| cosine(dots[(places[a], places[b])], norms[places[a]], norms[places[b]]))
    }
}

fn min_max(shared: f64, a: f64, b: f64) -> f64 {
    let greater = a + b - shared;
    if greater > 0.0 { shared / greater } else { 1.0 }
}

fn cosine(dot: f64, a: f64, b: f64) -> f64 {
    if a > 0.0 && b > 0.0 { dot / (a * b) } else { f64::from(u8::from(a == b)) }
}

/// The target of each output: 1 and -1 for classes, the numbers themselves.
fn responses(target: &Target) -> Vec<Vec<f64>> {
    match target {
        Target::Numbers(numbers) => vec![numbers.clone()],
        Target::Classes { of, count } => {
            let classes = if *count == 2 { 1..2 } else { 0..*count };
            let sign = |class| of.iter().map(|of| if *of == class { 1.0 } else { -1.0 }).collect();
            classes.map(sign).collect()
        }
    }
}

/// The kernel of rows at these places.
fn rbf(sample: &Sample, places: &[usize], width: f64) -> Mat<f64> {
    let products = sample.prepared.products();
    Mat::from_fn(places.len(), places.len(), |a, b| (-width * distance(products, places[a], places[b])).exp())
}

fn distance(products: &Mat<f64>, a: usize, b: usize) -> f64 {
    (products[(a, a)] + products[(b, b)] - 2.0 * products[(a, b)]).max(0.0)
}

/// The width of the least leave-one-out loss, over the median distance; tried on some rows where there are many.
fn choose_width(sample: &Sample, responses: &[Vec<f64>]) -> Result<f64> {
    let mut chosen: Vec<usize> = (0..sample.rows()).collect();
    if chosen.len() > TUNING_ROWS {
        Draws::of_batch(sample.seed, 1).shuffle(&mut chosen);
        chosen.truncate(TUNING_ROWS);
        chosen.sort_unstable();
    }
    let places: Vec<usize> = chosen.iter().map(|at| sample.places[*at]).collect();
    let products = sample.prepared.products();
    let mut distances = Vec::new();
    for (at, a) in places.iter().enumerate() {
        distances.extend(places[..at].iter().map(|b| distance(products, *a, *b)).filter(|distance| *distance > 0.0));
    }
    if distances.is_empty() {
        return Err(Error::invalid("kernel", "all rows are the same"));
    }
    let middle = distances.len() / 2;
    let (_, median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    let widths: Vec<f64> = [0.03, 0.125, 0.5, 2.0].iter().map(|factor| factor / *median).collect();
    let responses: Vec<Vec<f64>> =
        responses.iter().map(|response| chosen.iter().map(|at| response[*at]).collect()).collect();
    let weights: Vec<f64> = chosen.iter().map(|at| sample.weights[*at]).collect();
    let mut losses = Vec::new();
    for width in &widths {
        let smoother = Smoother::new(rbf(sample, &places, *width), &weights)?;
        losses.push(tune(&smoother, sample, &chosen, &responses)?.loss);
    }
    least(&losses).map(|best| widths[best]).ok_or_else(|| Error::invalid("kernel", "no width gives a finite loss"))
}

struct Tuned {
    penalty: f64,
    loss: f64,
    calibration: Option<Calibration>,
}

/// The penalty of the least leave-one-out loss, and for classes the calibration of its scores.
fn tune(smoother: &Smoother, sample: &Sample, rows: &[usize], responses: &[Vec<f64>]) -> Result<Tuned> {
    let penalties: Vec<f64> = (0..11).map(|at| smoother.scale() * 10f64.powf(1.5 - 0.5 * f64::from(at))).collect();
    let scores: Vec<Vec<Vec<f64>>> =
        responses.iter().map(|response| smoother.leave_one_out(response, &penalties)).collect();
    let target = sample.target.of(rows);
    let weights: Vec<f64> = rows.iter().map(|row| sample.weights[*row]).collect();
    let mut best: Option<Tuned> = None;
    for (at, penalty) in penalties.iter().enumerate() {
        let of_rows: Vec<f64> = (0..rows.len()).flat_map(|row| scores.iter().map(move |s| s[at][row])).collect();
        let (predictions, calibration) = match &target {
            Target::Numbers(_) => (of_rows, None),
            Target::Classes { of, count } => {
                let calibration = Calibration::fit(&of_rows, of, &weights, *count);
                let mut predictions = vec![0.0; rows.len() * count];
                for (scores, output) in of_rows.chunks(responses.len()).zip(predictions.chunks_mut(*count)) {
                    calibration.apply(scores, output);
                }
                (predictions, Some(calibration))
            }
        };
        let loss = sample.loss(rows, &predictions);
        if loss.is_finite() && best.as_ref().is_none_or(|best| loss < best.loss) {
            best = Some(Tuned { penalty: *penalty, loss, calibration });
        }
    }
    best.ok_or_else(|| Error::invalid("kernel", "no penalty gives a finite loss"))
}

impl KernelMachine {
    /// Predicts `values [rows, columns]`.
    pub(crate) fn predict(&self, values: &[f32], outputs: usize, output: &mut [f64]) {
        let kernel = match &self.support {
            Support::Rbf { scaling, rows, width } => {
                let columns = scaling.outputs();
                let scaled = scaling.apply(values);
                let norm = |rows: &[f32]| -> Vec<f64> {
                    rows.chunks(columns).map(|row| row.iter().map(|v| f64::from(*v).powi(2)).sum()).collect()
                };
                let (own, theirs) = (norm(&scaled), norm(rows));
                let dots = products(&scaled, rows, columns);
                let similar = |a: usize, b: usize| (-width * (own[a] + theirs[b] - 2.0 * dots[(a, b)]).max(0.0)).exp();
                Mat::from_fn(own.len(), theirs.len(), similar)
            }
            Support::MinMax { columns, rows } => {
                let new = CountRows::of(values, *columns);
                let (shared, own, theirs) = (new.shared_with(rows), new.sums(), rows.sums());
                Mat::from_fn(own.len(), theirs.len(), |a, b| min_max(shared[(a, b)], own[a], theirs[b]))
            }
            Support::Cosine { columns, rows } => {
                let new = CountRows::of(values, *columns);
                let (dots, own, theirs) = (new.dots_with(rows), new.norms(), rows.norms());
                Mat::from_fn(own.len(), theirs.len(), |a, b| cosine(dots[(a, b)], own[a], theirs[b]))
            }
        };
        let width = self.intercepts.len();
        let rows = kernel.ncols();
        for (row, output) in output.chunks_mut(outputs).enumerate() {
            let score = |of: usize| {
                let coefficients = &self.coefficients[of * rows..(of + 1) * rows];
                let sum: f64 = coefficients.iter().enumerate().map(|(at, c)| c * kernel[(row, at)]).sum();
                self.intercepts[of] + sum
            };
            let scores: Vec<f64> = (0..width).map(score).collect();
            match &self.calibration {
                Some(calibration) => calibration.apply(&scores, output),
                None => output.copy_from_slice(&scores),
            }
        }
    }
}
