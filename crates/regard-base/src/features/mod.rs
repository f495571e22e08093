//! Features for base learners: sets, graphs and nodes as rows of numbers.

pub mod graphs;
pub mod sets;

/// Mean, smallest and largest value, standard deviation and sum; `None` without any.
fn pool(values: impl Iterator<Item = f32> + Clone) -> Option<[f32; 5]> {
    let count = values.clone().count();
    let sum = values.clone().map(f64::from).sum::<f64>();
    let mean = sum / count as f64;
    let square = values.clone().map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count as f64;
    let low = values.clone().fold(f32::INFINITY, f32::min);
    let high = values.fold(f32::NEG_INFINITY, f32::max);
    (count > 0).then_some([mean as f32, low, high, square.sqrt() as f32, sum as f32])
}
