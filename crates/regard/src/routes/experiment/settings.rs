//! Settings of the sections `[task]`, `[data]` and `[eval]`.

use regard_routing::formats::csv::{ColumnRole, Duplicates, Options, TableOptions};
use regard_routing::generate::{GeneratorConfig, Points, Prizes};
use regard_routing::registry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::DecimalMark;
use crate::{Error, Result};

/// Section `[task]`: the problem to learn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Routing problem that the network learns to solve.
    #[schemars(extend("x-words" = crate::routes::model::PROBLEMS))]
    pub problem: String,
}

impl Default for Task {
    fn default() -> Self {
        Self { problem: registry::DEFAULT.into() }
    }
}

/// Section `[data]`: the instances to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// Number of nodes of an instance, without the depot; `[20, 100]` samples a size for every batch.
    #[schemars(extend("x-type" = "integer or [lowest, highest]", "minimum" = 2, "maximum" = 10_000))]
    pub nodes: Sizes,
    /// Distribution of the nodes in the unit square.
    pub distribution: Distribution,
    /// Folder of instance files from whose nodes training instances are sampled; empty for random points. Each file
    /// needs at least as many nodes as an instance.
    #[serde(default)]
    pub folder: String,
    /// Columns of the tables (CSV) in the folder by role, such as `["demand=Weight"]`; roles without one are found by
    /// their names.
    #[serde(default)]
    pub column_roles: Vec<String>,
    /// Decimal mark of the numbers of these tables; `auto` for what the numbers of a column show.
    #[serde(default)]
    pub decimal: DecimalMark,
    /// Id of the depot in these tables; empty for the row marked in the column `depot`, else the first row.
    #[serde(default)]
    pub depot: String,
    /// Treatment of rows of these tables with the id of an earlier row; `auto` keeps those at the same place and refuses
    /// others.
    #[serde(default)]
    pub duplicates: DuplicateRows,
    /// If true, rows of these tables that cannot be read are skipped.
    #[serde(default)]
    pub skip_bad: bool,
    /// Capacity of a vehicle for these tables; 0 for that of their comments.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub capacity: f64,
    /// Maximum length of a route or tour for these tables; 0 for that of their comments.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub max_length: f64,
    /// Minimum total prize to collect for these tables; 0 for that of their comments.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub required_prize: f64,
    /// Distribution of the prizes of the nodes, for problems that have prizes.
    pub prizes: PrizeKind,
}

impl DataSettings {
    /// Options of the reader of tables in the folder.
    ///
    /// # Errors
    /// [`Error::Config`] for a column of no role.
    pub fn table_options(&self) -> Result<TableOptions> {
        let column = |text: &String| {
            ColumnRole::parse(text)
                .map_err(|reason| Error::config("data.column_roles", format!("has `{text}`: {reason}")))
        };
        let given = |value: f64| Some(value).filter(|value| *value > 0.0);
        Ok(TableOptions {
            values: Options::default()
                .with("capacity", given(self.capacity))
                .with("max_length", given(self.max_length))
                .with("required_prize", given(self.required_prize)),
            columns: self.column_roles.iter().map(column).collect::<Result<_>>()?,
            decimal: self.decimal.mark(),
            depot: Some(self.depot.clone()).filter(|depot| !depot.is_empty()),
            duplicates: match self.duplicates {
                DuplicateRows::Auto => None,
                DuplicateRows::Keep => Some(Duplicates::Keep),
                DuplicateRows::Sum => Some(Duplicates::Sum),
                DuplicateRows::First => Some(Duplicates::First),
                DuplicateRows::Last => Some(Duplicates::Last),
                DuplicateRows::Error => Some(Duplicates::Error),
            },
            skip_bad: self.skip_bad,
            // A folder has many tables.
            distances: None,
        })
    }

    /// Settings of the generator of random instances.
    pub fn generator(&self) -> GeneratorConfig {
        let points = match self.distribution {
            Distribution::Uniform => Points::Uniform,
            Distribution::Cluster => Points::Cluster { centres: 3 },
            Distribution::GaussianMixture => Points::GaussianMixture { centres: 3, scale: 10 },
            Distribution::Mixed => Points::Mixed,
            Distribution::Hills => Points::Hills,
            Distribution::Asymmetric => Points::Asymmetric,
        };
        let prizes = match self.prizes {
            PrizeKind::Const => Prizes::Const,
            PrizeKind::Unif => Prizes::Unif,
            PrizeKind::Dist => Prizes::Dist,
        };
        GeneratorConfig { points, prizes }
    }
}

impl Default for DataSettings {
    fn default() -> Self {
        Self {
            nodes: Sizes::One(20),
            distribution: Distribution::Uniform,
            folder: String::new(),
            column_roles: Vec::new(),
            decimal: DecimalMark::Auto,
            depot: String::new(),
            duplicates: DuplicateRows::Auto,
            skip_bad: false,
            capacity: 0.0,
            max_length: 0.0,
            required_prize: 0.0,
            prizes: PrizeKind::Dist,
        }
    }
}

/// Treatment of rows with the id of an earlier row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DuplicateRows {
    /// Rows at the same place are stops of their own, others an error.
    #[default]
    Auto,
    /// Stops of their own.
    Keep,
    /// One stop with the sum of the amounts.
    Sum,
    /// The first row counts.
    First,
    /// The last row counts.
    Last,
    /// An error.
    Error,
}

/// Sizes of instances: `20`, or `[20, 100]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of nodes such as 20, or the lowest and the highest such as [20, 100]")]
pub enum Sizes {
    /// The same size for all instances.
    One(usize),
    /// A size sampled uniformly for every batch, between the lowest and the highest, both included.
    Between([usize; 2]),
}

impl Sizes {
    /// The smallest size.
    pub fn low(self) -> usize {
        match self {
            Sizes::One(nodes) | Sizes::Between([nodes, _]) => nodes,
        }
    }

    /// The largest size.
    pub fn high(self) -> usize {
        match self {
            Sizes::One(nodes) | Sizes::Between([_, nodes]) => nodes,
        }
    }
}

/// Distribution of the nodes in the plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Uniform in the unit square.
    Uniform,
    /// Clustered around three centres.
    Cluster,
    /// Mixture of three normal distributions.
    GaussianMixture,
    /// For each instance one of the three above with equal chances; mixtures have 3, 5 or 7 centres that lie more or less apart.
    Mixed,
    /// Uniform at random heights: a way is longer by what it climbs.
    Hills,
    /// No coordinates: a random matrix of distances that differ by direction, with shortest ways (Kwon et al. 2021).
    Asymmetric,
}

/// Distribution of the prizes of nodes (Kool et al. 2019, appendix C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrizeKind {
    /// All prizes are 1.
    Const,
    /// Uniform between 0.01 and 1.
    Unif,
    /// Increasing with the distance from the depot.
    Dist,
}

/// Section `[eval]`: the validation of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalSettings {
    /// Number of validation instances.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub instances: usize,
    /// Seed of the validation instances.
    pub seed: u64,
    /// Decoding method: `greedy`, `sample:K`, `multistart`, `multistart:K` or `beam:K`.
    pub decode: String,
    /// Number of views of each instance: 1, or 8 for all symmetries of the square.
    #[schemars(extend("x-words" = [1, 8]))]
    pub augment: usize,
}

impl Default for EvalSettings {
    fn default() -> Self {
        Self { instances: 10_000, seed: 4321, decode: "greedy".into(), augment: 1 }
    }
}
