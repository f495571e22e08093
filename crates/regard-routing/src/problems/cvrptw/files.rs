//! Files of instances: VRPLIB (`.vrp`) and CSV; see [`solomon`](super::solomon) for the format of its own.
//!
//! VRPLIB is CVRPLIB with `TYPE : VRPTW` (or `CVRPTW`), `TIME_WINDOW_SECTION` (id, begin, end), service times as the
//! keyword `SERVICE_TIME` or `SERVICE_TIME_SECTION`, and the number of vehicles as `VEHICLES`, a limit. `EUC_2D` is read
//! by the rule of the 12th DIMACS Implementation Challenge: straight lines cut to one decimal ([`Metric::Tenths`]).
//!
//! [`Metric::Tenths`]: crate::Metric::Tenths

use super::instance::Fault;
use super::{Cvrptw, TimeWindows};
use crate::formats::csv::{self, ColumnKind, CsvColumn, CsvOption, DepotTable, Sheet};
use crate::formats::tsplib::{self, Amount, TsplibType};
use crate::formats::whole;
use crate::instance::SolverInstance;
use crate::problems::cvrp::{self, Cvrp};
use crate::{Error, Metric, Result, depot};

const DEMANDS: &str = "DEMAND_SECTION";
const WINDOWS: &str = "TIME_WINDOW_SECTION";
const SERVICE: &str = "SERVICE_TIME_SECTION";
const UNIFORM_SERVICE: &str = "SERVICE_TIME";
const VEHICLES: &str = "VEHICLES";

pub(super) const TSPLIB: TsplibType = TsplibType {
    name: "VRPTW",
    words: &["VRPTW", "CVRPTW"],
    sections: &[DEMANDS, tsplib::DEPOT_SECTION, WINDOWS, SERVICE],
    marker: Some(WINDOWS),
    sections_note: "time windows belong to vehicle routing with time windows (TYPE : VRPTW)",
    keywords: &["CAPACITY", UNIFORM_SERVICE, VEHICLES],
    in_tenths: true,
    endings: &["vrp"],
};

pub(super) const COLUMNS: &[CsvColumn] = &[
    cvrp::COLUMNS[0],
    CsvColumn {
        names: &["ready", "ready_time"],
        words: &[
            "tw_start",
            "tw_begin",
            "tw_from",
            "tw_open",
            "time_window_start",
            "time_window_begin",
            "time_window_from",
            "window_start",
            "window_begin",
            "window_open",
            "start_time",
            "begin",
            "begin_time",
            "open",
            "open_time",
            "opening",
            "opening_time",
            "opens",
            "earliest",
            "earliest_time",
            "earliest_arrival",
            "not_before",
            "beginn",
            "offnung",
            "oeffnung",
            "lieferzeit_von",
            "zeitfenster_von",
            "von",
            "fruhestens",
            "fruehestens",
            "ouverture",
            "apertura",
        ],
        kind: ColumnKind::Time,
    },
    CsvColumn {
        names: &["due", "due_time", "due_date"],
        words: &[
            "deadline",
            "tw_end",
            "tw_to",
            "tw_close",
            "time_window_end",
            "time_window_to",
            "window_end",
            "window_close",
            "end_time",
            "close",
            "close_time",
            "closing",
            "closing_time",
            "closes",
            "latest",
            "latest_time",
            "latest_arrival",
            "not_after",
            "ende",
            "schliessung",
            "lieferzeit_bis",
            "zeitfenster_bis",
            "bis",
            "spatestens",
            "spaetestens",
            "fermeture",
            "cierre",
        ],
        kind: ColumnKind::Time,
    },
    CsvColumn {
        names: &["service", "service_time", "service_duration"],
        words: &["servicezeit", "standzeit", "duree"],
        kind: ColumnKind::Time,
    },
];

pub(super) const OPTIONS: &[CsvOption] = &[
    CsvOption::above_zero("capacity"),
    CsvOption::count("vehicles").only_in_files(),
    CsvOption::above_zero("speed").only_in_files().in_minutes(),
    CsvOption::not_negative("service_time").only_in_files(),
];

/// The number of vehicles that a number of a file stands for, or what is wrong with it.
pub(super) fn count(value: f64) -> Result<usize, String> {
    whole(value).ok_or_else(|| format!("found {value}, expected a whole number of at least 1"))
}

