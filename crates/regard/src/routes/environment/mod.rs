//! Routing problems as decoding and training use them: instances in batches.
//!
//! Most problems are a [`Problem`], whose partial solutions are stepped one by one inside the rollout kernel
//! ([`ProblemEnvironment`]). The rules of a [`BatchProblem`] know whole batches of partial solutions, as a program in
//! another language computes them: they are stepped together ([`BatchEnvironment`]).
//!
//! [`Problem`]: regard_routing::Problem

mod batch;
mod problem;

use burn::tensor::Tensor;
use regard_nn::ops::Tours;
use regard_nn::{NodeSelection, Rollout};
use regard_routing::ProblemSpec;
use regard_routing::generate::GeneratorConfig;

pub use batch::{BatchEnvironment, BatchInputs, BatchInstance, BatchProblem};
pub use problem::ProblemEnvironment;

use crate::{Error, Result};

/// A finished solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Nodes in the order visited.
    pub nodes: Vec<usize>,
    /// Log-probability of the nodes that were chosen; NaN where a probability was not a number, with a solution that is not
    /// complete.
    pub log_probability: f32,
}

/// Solutions of a batch, `[instances][trajectories]`.
#[derive(Clone, Debug)]
pub struct Rollouts {
    /// The solutions.
    pub walks: Vec<Vec<Walk>>,
    /// The steps with their masks and contexts, where they were asked for and every probability is a number.
    pub tours: Option<Tours>,
}

/// The beginning of the trajectories of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// So many from the empty solution.
    Empty(usize),
    /// So many whose first nodes are spread over those that are open, as they are numbered, the depot aside (Kwon et al.
    /// 2020, §4.1).
    Spread(usize),
}

impl Start {
    /// Trajectories of an instance.
    pub fn trajectories(self) -> usize {
        match self {
            Self::Empty(count) | Self::Spread(count) => count,
        }
    }
}

/// The construction of solutions.
#[derive(Clone, Copy, Debug)]
pub struct RolloutOptions {
    /// The beginning of the trajectories.
    pub start: Start,
    /// Choice of the next node.
    pub selection: NodeSelection,
    /// Steps are recorded for the log-probability; the first so many of them were prescribed. `None` for no record.
    pub record: Option<usize>,
}

/// A routing problem with its instances in batches.
pub trait Environment: Clone + Send + Sync + 'static {
    /// An instance; clones share what is large.
    type Instance: Clone + Send + Sync;

    /// The facts of the problem.
    fn spec(&self) -> &'static ProblemSpec;
    /// `count` random instances of `size` nodes, a depot not counted. More instances of the same size append to the same
    /// sequence where the problem allows that.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Vec<Self::Instance>>;
    /// Number of nodes, the depot among them.
    fn nodes(&self, instance: &Self::Instance) -> usize;
    /// Instances in so many views, `[instances · views]`; the first view is the instance itself.
    ///
    /// # Errors
    /// Those of the problem's own code; views of a problem that has no symmetry.
    fn views(&self, instances: &[Self::Instance], views: usize) -> Result<Vec<Self::Instance>>;
    /// Features of instances of one size, `[instances, nodes, features]`.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn features(&self, instances: &[Self::Instance]) -> Result<Vec<f32>>;
    /// Distances between the nodes of instances of one size, `[instances, nodes, nodes]`, where they are not all straight.
    fn matrices(&self, _instances: &[Self::Instance]) -> Option<Vec<f32>> {
        None
    }
    /// Solutions of instances of one size with these embeddings.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn rollouts(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[Self::Instance],
        options: RolloutOptions,
    ) -> Result<Rollouts>;
    /// The most probable solutions that beam search finds, most probable first.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn beam(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[Self::Instance],
        width: usize,
    ) -> Result<Vec<Vec<Walk>>>;
    /// Costs of solutions of each instance, `[instances][solutions]`.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn costs(&self, instances: &[Self::Instance], solutions: &[Vec<&[usize]>]) -> Result<Vec<Vec<f64>>>;

    /// [`Self::costs`] of walks.
    ///
    /// # Errors
    /// As there.
    fn costs_of(&self, instances: &[Self::Instance], walks: &[Vec<Walk>]) -> Result<Vec<Vec<f64>>> {
        let solutions: Vec<Vec<&[usize]>> =
            walks.iter().map(|walks| walks.iter().map(|walk| walk.nodes.as_slice()).collect()).collect();
        self.costs(instances, &solutions)
    }

    /// Solutions of each instance after the problem's own local search, `[instances][solutions]`. The work is fixed: the
    /// result depends on nothing but the input. A solution stays as it is where nothing better is found that can be
    /// constructed node by node.
    ///
    /// # Errors
    /// Those of the problem's own code.
    fn improve(&self, _instances: &[Self::Instance], solutions: Vec<Vec<Vec<usize>>>) -> Result<Vec<Vec<Vec<usize>>>> {
        Ok(solutions)
    }
    /// Masks and contexts of the steps of solutions `[instances][solutions]`, as many of each instance, as if they had
    /// been sampled by `rollout`; the first `forced` steps of each are prescribed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a finished solution cannot be constructed once more.
    fn tours(
        &self,
        _rollout: &Rollout<'_>,
        _instances: &[Self::Instance],
        _solutions: &[Vec<&[usize]>],
        _forced: usize,
    ) -> Result<Tours> {
        let reason = "its rules construct no solution that is given".to_owned();
        Err(Error::Unsupported { what: self.spec().name.to_owned(), reason })
    }

    /// The instance with these of its nodes only, a depot first; `None` where that means nothing.
    fn subset(&self, _instance: &Self::Instance, _nodes: &[usize]) -> Option<Self::Instance> {
        None
    }
    /// An instance with its rules as the network's preset computes them.
    fn as_preset(&self, instance: Self::Instance) -> Self::Instance {
        instance
    }
    /// Instances that this one may turn out to be; see [`Problem::scenarios`](regard_routing::Problem::scenarios).
    fn scenarios(&self, _instance: &Self::Instance, _count: usize, _seed: u64) -> Option<Vec<Self::Instance>> {
        None
    }
    /// The solution that results from a plan; see [`Problem::execute_plan`](regard_routing::Problem::execute_plan).
    fn execute_plan(&self, _instance: &Self::Instance, plan: &[usize]) -> Vec<usize> {
        plan.to_vec()
    }
}
