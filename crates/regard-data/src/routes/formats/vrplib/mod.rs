//! Vehicle routing files of CVRPLIB (`.vrp`): TSPLIB95 with `CAPACITY`, `DEMAND_SECTION` and
//! `DEPOT_SECTION`, and for some sets `DISTANCE` (the longest a route may be) and `SERVICE_TIME`
//! (what each visit adds to it).
//!
//! Distances are those the file names, so `EUC_2D` is rounded. The best-known costs of some sets
//! (CMT, Golden) are for straight lines that are not: see [`Cvrp::unrounded`]. The tables of
//! distances of set E are read as `LOWER_ROW`, as they say; E-n13-k4 then has the optimum 247 that
//! CVRPLIB lists.

use std::path::Path;

use super::tsplib::header::Problem;
use super::tsplib::layout::Layout;
use super::tsplib::per_node::Amount;
use super::tsplib::write::render_with_depot;
use super::tsplib::{depot, per_node, sites};
use crate::Result;
use crate::file::write_atomic;
use crate::routes::cvrp::Cvrp;

/// Reads an instance from its text; `path` names it in errors. The depot becomes node 0, the
/// customers keep their order, all keep their ids.
///
/// The best-known cost is left open, see [`best_known`](super::best_known).
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) with line, what was found and what was expected.
///
/// ```
/// use regard_data::routes::formats::vrplib;
///
/// let text = "NAME: three\nTYPE: CVRP\nDIMENSION: 3\nCAPACITY: 5\nEDGE_WEIGHT_TYPE: EUC_2D
/// NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nDEMAND_SECTION\n1 0\n2 4\n3 4\nDEPOT_SECTION\n1\n-1\nEOF\n";
/// let instance = vrplib::parse(text, "three.vrp".as_ref())?;
/// assert_eq!(instance.cost(&[vec![1], vec![2]]), 16.0);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Cvrp> {
    read(&Layout::of(text, path)?, text.len())
}

pub(super) fn read(layout: &Layout<'_>, bytes: usize) -> Result<Cvrp> {
    let split = Problem::of(layout)? == Some(Problem::Sdvrp);
    let problem = if split { Problem::Sdvrp } else { Problem::Cvrp };
    let sites = sites(layout, bytes, problem)?;
    let Some(capacity) = layout.amount("CAPACITY", false)? else {
        let error = layout.error(0, format!("has no CAPACITY, which {} needs", problem.name()));
        return Err(error.with_hint("add `CAPACITY : what a vehicle carries`"));
    };
    let section = layout.required("DEMAND_SECTION", problem.name())?;
    let mut demands = per_node::read(layout, section, sites.ids(), "demand")?;
    let depot = depot::read(layout, sites.ids(), problem.name())?;
    check(layout, &demands, sites.ids(), depot, if split { f64::INFINITY } else { capacity })?;
    let limit = layout.amount("DISTANCE", false)?;
    let service = layout.amount("SERVICE_TIME", true)?.unwrap_or(0.0);
    demands[..=depot].rotate_right(1);
    let (sites, demands) = (crate::routes::depot::first(sites, depot)?, demands.iter().map(|d| d.value).collect());
    let instance =
        if split { Cvrp::new_split(sites, demands, capacity)? } else { Cvrp::new(sites, demands, capacity)? };
    match limit {
        Some(limit) => instance.with_limit(limit, service),
        None => Ok(instance),
    }
}

/// The depot wants nothing, and no customer more than a vehicle carries.
fn check(layout: &Layout<'_>, demands: &[Amount], ids: &[String], depot: usize, capacity: f64) -> Result<()> {
    for (node, (demand, id)) in demands.iter().zip(ids).enumerate() {
        let value = demand.value;
        let reason = if node == depot && value != 0.0 {
            format!("node {id} is the depot and has demand {value}, expected 0")
        } else if !crate::routes::depot::within(value, capacity) {
            format!("node {id} has demand {value}, which is above CAPACITY ({capacity})")
        } else {
            continue;
        };
        return Err(layout.error(demand.line, reason).in_field("DEMAND_SECTION"));
    }
    Ok(())
}

/// Writes an instance as a CVRPLIB file, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`](crate::Error::Io) when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Cvrp) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of a CVRPLIB file that reads as the same instance.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) when TSPLIB cannot say it: real-valued metrics (write CSV instead) and ids
/// that are not whole numbers.
pub fn render(instance: &Cvrp) -> Result<String> {
    let problem = if instance.split() { Problem::Sdvrp } else { Problem::Cvrp };
    let mut extra = vec![("CAPACITY", instance.capacity())];
    if let Some(limit) = instance.limit() {
        extra.extend([("DISTANCE", limit), ("SERVICE_TIME", instance.service())]);
    }
    render_with_depot(problem.name(), instance.sites(), &extra, "DEMAND_SECTION", instance.demands())
}

#[cfg(test)]
mod tests;
