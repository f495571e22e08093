//! What the Attention Model computes for one instance: embeddings, and every step of greedy decoding.

use regard_nn::NodeSelection;
use regard_nn::trace::record;
use regard_routing::registry::with_problem;
use regard_routing::{Instance, Problem, ProblemVisitor, SolverInstance};

use super::decode::{check_probabilities, features};
use super::model::AttentionModel;
use crate::explain::{Labels, Trace};
use crate::{Error, Result};

/// Most numbers that a trace may hold: 1 GiB of them.
const MOST_NUMBERS: usize = 1 << 28;

impl AttentionModel {
    /// Every intermediate of encoder and greedy decoding on one instance, from the model's own forward pass. Steps of the
    /// encoder are named `encoder.LAYER.…`, those of the decoder `decode.STEP.…`; both count from 0.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an instance whose trace would not fit into memory, or of another problem than the
    /// model's; [`Error::NotFinite`] where a probability is not a number.
    pub fn explain(&self, name: &str, instance: &Instance) -> Result<Trace> {
        struct Explain<'a> {
            model: &'a AttentionModel,
            name: &'a str,
            instance: &'a Instance,
        }
        impl ProblemVisitor for Explain<'_> {
            type Output = Option<Result<Trace>>;

            fn run<I: SolverInstance>(self) -> Self::Output {
                Some(explain(self.model, self.name, self.instance.downcast_ref::<I>()?))
            }
        }
        with_problem(instance.problem(), Explain { model: self, name, instance }).flatten().unwrap_or_else(|| {
            let reason = "this version cannot explain it".to_owned();
            Err(Error::Unsupported { what: instance.problem().to_owned(), reason })
        })
    }
}

fn explain<I: SolverInstance>(model: &AttentionModel, name: &str, instance: &I) -> Result<Trace> {
    let problem = instance.in_unit_square();
    let sites = instance.sites();
    check_size(model, sites.name(), problem.nodes())?;
    let device = model.device();
    let compute = || {
        let embeddings = model.encode(features(std::slice::from_ref(&problem), &device));
        model.rollout().construct(embeddings, vec![vec![problem.start()]], NodeSelection::Greedy)
    };
    let (outcomes, recording) = record(compute);
    check_probabilities::<I::Problem>(&outcomes, |_| 0)?;
    let mut labels = Labels::from([("node", sites.ids().to_vec())]);
    labels.insert("customer", sites.ids().iter().skip(1).cloned().collect());
    labels.insert("coordinate", ["x", "y"].map(str::to_owned).to_vec());
    Ok(Trace::new(name.to_owned(), sites.name().to_owned(), recording, &labels))
}

/// Refuses an instance whose trace would be too large, before anything is computed.
fn check_size(model: &AttentionModel, name: &str, nodes: usize) -> Result<()> {
    let layers = model.encoder.layers.len();
    let (width, heads) = (model.decoder.out.weight.dims()[0], model.decoder.heads);
    let numbers = |nodes: usize| {
        // Scores before and after the scale, and weights; rows of a layer; the decoder's scores at every step.
        let encoder = layers * nodes * (3 * heads * nodes + 12 * width);
        encoder + 2 * nodes * (nodes * (3 * heads + 6) + 8 * width)
    };
    if numbers(nodes) <= MOST_NUMBERS {
        return Ok(());
    }
    let fits = (1..nodes).rev().find(|&nodes| numbers(nodes) <= MOST_NUMBERS).unwrap_or(0);
    let reason =
        format!("has {nodes} nodes, whose trace would be {} numbers; at most {fits} nodes fit", numbers(nodes));
    Err(Error::Unsupported { what: name.to_owned(), reason })
}
