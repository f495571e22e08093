//! Files of instances: CVRPLIB (`.vrp`) and CSV.
//!
//! CVRPLIB is TSPLIB95 with `CAPACITY`, `DEMAND_SECTION` and `DEPOT_SECTION`, and for some sets `DISTANCE` (the longest
//! a route may be) and `SERVICE_TIME` (what each visit adds to it). Distances are those the file names, so `EUC_2D`
//! is rounded. The best-known costs of some sets (CMT, Golden) are for straight lines that are not: see
//! [`Cvrp::unrounded`]. The tables of distances of set E are read as `LOWER_ROW`, as they say; E-n13-k4 then has the
//! optimum 247 that CVRPLIB lists.

use super::Cvrp;
use super::instance::too_many_loads;
use crate::formats::csv::{self, ColumnKind, CsvColumn, CsvOption, DepotTable, Sheet};
use crate::formats::tsplib::{self, Amount, TsplibType};
use crate::instance::FileSpec;
use crate::{Result, depot};

/// The demands of a TSPLIB file.
pub(crate) const SECTION: &str = "DEMAND_SECTION";

pub(crate) const TSPLIB: TsplibType = TsplibType {
    name: "CVRP",
    // Files with a limit on the length of routes call themselves any of these.
    words: &["CVRP", "VRP", "DCVRP", "DVRP", "ACVRP"],
    sections: &[SECTION, tsplib::DEPOT_SECTION],
    marker: Some(SECTION),
    sections_note: "depots and demands belong to vehicle routing",
    keywords: &["CAPACITY", "DISTANCE", "SERVICE_TIME"],
    in_tenths: false,
    endings: &["vrp"],
};

pub(crate) const COLUMNS: &[CsvColumn] = &[CsvColumn {
    names: &["demand"],
    words: &[
        "demands",
        "weight",
        "qty",
        "quantity",
        "amount",
        "load",
        "volume",
        "units",
        "pallets",
        "parcels",
        "kg",
        "mass",
        "gewicht",
        "menge",
        "bedarf",
        "nachfrage",
        "ladung",
        "anzahl",
        "stuck",
        "stueck",
        "stuckzahl",
        "stueckzahl",
        "paletten",
        "pakete",
        "volumen",
        "last",
        "demande",
        "poids",
        "quantite",
        "charge",
        "colis",
        "palettes",
        "demanda",
        "peso",
        "cantidad",
        "carga",
        "bultos",
        "domanda",
        "quantita",
        "carico",
        "vraag",
        "hoeveelheid",
        "aantal",
    ],
    kind: ColumnKind::Amount,
}];

pub(crate) const OPTIONS: &[CsvOption] = &[
    CsvOption::above_zero("capacity"),
    CsvOption::above_zero("max_length"),
    CsvOption::not_negative("service_time").only_in_files(),
    CsvOption::flag("split").only_in_files(),
];

/// Reads a CVRPLIB file; only with split deliveries may a demand be above the capacity.
pub(crate) fn read_tsplib(file: &tsplib::File<'_>) -> Result<Cvrp> {
    let split = file.tsplib.name != TSPLIB.name;
    let sites = file.sites()?;
    let capacity = file.required_amount("CAPACITY", "capacity of a vehicle")?;
    let mut demands = file.amounts(SECTION, sites.ids(), "demand")?;
    let depot = file.depot(sites.ids())?;
    check(file, &demands, sites.ids(), depot, if split { f64::INFINITY } else { capacity })?;
    if let Some((node, reason)) = too_many_loads(demands.iter().map(|demand| demand.value), capacity) {
        let reason = format!("node {} has demand {reason}", sites.ids()[node]);
        return Err(file.error(demands[node].line, reason).in_field(SECTION));
    }
    let limit = file.amount("DISTANCE", false)?;
    let service = file.amount("SERVICE_TIME", true)?.unwrap_or(0.0);
    demands[..=depot].rotate_right(1);
    let amounts = demands.iter().map(|demand| demand.value).collect();
    let instance = build(depot::first(sites, depot)?, amounts, capacity, split)?.with_service(limit, service)?;
    match instance.too_far(split) {
        Some((node, reason)) => Err(file.error(demands[node].line, reason).in_field("DISTANCE")),
        None => Ok(instance),
    }
}