/// The speed at which a unit of distance takes a unit of time, a minute.
const SPEED: f64 = 60.0;

/// Times of an instance, which it has beside demands.
pub(super) struct Times {
    pub(super) windows: TimeWindows,
    pub(super) pace: f64,
    pub(super) vehicles: Option<usize>,
}

/// The instance of numbers from a file; `error` is that of a node, the depot being node 0, and of its "ready", "due" or
/// "service", or that of the "vehicles".
pub(super) fn build(
    routing: Cvrp,
    Times { windows, pace, vehicles }: Times,
    error: impl Fn(usize, &str, String) -> Error,
) -> Result<Cvrptw> {
    if windows.service[0] != 0.0 {
        return Err(error(0, "service", format!("found {} for the depot, expected 0", windows.service[0])));
    }
    let instance = Cvrptw::unreachable_allowed(routing, windows, pace)?.with_vehicles(vehicles);
    let instance = instance.map_err(|refused| match refused {
        Error::Invalid { reason, .. } => error(0, "vehicles", reason),
        other => other,
    })?;
    match instance.fault() {
        None => Ok(instance),
        Some(Fault { node, field, reason }) => {
            let id = &instance.sites().ids()[node];
            Err(error(node, field, format!("the window of node {id} {reason}")))
        }
    }
}

/// Checks that the depot has no demand, and no customer more than a vehicle carries; the line and the reason otherwise.
pub(super) fn check_demands(
    demands: &[Amount],
    ids: &[String],
    depot: usize,
    capacity: f64,
) -> Result<(), (usize, String)> {
    for (node, (Amount { line, value }, id)) in demands.iter().zip(ids).enumerate() {
        if node == depot && *value != 0.0 {
            return Err((*line, format!("node {id} is the depot and has demand {value}, expected 0")));
        }
        if !depot::within(*value, capacity) {
            return Err((*line, format!("node {id} has demand {value}, which is above the capacity ({capacity})")));
        }
    }
    Ok(())
}

/// Refuses keywords that would be without effect although routes have to keep them.
fn check_keywords(file: &tsplib::File<'_>) -> Result<()> {
    const LENGTH: &str = "DISTANCE";
    if let Some(line) = file.line_of(LENGTH)? {
        let reason = "a limit on the length of routes is not supported with time windows";
        let hint = "remove the line; the end of the depot's window limits the time of every route";
        return Err(file.error(line, reason).in_field(LENGTH).with_hint(hint));
    }
    match file.line_of(UNIFORM_SERVICE)? {
        Some(line) if file.has(SERVICE) => {
            let reason = format!("is given beside {SERVICE}, expected one of them");
            Err(file.error(line, reason).in_field(UNIFORM_SERVICE).with_hint("remove one of them"))
        }
        _ => Ok(()),
    }
}

/// Reads a VRPLIB file.
pub(super) fn read_tsplib(file: &tsplib::File<'_>) -> Result<Cvrptw> {
    let sites = file.sites()?;
    check_keywords(file)?;
    let ids = sites.ids();
    let capacity = file.required_amount("CAPACITY", "capacity of a vehicle")?;
    let mut demands = file.amounts(DEMANDS, ids, "demand")?;
    let mut windows = file.rows(WINDOWS, ids, ["begin", "end"])?;
    let depot = file.depot(ids)?;
    check_demands(&demands, ids, depot, capacity)
        .map_err(|(line, reason)| file.error(line, reason).in_field(DEMANDS))?;
    let uniform = file.amount(UNIFORM_SERVICE, true)?.unwrap_or(0.0);
    let mut service = match file.has(SERVICE) {
        true => file.amounts(SERVICE, ids, "service time")?,
        false => {
            (0..ids.len()).map(|node| Amount { line: 0, value: if node == depot { 0.0 } else { uniform } }).collect()
        }
    };
    let (vehicles, line_of_vehicles) = (file.count(VEHICLES)?, file.line_of(VEHICLES)?);
    demands[..=depot].rotate_right(1);
    windows[..=depot].rotate_right(1);
    service[..=depot].rotate_right(1);
    let values = |amounts: &[Amount]| amounts.iter().map(|amount| amount.value).collect::<Vec<_>>();
    let routing = Cvrp::new(depot::first(sites, depot)?, values(&demands), capacity)?;
    let of = |side: usize| windows.iter().map(|(_, ends)| ends[side]).collect();
    let times =
        Times { windows: TimeWindows { ready: of(0), due: of(1), service: values(&service) }, pace: 1.0, vehicles };
    build(routing, times, |node, field, reason| match field {
        "vehicles" => file.error(line_of_vehicles.unwrap_or(0), reason).in_field(VEHICLES),
        "service" => file.error(service[node].line, reason).in_field(SERVICE),
        _ => file.error(windows[node].0, reason).in_field(WINDOWS),
    })
}

