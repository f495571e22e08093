//! Context and open nodes of each step of a known tour (Kool et al. 2019,
//! §3.2 and appendix A).

use burn::tensor::{Int, Tensor, TensorData};
use regard_nn::ops::DenseMask;

use crate::{Error, Result};

/// Checks that there is a permutation of the nodes for each item of `[batch, nodes, _]`.
pub(super) fn check(tours: &[Vec<usize>], [batch, nodes, _]: [usize; 3]) -> Result<()> {
    let wrong = |what: String, expected: usize, found: usize| {
        Err(Error::Shape { what, expected: vec![expected], found: vec![found] })
    };
    if tours.len() != batch {
        return wrong("tours of a batch".into(), batch, tours.len());
    }
    for (item, tour) in tours.iter().enumerate() {
        let mut seen = vec![false; nodes];
        for &node in tour.iter().filter(|&&node| node < nodes) {
            seen[node] = true;
        }
        let distinct = seen.iter().filter(|&&seen| seen).count();
        if distinct != nodes || tour.len() != nodes {
            return wrong(format!("distinct nodes of tour {item}"), nodes, distinct);
        }
    }
    Ok(())
}

/// Rows of `x [batch, nodes, width]` in the order of the tours.
pub(super) fn in_tour_order(x: Tensor<3>, tours: &[Vec<usize>]) -> Tensor<3> {
    let [batch, nodes, width] = x.dims();
    let rows = tours.iter().enumerate();
    let rows: Vec<i64> =
        rows.flat_map(|(item, tour)| tour.iter().map(move |node| (item * nodes + node) as i64)).collect();
    let rows: Tensor<1, Int> = Tensor::from_data(TensorData::new(rows, [batch * nodes]), &x.device());
    x.reshape([batch * nodes, width]).select(0, rows).reshape([batch, nodes, width])
}

/// Contexts `[batch, steps, 2 * width]` of all steps: the embeddings of the first node and of the
/// last one, from `ordered [batch, steps, width]`; the placeholder `[2 * width]` at the first step.
pub(super) fn contexts(ordered: Tensor<3>, placeholder: Tensor<1>) -> Tensor<3> {
    let [batch, steps, width] = ordered.dims();
    let start = placeholder.reshape([1, 1, 2 * width]).expand([batch, 1, 2 * width]);
    if steps <= 1 {
        return start;
    }
    let first = ordered.clone().narrow(1, 0, 1).expand([batch, steps - 1, width]);
    let last = ordered.narrow(1, 0, steps - 1);
    Tensor::cat(vec![start, Tensor::cat(vec![first, last], 2)], 1)
}

/// The nodes still unvisited before each step, `[batch, steps, nodes]`.
pub(super) fn unvisited(tours: &[Vec<usize>], nodes: usize) -> DenseMask {
    let mut position = vec![0; tours.len() * nodes];
    for (item, tour) in tours.iter().enumerate() {
        for (step, &node) in tour.iter().enumerate() {
            position[item * nodes + node] = step;
        }
    }
    DenseMask::from_fn([tours.len(), nodes, nodes], |item, step, node| position[item * nodes + node] >= step)
}
