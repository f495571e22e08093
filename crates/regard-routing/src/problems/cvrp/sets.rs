//! Sets of instances: demands of the customers and a capacity.

use super::{CvrpEnv, generate};
use crate::formats::sets::{RawInstance, RawSet, SetField};
use regard_data::Fault;

/// Fields of a set beside the coordinates.
pub(crate) const FIELDS: &[SetField] =
    &[SetField::per_customer("demand").marking().integers(), SetField::per_instance("capacity").or("vehicle_capacity")];

/// A set of four parts holds demands when a number of the third part is above 1 (the paper's prizes are not), or when
/// these numbers are Python integers and the fourth part is whole.
pub(crate) fn claims(set: &RawSet) -> bool {
    let above_one = |instance: &RawInstance| instance.values("demand").iter().any(|value| *value > 1.0);
    let counts = |instance: &RawInstance| {
        instance.is_integers("demand") && instance.number("capacity").is_some_and(|bound| bound.fract() == 0.0)
    };
    set.instances().iter().any(above_one) || set.instances().iter().all(counts)
}

/// The instances of a set; demands that are shares of the capacity are multiplied by it.
pub(crate) fn read(set: &RawSet) -> Result<Vec<CvrpEnv>, Fault> {
    let demands = || set.instances().iter().flat_map(|instance| instance.values("demand"));
    let shares = demands().any(|demand| demand.fract() != 0.0) && demands().all(|demand| (0.0..=1.0).contains(demand));
    set.each(|instance| {
        let capacity = instance.number("capacity").unwrap_or(f64::NAN);
        if !shares {
            return build(instance, instance.values("demand"), capacity);
        }
        let demands: Vec<f64> = instance.values("demand").iter().map(|share| near_whole(share * capacity)).collect();
        build(instance, &demands, capacity).map_err(|reason| format!("{reason} (shares of the capacity are read)"))
    })
}

fn build(instance: &RawInstance, demands: &[f64], capacity: f64) -> Result<CvrpEnv, String> {
    let points = instance.points()?;
    instance.check_count("demands", demands.len())?;
    let whole =
        |value: f64| (value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value)).then_some(value as u32);
    let Some(capacity) = whole(capacity).filter(|c| *c > 0) else {
        return Err(format!("capacity {capacity}, expected an integer of at least 1"));
    };
    let mut all = Vec::with_capacity(demands.len());
    for (at, demand) in demands.iter().enumerate() {
        let customer = at + 1;
        match whole(*demand) {
            Some(demand) if demand <= capacity => all.push(demand),
            Some(demand) => {
                return Err(format!("demand {demand} of customer {customer} is above the capacity, {capacity}"));
            }
            None => {
                return Err(format!("demand {demand} of customer {customer}, expected an integer of at least 0"));
            }
        }
    }
    Ok(generate::of_whole(points, all, capacity))
}

/// The integer that a share of the capacity in single precision stands for.
fn near_whole(demand: f64) -> f64 {
    let whole = demand.round();
    if (demand - whole).abs() <= 1e-3 { whole } else { demand }
}
