//! Options of tables of places, for every command that reads them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use regard::data::table::numbers::Decimal;
use regard::routing::formats::csv::{ColumnRole, Duplicates, Options, TableOptions};

/// Options of the reader of tables of places.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tables of places (CSV)")]
pub(crate) struct TableArgs {
    // With the roles of all problems.
    #[arg(long, value_name = "ROLE=NAME", value_parser = ColumnRole::parse, help = help_of_columns())]
    column: Vec<ColumnRole>,
    /// Decimal mark of the numbers: point or comma [default: what the numbers of a column show]
    #[arg(long, value_name = "MARK", value_parser = PossibleValuesParser::new(["point", "comma"]), hide_possible_values = true)]
    decimal: Option<String>,
    /// File of the distances between the rows, which may differ by direction: a square of numbers with ids above
    /// and before it or in the order of the rows, or rows under `from,to,distance`
    #[arg(long, value_name = "FILE")]
    distances: Option<PathBuf>,
    /// Id of the depot [default: the row marked in the column `depot`, else the first row]
    #[arg(long, value_name = "ID")]
    depot: Option<String>,
    /// Rows with the id of an earlier row: keep (stops of their own), sum (one stop with the sum of
    /// the amounts), first, last or error [default: keep at the same place, else error]
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(Duplicates::ALL.map(|(name, _)| name)),
        hide_possible_values = true)]
    duplicates: Option<String>,
    /// Skip rows that cannot be read, and list them
    #[arg(long)]
    skip_bad: bool,
    /// Capacity of a vehicle, for a table with demands
    #[arg(long, value_name = "VALUE", value_parser = super::positive)]
    capacity: Option<f64>,
    /// Maximum length of a route or tour, for a table with demands or prizes
    #[arg(long, value_name = "VALUE", value_parser = super::positive)]
    max_length: Option<f64>,
    /// Minimum total prize to collect, for a table with penalties
    #[arg(long, value_name = "VALUE", value_parser = super::amount)]
    required_prize: Option<f64>,
}

/// The help of `--column`, with the roles of all problems.
fn help_of_columns() -> String {
    format!(
        "Column of a role, for example demand=Weight; may be repeated, and an empty NAME leaves a role without a column. \
         Roles: {}",
        ColumnRole::names().join(", ")
    )
}

impl TableArgs {
    /// If true, rows that cannot be read are skipped.
    pub(crate) fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    /// The options of the reader.
    pub(crate) fn options(&self) -> TableOptions {
        let treatment = |name: &String| Duplicates::ALL.iter().find(|(known, _)| known == name).map(|(_, how)| *how);
        TableOptions {
            values: Options::default()
                .with("capacity", self.capacity)
                .with("max_length", self.max_length)
                .with("required_prize", self.required_prize),
            columns: self.column.clone(),
            decimal: self.decimal.as_deref().and_then(Decimal::named),
            depot: self.depot.clone(),
            duplicates: self.duplicates.as_ref().and_then(treatment),
            skip_bad: self.skip_bad,
            distances: self.distances.clone(),
        }
    }
}
