//! Problems beyond the TSP, by the columns a file has.

use std::path::Path;

use super::super::shown;
use super::columns::{Column, find};
use super::options::{Options, flag};
use super::sheet::Sheet;
use super::{DEMAND, DEPOT, PENALTY, PRIZE, REAL_PRIZE};
use crate::routes::cvrp::Cvrp;
use crate::routes::depot;
use crate::routes::instance::Instance;
use crate::routes::orienteering::Orienteering;
use crate::routes::prize_collecting::PrizeCollecting;
use crate::routes::tsp::Tsp;
use crate::{Error, Result};

/// Reads an instance of the problem that the columns tell: vehicle routing where there are demands,
/// prize collecting where there are prizes and penalties, orienteering where there are prizes,
/// otherwise the TSP.
///
/// The first row is the depot, unless a column `depot` marks one row with 1. The depot becomes node
/// 0; its demand, prize and penalty may be left empty.
///
/// # Errors
/// [`Error::Parse`] naming line and field; also when the capacity or bound that the problem needs
/// is neither in `options` nor in a comment of the file.
///
/// ```
/// use regard_data::routes::formats::csv;
/// use regard_data::routes::instance::Instance;
///
/// let text = "# capacity: 4\nid,x,y,demand\ndepot,0,0,\na,3,0,2\nb,3,4,2\n";
/// let Instance::Cvrp(three) = csv::parse_instance(text, "three.csv".as_ref(), &csv::Options::default())? else {
///     panic!("demands make it vehicle routing");
/// };
/// assert_eq!(three.cost(&[vec![1, 2]]), 12.0);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse_instance(text: &str, path: &Path, options: &Options) -> Result<Instance> {
    let sheet = Sheet::of(text, path)?;
    let columns = Columns::of(&sheet)?;
    if columns.are_of_a_tsp() {
        return super::parse(text, path).map(Instance::Tsp);
    }
    let (options, remarks) = options.and_comments(&sheet)?;
    let sites = sheet.sites(&remarks)?;
    let depot = columns.depot(&sheet)?;
    let reader = Reader { sheet: &sheet, depot };
    match columns {
        Columns { demand: Some(demand), .. } => reader.cvrp(sites, &demand, &options).map(Instance::Cvrp),
        Columns { prize: Some(prize), penalty: Some(penalty), real_prize, .. } => {
            let instance = reader.prize_collecting(sites, [&prize, &penalty], real_prize.as_ref(), &options)?;
            Ok(Instance::PrizeCollecting(instance))
        }
        Columns { prize: Some(prize), .. } => reader.orienteering(sites, &prize, &options).map(Instance::Orienteering),
        Columns { .. } => super::parse(text, path).map(Instance::Tsp),
    }
}

struct Columns {
    demand: Option<Column>,
    prize: Option<Column>,
    penalty: Option<Column>,
    real_prize: Option<Column>,
    depot: Option<Column>,
}

impl Columns {
    fn of(sheet: &Sheet<'_>) -> Result<Self> {
        let error = |reason: &str| Error::parse(sheet.path, sheet.top, reason);
        let column = |wanted: &[&str]| find(&sheet.header, wanted).map_err(|reason| error(&reason));
        let columns = Self {
            demand: column(&DEMAND)?,
            prize: column(&PRIZE)?,
            penalty: column(&PENALTY)?,
            real_prize: column(&REAL_PRIZE)?,
            depot: column(&DEPOT)?,
        };
        let has = |column: &Option<Column>| column.is_some();
        let given = (has(&columns.prize), has(&columns.penalty), has(&columns.real_prize));
        match given {
            (false, false, false) => Ok(columns),
            _ if has(&columns.demand) => {
                let hint = "vehicle routing has demands, orienteering prizes, prize collecting prizes and penalties";
                Err(error("has demands and prizes or penalties, expected one problem").with_hint(hint))
            }
            (true, false, false) | (true, true, _) => Ok(columns),
            (_, _, true) => Err(error("has real prizes without prizes and penalties, expected all three")),
            (false, true, false) => Err(error("has penalties without prizes, expected both")),
        }
    }

    fn are_of_a_tsp(&self) -> bool {
        self.demand.is_none() && self.prize.is_none()
    }

