//! Comparisons with golden values, collected so that one run shows everything that is off.

use std::sync::LazyLock;

use burn::tensor::Tensor;
use regard_kernels::precision::{Precision, set_precision};

use crate::Case;

/// Gradients below this are noise to the optimiser.
const NOISE: f64 = 1e-5;

/// True if the environment asks for products in bfloat16 (`REGARD_GOLDEN_PRECISION`): outputs alone are compared then, inside
/// [`COARSE`], and their errors are printed. Tests of the kernels only have them.
static BFLOAT16: LazyLock<bool> = LazyLock::new(|| {
    let Ok(name) = std::env::var("REGARD_GOLDEN_PRECISION") else { return false };
    let precision = Precision::of_name(&name).expect("REGARD_GOLDEN_PRECISION is the name of a precision");
    set_precision(precision).expect("a processor that has the precision");
    precision == Precision::Bfloat16
});

/// Largest error in bfloat16, beside the largest value of an output.
const COARSE: f64 = 0.1;

/// The comparisons of one case.
#[derive(Debug)]
pub struct Checks<'a> {
    case: &'a Case,
    label: String,
    compared: usize,
    worst: (f64, String),
    failures: Vec<String>,
}

impl<'a> Checks<'a> {
    /// Comparisons with `case`; `label` says which run of it.
    pub fn new(case: &'a Case, label: &str) -> Self {
        let label = if *BFLOAT16 { format!("{label} in bfloat16") } else { label.to_owned() };
        let worst = (0.0, String::new());
        Self { case, label, compared: 0, worst, failures: vec![] }
    }

    /// Compares a tensor with the array `name` inside the manifest's tolerance.
    pub fn tensor<const D: usize>(&mut self, name: &str, found: &Tensor<D>) {
        let data = found.to_data();
        let values: Vec<f64> = data.iter::<f64>().collect();
        self.values(name, data.shape(), &values);
    }

    /// Compares a single number.
    pub fn scalar(&mut self, name: &str, found: f64) {
        self.values(name, &[], &[found]);
    }

    /// Compares row-major values with the array `name` inside the manifest's tolerance.
    pub fn values(&mut self, name: &str, shape: &[usize], found: &[f64]) {
        match self.case.info(name).tolerance {
            _ if *BFLOAT16 => self.coarsely(name, found),
            Some(tolerance) => self.within(name, shape, found, |_| tolerance),
            None => self.failures.push(format!("{name}: the manifest gives no tolerance")),
        }
    }

    /// Compares an output of products in bfloat16: its largest error beside its largest value.
    #[allow(clippy::print_stdout, reason = "read by bench/bfloat16.py")]
    fn coarsely(&mut self, name: &str, found: &[f64]) {
        let expected = &self.case.get(name).data;
        // Costs are those of decisions, which may differ where two are equally good; a loss is a number in which others
        // cancel.
        if !name.starts_with("output.") || name == "output.cost" || expected.len() < 2 {
            return;
        }
        let largest = |values: &mut dyn Iterator<Item = f64>| values.filter(|x| !x.is_nan()).fold(0.0, f64::max);
        let error = largest(&mut found.iter().zip(expected).map(|(a, b)| (a - b).abs()));
        let error = error / largest(&mut expected.iter().map(|x| x.abs())).max(f64::MIN_POSITIVE);
        self.compared += 1;
        println!("bfloat16 {} {name} {error:.2e}", self.case.name);
        if error > COARSE {
            self.failures.push(format!("{name}: off by {error:.3} of the largest value"));
        }
    }

    /// Compares with the array `name`, each element inside its own tolerance.
    pub fn within(&mut self, name: &str, shape: &[usize], found: &[f64], tolerance: impl Fn(usize) -> f64) {
        if *BFLOAT16 {
            return self.coarsely(name, found);
        }
        let expected = self.case.get(name);
        // A single element may come as `[1]` where the file has a scalar.
        let single = found.len() == 1 && expected.data.len() == 1;
        if expected.shape != shape && !single {
            let text = format!("{name}: expected shape {:?}, found {shape:?}", expected.shape);
            self.failures.push(text);
            return;
        }
        self.compared += 1;
        let mut worst = (0.0_f64, 0);
        for (index, (a, b)) in found.iter().zip(&expected.data).enumerate() {
            let ratio = (a - b).abs() / tolerance(index);
            // What the original has no number for, nobody else shall have one for.
            let ratio = match (a.is_nan(), b.is_nan()) {
                (true, true) => 0.0,
                _ if ratio.is_nan() => f64::INFINITY,
                _ => ratio,
            };
            if ratio > worst.0 {
                worst = (ratio, index);
            }
        }
        let (ratio, at) = worst;
        if ratio > 1.0 {
            let (a, b) = (found[at], expected.data[at]);
            let text = format!("{name}[{at}]: {a:e}, expected {b:e}, {ratio:.2} x tolerance");
            self.failures.push(text);
        }
        if ratio > self.worst.0 {
            self.worst = (ratio, name.to_owned());
        }
    }

    /// Compares the parameters after a step of Adam, `of` being one's shape and values by name: tight
    /// where the gradient, scaled by `clip`, is more than noise, within two steps of `rate` where it is
    /// not (see the tolerances of the golden data).
    ///
    /// # Panics
    /// If the manifest names no tolerance.
    pub fn step_of_adam<'w>(&mut self, rate: f64, clip: f64, of: impl Fn(&str) -> (&'w [usize], &'w [f32])) {
        let case = self.case;
        for (name, _) in case.with_prefix("after_step.weight.") {
            let gradient = &case.get(&format!("grad.weight.{name}")).data;
            let (shape, values) = of(name);
            let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            let name = format!("after_step.weight.{name}");
            let tight = case.info(&name).tolerance_where_grad.expect("a tolerance");
            let tolerance = |at: usize| if (gradient[at] * clip).abs() > NOISE { tight } else { 2.0 * rate };
            self.within(&name, shape, &values, tolerance);
        }
    }

    /// Notes a failure when `holds` is false.
    pub fn holds(&mut self, what: &str, holds: bool) {
        self.compared += 1;
        if !holds && !*BFLOAT16 {
            self.failures.push(what.to_owned());
        }
    }

    /// Prints the worst comparison and fails the test if any was outside its tolerance.
    ///
    /// # Panics
    /// If a comparison failed, or there was none.
    #[allow(clippy::print_stdout, reason = "shown for a failing test and with --nocapture")]
    pub fn finish(self) {
        let Self { case, label, compared, worst, failures } = self;
        let name = &case.name;
        println!("{name} ({label}): {compared} compared, worst {:.3} x {}", worst.0, worst.1);
        assert!(compared > 0, "{name}: nothing compared");
        assert!(failures.is_empty(), "{name} ({label}):\n  {}", failures.join("\n  "));
    }
}