/// Sections of a VRPLIB file beside the nodes; `None` where a window has no end, which such a file cannot say.
pub(super) fn tsplib_fields(instance: &Cvrptw) -> Option<tsplib::Fields<'_>> {
    let (routing, windows) = (instance.routing(), instance.windows());
    if instance.pace() != 1.0 || windows.due.iter().any(|due| due.is_infinite()) {
        return None;
    }
    let mut keywords = vec![("CAPACITY", routing.capacity())];
    keywords.extend(instance.vehicles().map(|vehicles| (VEHICLES, vehicles as f64)));
    let sections = vec![
        (DEMANDS, vec![routing.demands()]),
        (WINDOWS, vec![&windows.ready[..], &windows.due[..]]),
        (SERVICE, vec![&windows.service[..]]),
    ];
    Some(tsplib::Fields { keywords, sections })
}

/// Reads a CSV table. Times are minutes where a speed is given or where they are written as times of day.
pub(super) fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Cvrptw> {
    let table = DepotTable::of(sheet, options, Cvrptw::FILES)?;
    let capacity = table.required_option("capacity", "100")?;
    let demands = table.amounts("demand", true)?;
    cvrp::check_demands(&table, &demands, capacity)?;
    // The time of a visit is that of customers.
    let uniform = table.option("service_time").unwrap_or(0.0);
    let service = table.times("service", |is_depot| if is_depot { 0.0 } else { uniform })?;
    let windows =
        TimeWindows { ready: table.times("ready", |_| 0.0)?, due: table.times("due", |_| f64::INFINITY)?, service };
    let routing = Cvrp::new(table.sites()?, demands, capacity)?;
    let speed = table.option("speed");
    // Kilometres are not the unit of any time.
    let is_pace_guessed = speed.is_none() && matches!(routing.sites().metric(), Metric::GreatCircleKm);
    let pace = speed.map_or(1.0, |speed| SPEED / speed);
    let vehicles = table.option("vehicles").map(count).transpose();
    let vehicles = vehicles.map_err(|reason| table.error_in_option("vehicles", reason))?;
    let instance = build(routing, Times { windows, pace, vehicles }, |node, field, reason| match field {
        "vehicles" => table.error_in_option(field, reason),
        "service" => table.error_at(node, field, reason).with_hint(csv::ANOTHER_DEPOT),
        _ if table.has_times_of_day() => table.error_at(node, field, reason).with_hint(
            "times of day are minutes, and so are the times of driving; those of the next day are written on, as \
                 30:00 for 6:00",
        ),
        _ if is_pace_guessed => table.error_at(node, field, reason).with_hint(
            "a kilometre takes a unit of time; with `# speed: N` above the header, N km/h, times are minutes",
        ),
        _ => table.error_at(node, field, reason),
    })?;
    Ok(match table.has_times_of_day() {
        true => instance.with_times_of_day(speed),
        false if is_pace_guessed => instance.with_guessed_pace(),
        false => instance,
    })
}

/// Columns of a CSV table beside the nodes.
pub(super) fn csv_fields(instance: &Cvrptw) -> csv::Fields<'_> {
    let (routing, windows) = (instance.routing(), instance.windows());
    let mut options = vec![("capacity", routing.capacity().to_string())];
    options.extend(instance.vehicles().map(|vehicles| ("vehicles", vehicles.to_string())));
    if instance.pace() != 1.0 {
        options.push(("speed", (SPEED / instance.pace()).to_string()));
    }
    let columns = vec![
        ("demand", routing.demands()),
        ("ready", &windows.ready[..]),
        ("due", &windows.due[..]),
        ("service", &windows.service[..]),
    ];
    csv::Fields { options, columns, ..csv::Fields::default() }
}
