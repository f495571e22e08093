//! Names of the paper's sets.

use std::fmt;

use crate::routes::drawn::Prizes;
use crate::{Error, Result};

/// One of the paper's test sets: a problem and a number of nodes (of customers, where there is a
/// depot).
///
/// ```
/// use regard_data::routes::paper::PaperSet;
///
/// let set = PaperSet::parse("op_dist50")?;
/// assert_eq!((set.problem(), set.n()), ("op", 50));
/// assert_eq!(set.to_string(), "op_dist50");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaperSet {
    /// "tsp20": the travelling salesman.
    Tsp {
        /// Nodes.
        n: usize,
    },
    /// "cvrp20": capacitated vehicle routing.
    Cvrp {
        /// Customers.
        n: usize,
    },
    /// "sdvrp20": vehicle routing with split deliveries, on the instances of "cvrp20".
    Sdvrp {
        /// Customers.
        n: usize,
    },
    /// "op_const20", "op_unif20", "op_dist20": orienteering.
    Orienteering {
        /// How the prizes are drawn.
        prizes: Prizes,
        /// Customers.
        n: usize,
    },
    /// "pctsp_det20" (or "pctsp20"): prize collecting.
    PrizeCollecting {
        /// Customers.
        n: usize,
    },
    /// "pctsp_stoch20" (or "spctsp20"): prize collecting with prizes that show on arrival, on the
    /// instances of "pctsp_det20".
    StochasticPrizeCollecting {
        /// Customers.
        n: usize,
    },
}

/// The names without their numbers; the two last ones are other names of the two before.
const STEMS: [&str; 10] =
    ["tsp", "cvrp", "sdvrp", "op_const", "op_unif", "op_dist", "pctsp_det", "pctsp_stoch", "pctsp", "spctsp"];

impl PaperSet {
    /// The set of that name.
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the known names, with the nearest one.
    pub fn parse(name: &str) -> Result<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[stem.len()..];
        let n = digits.parse().ok().filter(|n| *n > 0);
        n.and_then(|n| Self::of(stem, n)).ok_or_else(|| unknown(name, stem, digits))
    }

    fn of(stem: &str, n: usize) -> Option<Self> {
        Some(match stem {
            "tsp" => Self::Tsp { n },
            "cvrp" => Self::Cvrp { n },
            "sdvrp" => Self::Sdvrp { n },
            "pctsp_det" | "pctsp" => Self::PrizeCollecting { n },
            "pctsp_stoch" | "spctsp" => Self::StochasticPrizeCollecting { n },
            _ => Self::Orienteering { prizes: Prizes::parse(stem.strip_prefix("op_")?).ok()?, n },
        })
    }

    /// Name of the problem: "tsp", "cvrp", "sdvrp", "op", "pctsp" or "spctsp".
    #[must_use]
    pub fn problem(self) -> &'static str {
        match self {
            Self::Tsp { .. } => "tsp",
            Self::Cvrp { .. } => "cvrp",
            Self::Sdvrp { .. } => "sdvrp",
            Self::Orienteering { .. } => "op",
            Self::PrizeCollecting { .. } => "pctsp",
            Self::StochasticPrizeCollecting { .. } => "spctsp",
        }
    }

    /// The number in the name: nodes of "tsp", customers of the other problems.
    #[must_use]
    pub fn n(self) -> usize {
        match self {
            Self::Tsp { n }
            | Self::Cvrp { n }
            | Self::Sdvrp { n }
            | Self::Orienteering { n, .. }
            | Self::PrizeCollecting { n }
            | Self::StochasticPrizeCollecting { n } => n,
        }
    }
}

impl fmt::Display for PaperSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.n();
        match self {
            Self::Orienteering { prizes, .. } => write!(f, "op_{}{n}", prizes.name()),
            Self::PrizeCollecting { .. } => write!(f, "pctsp_det{n}"),
            Self::StochasticPrizeCollecting { .. } => write!(f, "pctsp_stoch{n}"),
            _ => write!(f, "{}{n}", self.problem()),
        }
    }
}

/// The error for a name that is none.
fn unknown(name: &str, stem: &str, digits: &str) -> Error {
    let written = stem.to_lowercase();
    let nearest = STEMS.into_iter().map(|known| (strsim::damerau_levenshtein(&written, known), known)).min();
    let size = if digits.bytes().any(|digit| digit != b'0') { digits } else { "20" };
    let meant = match nearest {
        Some((distance, known)) if distance <= known.len().div_ceil(3) && size.len() < 10 => {
            format!(" (did you mean `{known}{size}`?)")
        }
        _ => String::new(),
    };
    let known = "tspN, cvrpN, sdvrpN, op_constN, op_unifN, op_distN, pctsp_detN and pctsp_stochN, with N at least 1";
    Error::invalid(format!("paper set `{name}`"), format!("no such set{meant}; there are {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written() {
        for (at, stem) in STEMS.into_iter().enumerate() {
            let set = PaperSet::parse(&format!("{stem}37")).unwrap();
            let named = PaperSet::parse(&set.to_string()).unwrap();
            assert_eq!((set, set.n()), (named, 37));
            assert_eq!(set.to_string() == format!("{stem}37"), at < 8, "{set}");
        }
        let problems = STEMS.map(|stem| PaperSet::parse(&format!("{stem}1")).unwrap().problem());
        assert_eq!(problems, ["tsp", "cvrp", "sdvrp", "op", "op", "op", "pctsp", "spctsp", "pctsp", "spctsp"]);
    }

    #[test]
    fn other_names_are_refused_with_the_nearest() {
        for (name, meant) in [
            ("op_dits50", "(did you mean `op_dist50`?)"),
            ("vrp20", "(did you mean `cvrp20`?)"),
            ("TSP100", "(did you mean `tsp100`?)"),
            ("tsp", "(did you mean `tsp20`?)"),
            ("cvrp0", "(did you mean `cvrp20`?)"),
            ("tsp-5", "(did you mean `tsp5`?)"),
            ("pctsp_dt20", "(did you mean `pctsp_det20`?)"),
            ("jobshop20", "no such set; there are tspN"),
            ("", "no such set; there are tspN"),
            ("tsp99999999999999999999", "no such set; there are tspN"),
            ("op_20", "there are tspN"),
            ("caf\u{e9}7", "no such set; there are tspN"),
        ] {
            let error = PaperSet::parse(name).unwrap_err().to_string();
            assert!(error.contains(meant), "{name}: {error}");
        }
    }
}