    /// The row that is the depot, counted from 0.
    fn depot(&self, sheet: &Sheet<'_>) -> Result<usize> {
        let Some((column, name)) = &self.depot else {
            return Ok(0);
        };
        let mut marked: Option<(usize, usize)> = None;
        for (at, row) in sheet.rows().enumerate() {
            let found = row.field(*column);
            let Some(is_depot) = flag(found) else {
                return Err(row.error(name, format!("found `{}`, expected 1 for the depot, else 0", shown(found))));
            };
            match marked {
                Some((_, first)) if is_depot => {
                    let reason = format!("marks a second depot, first on line {first}, expected one");
                    return Err(row.error(name, reason).with_hint("several depots are not supported"));
                }
                None if is_depot => marked = Some((at, row.line)),
                _ => {}
            }
        }
        let none = || Error::parse(sheet.path, sheet.top, "marks no row with 1, expected the depot").in_field(name);
        marked.map(|(at, _)| at).ok_or_else(none)
    }
}

struct Reader<'s, 't> {
    sheet: &'s Sheet<'t>,
    depot: usize,
}

impl Reader<'_, '_> {
    fn cvrp(&self, sites: Tsp, demand: &Column, options: &Options) -> Result<Cvrp> {
        let capacity = self.told("capacity", "vehicle routing", options.capacity, "100")?;
        let split = options.split.unwrap_or(false);
        let most = if split { f64::INFINITY } else { capacity };
        let demands = self.amounts(demand, true, |value| {
            let over = || format!("found {value}, which is above the capacity ({capacity})");
            if depot::within(value, most) { Ok(()) } else { Err(over()) }
        })?;
        let sites = depot::first(sites, self.depot)?;
        let instance = match split {
            true => Cvrp::new_split(sites, demands, capacity)?,
            false => Cvrp::new(sites, demands, capacity)?,
        };
        match options.max_length {
            Some(limit) => instance.with_limit(limit, options.service_time.unwrap_or(0.0)),
            None => Ok(instance),
        }
    }

    fn orienteering(&self, sites: Tsp, prize: &Column, options: &Options) -> Result<Orienteering> {
        let max_length = self.told("max_length", "orienteering", options.max_length, "40")?;
        let prizes = self.amounts(prize, false, |_| Ok(()))?;
        Orienteering::new(depot::first(sites, self.depot)?, prizes, max_length)
    }

    fn prize_collecting(
        &self,
        sites: Tsp,
        [prize, penalty]: [&Column; 2],
        real_prize: Option<&Column>,
        options: &Options,
    ) -> Result<PrizeCollecting> {
        let required = self.told("required_prize", "prize collecting", options.required_prize, "1")?;
        let column = |column| self.amounts(column, true, |_| Ok(()));
        let (prizes, penalties) = (column(prize)?, column(penalty)?);
        let instance = PrizeCollecting::new(depot::first(sites, self.depot)?, prizes, penalties, required)?;
        match real_prize {
            Some(real) => instance.with_real_prizes(column(real)?),
            None => Ok(instance),
        }
    }

    /// A number that the caller or a comment must have told.
    fn told(&self, name: &str, problem: &str, value: Option<f64>, example: &str) -> Result<f64> {
        value.ok_or_else(|| {
            let reason = format!("has no {name}, which {problem} needs");
            let hint = format!("e.g. `# {name}: {example}` as the first line");
            Error::parse(self.sheet.path, 0, reason).with_hint(hint)
        })
    }

    /// The numbers of a column, the depot's first; `check` says what is wrong with one. The
    /// depot's may be empty, and must be 0 where `nothing` says so.
    fn amounts(&self, column: &Column, nothing: bool, check: impl Fn(f64) -> Result<(), String>) -> Result<Vec<f64>> {
        let (at, name) = column;
        let mut values = Vec::new();
        for (number, row) in self.sheet.rows().enumerate() {
            let is_depot = number == self.depot;
            let empty = row.field(*at).is_empty();
            let value = if is_depot && empty { 0.0 } else { row.number(column)? };
            if value < 0.0 {
                return Err(row.error(name, format!("found {value}, expected 0 or more")));
            }
            if is_depot && nothing && value != 0.0 {
                return Err(row.error(name, format!("found {value} for the depot, expected 0")));
            }
            check(value).map_err(|reason| row.error(name, reason))?;
            values.push(value);
        }
        if let Some(front) = values.get_mut(..=self.depot) {
            front.rotate_right(1);
        }
        Ok(values)
    }
}
