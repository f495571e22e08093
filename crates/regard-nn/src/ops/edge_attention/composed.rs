// The composed version: rows are gathered for every edge, and sums are scattered to the targets.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::{EdgeAttentionArgs, EdgeAttentionOptions, EdgeList, EdgeSoftmax, HeadLayout};

/// [`edge_attention`](super::edge_attention) in ordinary tensor operations.
///
/// # Panics
/// If the shapes do not match.
pub fn edge_attention_composed(
    args: EdgeAttentionArgs,
    graph: &EdgeList,
    options: &EdgeAttentionOptions,
) -> (Tensor<2>, Option<Tensor<2>>) {
    let (nodes, width, heads, edges) = (args.nodes.dims()[0], args.width(), options.heads, graph.edges());
    assert!(heads > 0 && width.is_multiple_of(heads), "edge attention: {heads} heads in {width}");
    let device = args.nodes.device();
    if edges == 0 {
        let nothing = Tensor::full([nodes, width], f64::from(isolated(options.softmax)), &device);
        return (nothing, args.edge);
    }
    let (sources, targets) = ends(graph, &device);
    let [query, key, value] = [0, 1, 2].map(|part| args.nodes.clone().narrow(1, part * width, width));
    let products = key.select(0, sources.clone()) * query.select(0, targets.clone());
    let products = products.mul_scalar(options.scale);
    let products = match &args.edge {
        Some(edge) => products * edge.clone(),
        None => products,
    };
    let head = width / heads;
    let mut scores = match options.layout {
        HeadLayout::Blocks => products.clone().reshape([edges, heads, head]).sum_dim(2).reshape([edges, heads]),
        HeadLayout::Interleaved => products.clone().reshape([edges, head, heads]).sum_dim(1).reshape([edges, heads]),
    };
    if let Some(bias) = args.bias {
        scores = scores + bias;
    }
    let (powers, epsilon) = match options.softmax {
        EdgeSoftmax::Clamped { limit, epsilon, .. } => (scores.clamp(-limit, limit).exp(), epsilon),
        EdgeSoftmax::Stable => {
            let most = largest(&scores, graph, heads);
            ((scores - most).exp(), 0.0)
        }
    };
    let summed = |rows: Tensor<2>, width: usize| {
        Tensor::zeros([nodes, width], &device).select_assign(0, targets.clone(), rows, IndexingUpdateOp::Add)
    };
    let sums = summed(powers.clone(), heads);
    let kept = match options.dropout {
        Some(dropout) => powers * factors(dropout, edges, heads, &device),
        None => powers,
    };
    let spread = |rows: Tensor<2>| {
        let [count, _] = rows.dims();
        match options.layout {
            HeadLayout::Blocks => rows.reshape([count, heads, 1]).expand([count, heads, head]),
            HeadLayout::Interleaved => rows.reshape([count, 1, heads]).expand([count, head, heads]),
        }
        .reshape([count, width])
    };
    let weighted = summed(spread(kept) * value.select(0, sources), width);
    let attended = weighted / spread(sums.add_scalar(epsilon));
    let edge = args.edge.map(|_| products);
    (alone(attended, graph, isolated(options.softmax)), edge)
}

/// The result of a node without incoming edges.
fn isolated(softmax: EdgeSoftmax) -> f32 {
    match softmax {
        EdgeSoftmax::Clamped { isolated, .. } => isolated,
        EdgeSoftmax::Stable => 0.0,
    }
}

/// Sets the rows of nodes without incoming edges to `value`.
fn alone(attended: Tensor<2>, graph: &EdgeList, value: f32) -> Tensor<2> {
    let offsets = graph.offsets();
    if offsets.windows(2).all(|pair| pair[0] < pair[1]) {
        return attended;
    }
    let [nodes, width] = attended.dims();
    let empty: Vec<bool> = offsets.windows(2).map(|pair| pair[0] == pair[1]).collect();
    let empty = Tensor::<1, burn::tensor::Bool>::from_data(TensorData::new(empty, [nodes]), &attended.device());
    attended.mask_fill(empty.reshape([nodes, 1]).expand([nodes, width]), value)
}

/// Source and target of every edge.
fn ends(graph: &EdgeList, device: &Device) -> (Tensor<1, Int>, Tensor<1, Int>) {
    let tensor = |all: Vec<i64>| Tensor::from_data(TensorData::new(all, [graph.edges()]), device);
    let sources = graph.sources().iter().map(|&source| i64::from(source)).collect();
    let of_target = |(target, pair): (usize, &[usize])| std::iter::repeat_n(target as i64, pair[1] - pair[0]);
    let targets = graph.offsets().windows(2).enumerate().flat_map(of_target).collect();
    (tensor(sources), tensor(targets))
}

/// The largest score of each edge's target and head. It carries no gradient, because it cancels out.
fn largest(scores: &Tensor<2>, graph: &EdgeList, heads: usize) -> Tensor<2> {
    let data = scores.clone().detach().into_data();
    let mut found: Vec<f32> = data.iter::<f32>().collect();
    for pair in graph.offsets().windows(2) {
        let of_target = &mut found[pair[0] * heads..pair[1] * heads];
        for head in 0..heads {
            let most = of_target.iter().skip(head).step_by(heads).copied().fold(f32::NEG_INFINITY, f32::max);
            of_target.iter_mut().skip(head).step_by(heads).for_each(|score| *score = most);
        }
    }
    Tensor::from_data(TensorData::new(found, [graph.edges(), heads]), &scores.device())
}

/// Dropout factors of the attention weights, `[edges, heads]`.
fn factors(dropout: super::EdgeDropout, edges: usize, heads: usize, device: &Device) -> Tensor<2> {
    let all = (0..edges).flat_map(|edge| (0..heads).map(move |head| dropout.factor(edge, head))).collect::<Vec<f32>>();
    Tensor::from_data(TensorData::new(all, [edges, heads]), device)
}
