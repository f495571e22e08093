//! Sets of instances: demands, windows and service times of the customers, a capacity and the closing of the depot.

use super::{Cvrptw, CvrptwEnv, TimeWindows};
use crate::formats::sets::{RawInstance, RawSet, SetField};
use crate::problem::Locations;
use crate::problems::cvrp::Cvrp;
use regard_data::Fault;

/// Fields of a set beside the coordinates; times are in units of the side of the square, and the depot opens at 0.
pub(super) const FIELDS: &[SetField] = &[
    SetField::per_customer("demand").integers(),
    SetField::per_instance("capacity").or("vehicle_capacity"),
    SetField::per_customer("ready").marking(),
    SetField::per_customer("due").marking(),
    SetField::per_customer("service").or("durations"),
    SetField::per_instance("horizon"),
];

pub(super) fn values(problem: &CvrptwEnv) -> Vec<Vec<f64>> {
    let TimeWindows { ready, due, service } = problem.windows();
    let customers = |values: &[f64]| values[1..].to_vec();
    vec![
        customers(problem.demands()),
        vec![problem.capacity()],
        customers(ready),
        customers(due),
        customers(service),
        vec![due[0]],
    ]
}

pub(super) fn read(set: &RawSet) -> Result<Vec<CvrptwEnv>, Fault> {
    set.each(build)
}

fn build(instance: &RawInstance) -> Result<CvrptwEnv, String> {
    let amounts = |field: &str, name: &str| -> Result<Vec<f64>, String> {
        Ok(instance.amounts(field, name)?.into_iter().map(f64::from).collect())
    };
    let number = |field: &str| instance.number(field).filter(|value| value.is_finite() && *value > 0.0);
    let above_zero = |field: &str| number(field).ok_or_else(|| format!("{field}, expected a number above 0"));
    let (points, demands, capacity) =
        (Locations::from(instance.points()?), amounts("demand", "demand")?, above_zero("capacity")?);
    let mut due = amounts("due", "due time")?;
    due[0] = above_zero("horizon")?;
    let windows =
        TimeWindows { ready: amounts("ready", "ready time")?, due, service: amounts("service", "service time")? };
    let routing = points.sites("set").and_then(|sites| Cvrp::new(sites, demands.clone(), capacity));
    routing.and_then(|routing| Cvrptw::at_pace(routing, windows.clone(), 1.0)).map_err(|error| error.to_string())?;
    Ok(CvrptwEnv::new(points, demands, capacity, windows))
}
