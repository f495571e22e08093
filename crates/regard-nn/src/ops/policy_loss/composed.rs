
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::{PolicyLoss, TourWeights, Tours, check};
use crate::ops::{AttentionOptions, DenseMask, Mask, attention_composed, pointer_composed};

/// [`policy_loss`](super::policy_loss) in ordinary tensor operations.
pub fn policy_loss_composed(
    embeddings: Tensor<3>,
    weights: TourWeights,
    tours: &Tours,
    coefficient: Vec<f32>,
) -> PolicyLoss {
    check(&embeddings, &weights, tours, &coefficient);
    let (device, [batch, trajectories, _], steps) = (embeddings.device(), tours.shape(), tours.steps());
    let count = coefficient.len();
    let coefficient: Tensor<1> = Tensor::from_data(TensorData::new(coefficient, [count]), &device);
    let log_likelihood = if tours.is_empty() {
        Tensor::zeros([count], &device)
    } else {
        let log_p = all_steps(embeddings, weights, tours);
        let nodes: Vec<i64> = tours.order().iter().map(|&node| i64::from(node)).collect();
        let nodes: Tensor<3, Int> =
            Tensor::from_data(TensorData::new(nodes, [batch, trajectories * steps, 1]), &device);
        let own: Tensor<2> = log_p.gather(2, nodes).reshape([count, steps]);
        let counts = |index| (0..steps).map(move |step| f32::from(u8::from(tours.chosen(index, step))));
        let counts: Vec<f32> = (0..count).flat_map(counts).collect();
        let counts: Tensor<2> = Tensor::from_data(TensorData::new(counts, [count, steps]), &device);
        (own * counts).sum_dim(1).reshape([count])
    };
    PolicyLoss { loss: (log_likelihood.clone() * coefficient).sum(), log_likelihood: log_likelihood.detach() }
}

/// Log-probabilities of every node at every step, `[batch, trajectories * steps, nodes]`.
fn all_steps(embeddings: Tensor<3>, weights: TourWeights, tours: &Tours) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let steps = tours.shape()[1] * tours.steps();
    let rows = |x: Tensor<3>, weight: Tensor<2>| {
        let [batch, rows, _] = x.dims();
        let [inputs, outputs] = weight.dims();
        x.reshape([batch * rows, inputs]).matmul(weight).reshape([batch, rows, outputs])
    };
    let fixed = rows(embeddings.clone().mean_dim(1), weights.fixed);
    let context = contexts(embeddings.clone(), weights.placeholder, tours);
    let query = rows(context, weights.step) + fixed.expand([batch, steps, width]);
    let tables = rows(embeddings, weights.nodes);
    let part = |index: usize| tables.clone().narrow(2, index * width, width);
    let mask = Mask::from(open(tours));
    let options = AttentionOptions::new(weights.heads, width / weights.heads);
    let Some(dynamic) = weights.dynamic else {
        let options = options.with_mask(mask.clone());
        let glimpse = rows(attention_composed(query, part(0), part(1), None, &options), weights.out);
        return pointer_composed(glimpse, part(2), &mask, weights.clip);
    };
    // The tables differ in every step: each step becomes an item of the batch with one query.
    let numbers = TensorData::new(tours.dynamic().to_vec(), [batch, steps, nodes]);
    let numbers: Tensor<3> = Tensor::from_data(numbers, &tables.device());
    let table = |index: usize| moved(part(index), numbers.clone(), dynamic.clone().narrow(1, index * width, width));
    let mask = Mask::from(DenseMask::from_fn([batch * steps, 1, nodes], |row, _, node| {
        mask.allows(row / steps, row % steps, node)
    }));
    let options = options.with_mask(mask.clone());
    let query = query.reshape([batch * steps, 1, width]);
    let glimpse = rows(attention_composed(query, table(0), table(1), None, &options), weights.out);
    pointer_composed(glimpse, table(2), &mask, weights.clip).reshape([batch, steps, nodes])
}

/// Adds the dynamic feature `numbers [batch, steps, nodes]` times its weights `direction [1, width]` to
/// `table [batch, nodes, width]` for every step: `[batch * steps, nodes, width]`.
pub(crate) fn moved(table: Tensor<3>, numbers: Tensor<3>, direction: Tensor<2>) -> Tensor<3> {
    let [batch, nodes, width] = table.dims();
    let steps = numbers.dims()[1];
    let shape = [batch, steps, nodes, width];
    let numbers: Tensor<4> = numbers.reshape([batch, steps, nodes, 1]).expand(shape);
    let direction: Tensor<4> = direction.reshape([1, 1, 1, width]).expand(shape);
    let table: Tensor<4> = table.reshape([batch, 1, nodes, width]).expand(shape);
    (table + numbers * direction).reshape([batch * steps, nodes, width])
}

/// Contexts of all steps, `[batch, trajectories * steps, context]`. With a placeholder: first and last
/// node, and the placeholder at the first step. Without one: the last node, and the depot at the first
/// step. The scalars follow.
fn contexts(embeddings: Tensor<3>, placeholder: Option<Tensor<1>>, tours: &Tours) -> Tensor<3> {
    let ([batch, trajectories, nodes], steps) = (tours.shape(), tours.steps());
    let (width, device) = (embeddings.dims()[2], embeddings.device());
    let count = batch * trajectories;
    let visited = |from: usize, place: fn(usize) -> Option<usize>| {
        let tours = tours.order().chunks_exact(steps).enumerate();
        let index = |(index, tour): (usize, &[u32])| -> Vec<i64> {
            let node = |t: usize| place(t).map_or(0, |step| tour[step] as usize);
            (from..steps).map(|t| (index / trajectories * nodes + node(t)) as i64).collect()
        };
        gather(&embeddings, tours.flat_map(index).collect(), [count, steps - from, width], &device)
    };
    let Some(placeholder) = placeholder else {
        let last = visited(0, |t| t.checked_sub(1)).reshape([batch, trajectories * steps, width]);
        if tours.scalars() == 0 {
            return last;
        }
        let shape = [batch, trajectories * steps, tours.scalars()];
        let numbers = Tensor::from_data(TensorData::new(tours.context_numbers().to_vec(), shape), &device);
        return Tensor::cat(vec![last, numbers], 2);
    };
    let start = placeholder.reshape([1, 1, 2 * width]).expand([count, 1, 2 * width]);
    let all = if steps == 1 {
        start
    } else {
        let ends = vec![visited(1, |_| Some(0)), visited(1, |t| t.checked_sub(1))];
        Tensor::cat(vec![start, Tensor::cat(ends, 2)], 1)
    };
    all.reshape([batch, trajectories * steps, 2 * width])
}

/// Selects rows from the nodes of all instances.
fn gather(embeddings: &Tensor<3>, rows: Vec<i64>, shape: [usize; 3], device: &Device) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let count = rows.len();
    let rows: Tensor<1, Int> = Tensor::from_data(TensorData::new(rows, [count]), device);
    embeddings.clone().reshape([batch * nodes, width]).select(0, rows).reshape(shape)
}

/// The nodes allowed in each step, `[batch, trajectories * steps, nodes]`.
fn open(tours: &Tours) -> DenseMask {
    let ([batch, trajectories, nodes], steps) = (tours.shape(), tours.steps());
    let positions = tours.positions();
    let open =
        |b: usize, row: usize, node: usize| tours.open(&positions, b * trajectories + row / steps, row % steps, node);
    DenseMask::from_fn([batch, trajectories * steps, nodes], open)
}
