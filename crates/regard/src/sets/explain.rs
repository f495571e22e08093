//! Trace of a network on one set.

use burn::tensor::{Tensor, TensorData};
use regard_data::sets::Bags;
use regard_data::sets::mixture::LogWeights;
use regard_nn::trace::{self, Operation, record};

use super::mixture::mixture_of;
use super::model::{Answers, SetTransformerConfig};
use super::predict::SetModel;
use super::source::features_of;
use super::task::TaskKind;
use crate::explain::{Labels, Layout, Trace, check_size};
use crate::sets::model::EncoderKind;
use crate::{Error, Result};

impl SetModel {
    /// Every intermediate of the network on set `at` of the file, from its own forward pass: `encoder.LAYER.…`,
    /// `pooling.…`, `decoder.LAYER.…`, `answer`; for clustering, the mixture that the seeds gave is `mixture.…`, with the
    /// probability of each component at each row beside the seeds' `pooling.attention`.
    ///
    /// # Errors
    /// [`Error::Config`] for an empty set; [`Error::Unsupported`] for one whose trace would not fit into memory; columns that differ from those of training.
    pub fn explain(&self, name: &str, bags: &Bags, at: usize) -> Result<Trace> {
        let id = &bags.ids()[at];
        if bags.size(at) == 0 {
            return Err(Error::config("--example", format!("is `{id}`, an empty set: there is nothing to look at")));
        }
        check_size(&format!("set {id}"), "rows", bags.size(at), |rows| numbers(&self.config, rows))?;
        let sets = features_of(&self.config, bags)?.select(&[at]).batch(&self.device).sets;
        let sets_width = sets.rows.dims()[1];
        let compute = || {
            let points = sets.rows.clone();
            let answers = self.network.forward(sets);
            if let (Answers::Sets(answers), TaskKind::Clustering) = (answers, self.config.task) {
                record_mixture(answers, points, &self.config)?;
            }
            Ok(())
        };
        let (done, recording): (Result<()>, _) = record(compute);
        done?;
        let rows: Vec<String> = (1..=bags.size(at)).map(|row| format!("row {row}")).collect();
        let mut labels = Labels::from([("row", rows.clone())]);
        let features = &self.config.data.features;
        let plane = || ["x", "y"].map(str::to_owned).to_vec();
        let known = if features.is_empty() && sets_width == 2 { plane() } else { features.clone() };
        labels.insert("feature", known);
        let target = self.experiment.as_ref().map(|experiment| experiment.data.target.clone());
        let answers = match (self.config.data.classes.is_empty(), target.filter(|target| !target.is_empty())) {
            (true, Some(target)) if self.config.outputs == 1 => vec![target],
            _ => self.config.data.classes.clone(),
        };
        labels.insert("output", answers);
        let trace = Trace::new(name.to_owned(), format!("set {id}"), recording, &labels);
        // A cloud on a plane is drawn as it is.
        let points = trace.step("features").filter(|step| step.recorded.shape == [rows.len(), 2]);
        let places = points.map(|step| step.recorded.values.chunks(2).map(|at| [at[0].into(), at[1].into()]).collect());
        Ok(match places {
            Some(places) => trace.with_layout(Layout { axis: "row", labels: rows, places, ..Layout::default() }),
            None => trace,
        })
    }
}

/// The numbers that the trace of a set holds.
fn numbers(config: &SetTransformerConfig, rows: usize) -> usize {
    // Scores before and after the scale, weights and mask; rows of a block.
    let scores = 3 * config.heads + 1;
    let block = |queries: usize, keys: usize| queries * keys * scores + 12 * config.width * (queries + keys);
    let layer = match config.encoder {
        EncoderKind::Isab => block(config.inducing_points, rows) + block(rows, config.inducing_points),
        _ => block(rows, rows),
    };
    config.layers * layer + (1 + config.seed_refinements) * block(config.num_seeds, rows)
}

/// The mixture `[components, …]` that the answers for one set describe, and the probability of each component at each of
/// its points.
fn record_mixture(answers: Tensor<3>, points: Tensor<2>, config: &SetTransformerConfig) -> Result<()> {
    const SOURCE: &str = "Lee et al. 2019, §5.3";
    let ([_, components, outputs], [rows, axes]) = (answers.dims(), points.dims());
    let (device, answers) = (answers.device(), answers.reshape([components, outputs]));
    let numbers: Vec<f64> = answers.to_data().iter::<f64>().collect();
    let found = mixture_of(&numbers, axes, config)?;
    let tensor = |values: Vec<f64>, shape: [usize; 2]| {
        let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
        Tensor::<2>::from_data(TensorData::new(values, shape), &device)
    };
    let weights = tensor(found.weights().to_vec(), [1, components]);
    let means = tensor(found.means().to_vec(), [components, axes]);
    let deviations = tensor(found.deviations().to_vec(), [components, axes]);
    trace::step("mixture.weight", Operation::Formula("softmax over the seeds of the first column of x".into()))
        .source(SOURCE)
        .from(&answers)
        .values(["batch", "seed"], &weights);
    trace::step("mixture.mean", Operation::Columns { start: 1, count: axes })
        .source(SOURCE)
        .from(&answers)
        .values(["seed", "feature"], &means);
    let formula = format!(
        "ln(1 + exp(x)) + {} of the columns from {}; one column counts for all features",
        config.min_std,
        1 + axes
    );
    trace::step("mixture.deviation", Operation::Formula(formula.into()))
        .source(SOURCE)
        .from(&answers)
        .values(["seed", "feature"], &deviations);
    let points_of: Vec<f64> = points.to_data().iter::<f64>().collect();
    let shares = tensor(found.responsibilities(&points_of, LogWeights::Exact), [rows, components]);
    let formula = "x N(row; y, z²) of the seed, divided by the sum over the seeds";
    trace::step("mixture.responsibility", Operation::Formula(formula.into()))
        .source(SOURCE)
        .from(&weights)
        .from(&means)
        .from(&deviations)
        .from(&points)
        .values(["seed", "row"], &shares.transpose());
    Ok(())
}
