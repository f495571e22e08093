//! Instances from the numbers of a file, checked.

use crate::routes::drawn::{DrawnCvrp, DrawnOrienteering, DrawnPrizeCollecting};

/// What is wrong with an instance.
type Refused = String;

/// Places in the unit square.
pub(in crate::routes::formats) fn points(points: &[[f64; 2]]) -> Result<Vec<[f32; 2]>, Refused> {
    let outside = |v: &&f64| !(0.0..=1.0).contains(*v);
    for (at, point) in points.iter().enumerate() {
        if let Some(bad) = point.iter().find(outside) {
            return Err(format!("coordinate {bad} of node {at}, expected 0 to 1"));
        }
    }
    Ok(points.iter().map(|point| point.map(|v| v as f32)).collect())
}

/// Vehicle routing: places with the depot first, demands of the customers.
pub(in crate::routes::formats) fn cvrp(
    places: &[[f64; 2]],
    demands: &[f64],
    capacity: f64,
) -> Result<DrawnCvrp, Refused> {
    let points = points(places)?;
    counted("demands", demands, places)?;
    let whole =
        |value: f64| (value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value)).then_some(value as u32);
    let Some(capacity) = whole(capacity).filter(|c| *c > 0) else {
        return Err(format!("capacity {capacity}, expected a whole number of at least 1"));
    };
    let mut all = vec![0];
    for (at, demand) in demands.iter().enumerate() {
        let customer = at + 1;
        match whole(*demand) {
            Some(demand) if demand <= capacity => all.push(demand),
            Some(demand) => {
                return Err(format!("demand {demand} of customer {customer} is above the capacity, {capacity}"));
            }
            None => {
                return Err(format!("demand {demand} of customer {customer}, expected a whole number of at least 0"));
            }
        }
    }
    Ok(DrawnCvrp { points, demands: all, capacity })
}

/// Orienteering: places with the depot first, prizes of the customers.
pub(in crate::routes::formats) fn orienteering(
    places: &[[f64; 2]],
    prizes: &[f64],
    max_length: f64,
) -> Result<DrawnOrienteering, Refused> {
    let points = points(places)?;
    let prizes = amounts("prize", prizes, places)?;
    match amount(max_length) {
        Some(max_length) => Ok(DrawnOrienteering { points, prizes, max_length }),
        None => Err(format!("greatest length {max_length}, expected a finite number of at least 0")),
    }
}

/// Prize collecting: places with the depot first, the other values of the customers.
pub(in crate::routes::formats) fn prize_collecting(
    places: &[[f64; 2]],
    penalties: &[f64],
    prizes: &[f64],
    real_prizes: &[f64],
) -> Result<DrawnPrizeCollecting, Refused> {
    Ok(DrawnPrizeCollecting {
        points: points(places)?,
        penalties: amounts("penalty", penalties, places)?,
        prizes: amounts("prize", prizes, places)?,
        real_prizes: amounts("stochastic prize", real_prizes, places)?,
    })
}

/// Values of customers with the depot's 0 in front.
fn amounts(name: &str, values: &[f64], places: &[[f64; 2]]) -> Result<Vec<f32>, Refused> {
    counted(name, values, places)?;
    let mut all = vec![0.0];
    for (at, value) in values.iter().enumerate() {
        let checked = amount(*value);
        all.push(
            checked.ok_or_else(|| {
                format!("{name} {value} of customer {}, expected a finite number of at least 0", at + 1)
            })?,
        );
    }
    Ok(all)
}

/// A number in single precision that is finite there and not negative.
fn amount(value: f64) -> Option<f32> {
    let single = value as f32;
    (single.is_finite() && single >= 0.0).then_some(single)
}

fn counted(name: &str, values: &[f64], places: &[[f64; 2]]) -> Result<(), Refused> {
    let customers = places.len().saturating_sub(1);
    if customers == 0 {
        return Err("has no customers".to_owned());
    }
    if values.len() == customers {
        return Ok(());
    }
    Err(format!("{} values of {name} for {customers} customers", values.len()))
}