fn build(sites: crate::Sites, demands: Vec<f64>, capacity: f64, split: bool) -> Result<Cvrp> {
    if split { Cvrp::with_any_demands(sites, demands, capacity) } else { Cvrp::new(sites, demands, capacity) }
}

/// Checks that the depot has no demand, and no customer more than a vehicle carries.
fn check(file: &tsplib::File<'_>, demands: &[Amount], ids: &[String], depot: usize, capacity: f64) -> Result<()> {
    for (node, (demand, id)) in demands.iter().zip(ids).enumerate() {
        let value = demand.value;
        let reason = if node == depot && value != 0.0 {
            format!("node {id} is the depot and has demand {value}, expected 0")
        } else if !depot::within(value, capacity) {
            format!("node {id} has demand {value}, which is above CAPACITY ({capacity})")
        } else {
            continue;
        };
        let error = file.error(demand.line, reason).in_field(SECTION);
        return Err(match node == depot {
            true => error,
            false => error.with_hint("`TYPE : SDVRP` lets several vehicles share a delivery"),
        });
    }
    Ok(())
}

/// Sections of a CVRPLIB file beside the nodes.
pub(crate) fn tsplib_fields(instance: &Cvrp) -> tsplib::Fields<'_> {
    let mut keywords = vec![("CAPACITY", instance.capacity())];
    if let Some(limit) = instance.limit() {
        keywords.extend([("DISTANCE", limit), ("SERVICE_TIME", instance.service())]);
    }
    tsplib::Fields { keywords, sections: vec![(SECTION, vec![instance.demands()])] }
}

/// Reads a CSV table; only with `split` may a demand be above the capacity.
pub(crate) fn read_csv(
    sheet: &Sheet<'_>,
    options: &csv::Options,
    files: &'static FileSpec,
    split: bool,
) -> Result<Cvrp> {
    let table = DepotTable::of(sheet, options, files)?;
    let capacity = table.required_option("capacity", "100")?;
    let demands = table.amounts("demand", true)?;
    if !split {
        let hint = "`# split: yes` above the header lets several vehicles share a delivery";
        check_demands(&table, &demands, capacity).map_err(|error| error.with_hint(hint))?;
    }
    if let Some((node, reason)) = too_many_loads(demands.iter().copied(), capacity) {
        return Err(table.error_at(node, "demand", format!("found {reason}")));
    }
    let instance = build(table.sites()?, demands, capacity, split)?;
    let instance = instance.with_service(table.option("max_length"), table.option("service_time").unwrap_or(0.0))?;
    match instance.too_far(split) {
        Some((node, reason)) => Err(table.error_at(node, "max_length", reason)),
        None => Ok(instance),
    }
}

/// Refuses a demand of a table that is above the capacity.
pub(crate) fn check_demands(table: &DepotTable<'_, '_>, demands: &[f64], capacity: f64) -> Result<()> {
    match demands.iter().position(|demand| !depot::within(*demand, capacity)) {
        Some(node) => {
            let reason = format!("found {}, which is above the capacity ({capacity})", demands[node]);
            Err(table.error_at(node, "demand", reason))
        }
        None => Ok(()),
    }
}

/// Columns of a CSV table beside the nodes.
pub(crate) fn csv_fields(instance: &Cvrp) -> csv::Fields<'_> {
    let mut options = vec![("capacity", instance.capacity().to_string())];
    if let Some(limit) = instance.limit() {
        options.push(("max_length", limit.to_string()));
        options.push(("service_time", instance.service().to_string()));
    }
    csv::Fields { options, columns: vec![("demand", instance.demands())], ..csv::Fields::default() }
}
