//! Settings of the sections `[task]`, `[data]` and `[eval]`.

use regard_routing::generate::{GeneratorConfig, Points, Prizes};
use regard_routing::registry;
use serde::{Deserialize, Serialize};

/// Section `[task]`: what is to be learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The problem, one of [`PROBLEMS`](crate::routes::model::PROBLEMS).
    pub problem: String,
}

impl Default for Task {
    fn default() -> Self {
        Self { problem: registry::DEFAULT.into() }
    }
}

/// Section `[data]`: where instances come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// Nodes of an instance.
    pub nodes: Sizes,
    /// Distribution of the nodes.
    pub distribution: Distribution,
    /// Folder of past instances, whose nodes are resampled instead of drawn; empty for none. Each has at
    /// least as many nodes as are asked for.
    #[serde(default)]
    pub folder: String,
    /// Distribution of prizes, for problems that have them.
    pub prizes: Prizes,
}

impl DataSettings {
    /// Settings of the generator of random instances.
    pub fn generator(&self) -> GeneratorConfig {
        let points = match self.distribution {
            Distribution::Uniform => Points::Uniform,
            Distribution::Cluster => Points::Cluster { centres: 3 },
            Distribution::GaussianMixture => Points::GaussianMixture { centres: 3, scale: 10 },
        };
        GeneratorConfig { points, prizes: self.prizes }
    }
}

impl Default for DataSettings {
    fn default() -> Self {
        Self { nodes: Sizes::One(20), distribution: Distribution::Uniform, folder: String::new(), prizes: Prizes::Dist }
    }
}

/// Sizes of instances: `20`, or `[20, 100]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number of nodes such as 20, or the lowest and the highest such as [20, 100]")]
pub enum Sizes {
    /// Always the same.
    One(usize),
    /// A size drawn uniformly for every batch, from the first to the second, both included.
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

/// Distribution of nodes in the plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Uniformly in the unit square.
    Uniform,
    /// Around three centres.
    Cluster,
    /// In a mixture of three normal distributions.
    GaussianMixture,
}

/// Section `[eval]`: how the network is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalSettings {
    /// Instances, 1 to 10 million.
    pub instances: usize,
    /// Seed of the instances, up to 2⁶³ - 1.
    pub seed: u64,
    /// How tours are read off the network, as in [`Decode`](crate::routes::decode::Decode).
    pub decode: String,
    /// Views of each instance: 1, or 8 for all symmetries of the square.
    pub augment: usize,
}

impl Default for EvalSettings {
    fn default() -> Self {
        Self { instances: 10_000, seed: 4321, decode: "greedy".into(), augment: 1 }
    }
}
