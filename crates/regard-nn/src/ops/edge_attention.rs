//! Attention along the edges of graphs (Dwivedi & Bresson 2021, equations 3-5 and 9-12, as in the
//! authors' code).
//!
//! Node `i` attends to the nodes `j` that it receives an edge from. With `⊙` the product channel by
//! channel and `Σ` the sum over the channels of a head:
//! `s_ij = scale · k_j ⊙ q_i ⊙ e_ij`, `w_ij = softmax_j(Σ s_ij + bias_ij)`, `out_i = Σ_j w_ij v_j`;
//! `e = 1` without edge stream, and `s` is the new content of the edge stream.

use std::sync::Arc;

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData, activation};
use regard_kernels::graph as kernel;

use crate::trace::{self, Operation};

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::projections::in_blocks;
use super::sets::set_sums;
pub use regard_kernels::{
    dropout::Dropout as EdgeDropout,
    graph::{EdgeList, HeadLayout, Softmax as EdgeSoftmax},
};

/// Options of [`edge_attention`].
#[derive(Clone, Debug)]
pub struct EdgeAttentionOptions {
    /// Number of heads; must divide the width.
    pub heads: usize,
    /// Order of the channels of the heads in all rows. The kernels compute with interleaved heads.
    pub layout: HeadLayout,
    /// Factor of the scores, `1 / √(width of a head)` in the paper.
    pub scale: f32,
    /// Function from scores to attention weights.
    pub softmax: EdgeSoftmax,
    /// Dropout of the attention weights during training.
    pub dropout: Option<EdgeDropout>,
}

impl EdgeAttentionOptions {
    /// Heads in blocks, scale `1 / √(width of a head)`, no dropout.
    pub fn new(width: usize, heads: usize, softmax: EdgeSoftmax) -> Self {
        let scale = 1.0 / ((width / heads.max(1)) as f32).sqrt();
        Self { heads, layout: HeadLayout::Blocks, scale, softmax, dropout: None }
    }
}

/// Inputs of [`edge_attention`]: queries, keys and values of the nodes, and the values of edges.
#[derive(Clone, Debug)]
pub struct EdgeAttentionArgs {
    /// Query, key and value side by side, `[nodes, 3 · width]`.
    pub nodes: Tensor<2>,
    /// The edge stream, `[edges, width]`, in the order of the edge list.
    pub edge: Option<Tensor<2>>,
    /// Bias added to the scores, `[edges, heads]`.
    pub bias: Option<Tensor<2>>,
}

/// Attention of every node, `[nodes, width]`, and the new edge stream `[edges, width]` if there is one.
///
/// # Panics
/// If the shapes do not match.
pub fn edge_attention(
    args: EdgeAttentionArgs,
    graph: &Arc<EdgeList>,
    options: &EdgeAttentionOptions,
) -> (Tensor<2>, Option<Tensor<2>>) {
    let (nodes, width) = (args.nodes.dims()[0], args.width());
    assert_eq!(nodes, graph.nodes(), "edge attention: nodes");
    if !has_kernels(&args.nodes.device()) || graph.edges() == 0 || width == 0 {
        return edge_attention_composed(args, graph, options);
    }
    let fused =
        Fused { graph: graph.clone(), options: options.clone(), edge: args.edge.is_some(), bias: args.bias.is_some() };
    let optional = [args.edge.map(input), args.bias.map(input)];
    let inputs = [input(args.nodes)].into_iter().chain(optional.into_iter().flatten());
    let y = run::<2>(fused.clone(), inputs.collect()).y;
    // A kernel has one result with gradients, so both are parts of one tensor.
    match fused.edge {
        true => (y.clone().narrow(0, 0, nodes), Some(y.narrow(0, nodes, graph.edges()))),
        false => (y, None),
    }
}

/// The attention weight of every edge and head, `[edges, heads]`, without gradient.
///
/// # Panics
/// If the shapes do not match.
pub fn edge_attention_weights(args: EdgeAttentionArgs, graph: &EdgeList, options: &EdgeAttentionOptions) -> Tensor<2> {
    let (device, width) = (args.nodes.device(), args.width());
    let numbers = |tensor: Tensor<2>| tensor.into_data().iter::<f32>().collect::<Vec<f32>>();
    let nodes = numbers(args.nodes);
    let (edge, bias) = (args.edge.map(numbers), args.bias.map(numbers));
    let inputs = kernel::Inputs { nodes: kernel::Nodes::Packed(&nodes), edge: edge.as_deref(), bias: bias.as_deref() };
    let weights = kernel::edge_attention_weights(&options.layer(width), graph, &inputs);
    Tensor::from_data(TensorData::new(weights, [graph.edges(), options.heads]), &device)
}

impl EdgeAttentionArgs {
    /// Width of a query.
    fn width(&self) -> usize {
        self.nodes.dims()[1] / 3
    }
}

impl EdgeAttentionOptions {
    fn layer(&self, width: usize) -> kernel::Layer {
        kernel::Layer {
            width,
            heads: self.heads,
            layout: self.layout,
            scale: self.scale,
            softmax: self.softmax,
            dropout: self.dropout,
        }
    }
}

/// The kernel. Its inputs are the rows of the nodes and optionally edge stream and bias. Its result
/// are the rows of the nodes, followed by the rows of the edges.
#[derive(Clone, Debug)]
struct Fused {
    graph: Arc<EdgeList>,
    options: EdgeAttentionOptions,
    edge: bool,
    bias: bool,
}

impl Fused {
    fn inputs<'a>(&self, inputs: &[Array<'a>]) -> kernel::Inputs<'a> {
        let at = |place: usize| inputs[place].data;
        kernel::Inputs {
            nodes: kernel::Nodes::Packed(at(0)),
            edge: self.edge.then(|| at(1)),
            bias: self.bias.then(|| at(1 + usize::from(self.edge))),
        }
    }
}

impl Kernel for Fused {
    type Saved = ();

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<()> {
        let (width, nodes) = (inputs[0].shape[1] / 3, self.graph.nodes());
        let rows = nodes + if self.edge { self.graph.edges() } else { 0 };
        let mut y = vec![0.0; rows * width];
        let (out, products) = y.split_at_mut(nodes * width);
        let products = self.edge.then_some(products);
        kernel::edge_attention_into(&self.options.layer(width), &self.graph, &self.inputs(inputs), out, products);
        Output { y, shape: vec![rows, width], extra: vec![], saved: save.then_some(()) }
    }

    fn backward(&self, inputs: &[Array<'_>], (): &(), grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let (width, nodes) = (inputs[0].shape[1] / 3, self.graph.nodes());
        let (grad, products) = grad.split_at(nodes * width);
        let products = self.edge.then_some(products);
        let inputs = self.inputs(inputs);
        let gradients =
            kernel::edge_attention_backward(&self.options.layer(width), &self.graph, &inputs, grad, products);
        let kernel::Nodes::Packed(nodes) = gradients.nodes else {
            unreachable!("gradients have the form of the inputs")
        };
        [Some(nodes), gradients.edge, gradients.bias].into_iter().flatten().collect()
    }
}

// The composed version: rows are gathered for every edge, and sums are scattered to the targets.

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
        let nothing = Tensor::full([nodes, width], f64::from(isolated_value(options.softmax)), &device);
        return (nothing, args.edge);
    }
    let (sources, targets) = endpoints(graph, &device);
    let [query, key, value] = [0, 1, 2].map(|part| args.nodes.clone().narrow(1, part * width, width));
    let blocks = |rows: &Tensor<2>| match options.layout {
        HeadLayout::Blocks => rows.clone(),
        HeadLayout::Interleaved => in_blocks(rows, heads),
    };
    let recorded = trace::recording().then(|| endpoint_rows(graph, &device));
    let products = key.clone().select(0, sources.clone()) * query.clone().select(0, targets.clone());
    let products = products.mul_scalar(options.scale);
    if let Some(ends) = &recorded {
        let own = blocks(&products);
        trace::step("product", Operation::EdgeProduct { scale: options.scale })
            .source(SOURCE)
            .from(&blocks(&key))
            .from(&blocks(&query))
            .from(ends)
            .values(EDGES, &own);
        let sums = own.clone().reshape([edges, heads, width / heads]).sum_dim(2).reshape([edges, heads]);
        trace::step("dot", Operation::HeadSums { heads }).source(SOURCE).from(&own).values(PER_HEAD, &sums);
    }
    let products = match &args.edge {
        Some(edge) => {
            let with_edge = products.clone() * edge.clone();
            if recorded.is_some() {
                trace::step("edge_product", Operation::Product)
                    .source("Dwivedi & Bresson 2021, eq. 12")
                    .from(&blocks(&products))
                    .from(&blocks(edge))
                    .values(EDGES, &blocks(&with_edge));
            }
            with_edge
        }
        None => products,
    };
    let head = width / heads;
    let mut scores = match options.layout {
        HeadLayout::Blocks => products.clone().reshape([edges, heads, head]).sum_dim(2).reshape([edges, heads]),
        HeadLayout::Interleaved => products.clone().reshape([edges, head, heads]).sum_dim(1).reshape([edges, heads]),
    };
    if recorded.is_some() {
        trace::step("score", Operation::HeadSums { heads })
            .source(SOURCE)
            .from(&blocks(&products))
            .values(PER_HEAD, &scores);
    }
    if let Some(bias) = args.bias {
        let sum = scores.clone() + bias.clone();
        trace::step("biased", Operation::Sum).from(&scores).from(&bias).values(PER_HEAD, &sum);
        scores = sum;
    }
    if recorded.is_some() {
        let (clamped, operation) = match options.softmax {
            EdgeSoftmax::Clamped { limit, .. } => (scores.clone().clamp(-limit, limit), Operation::Clamp { limit }),
            EdgeSoftmax::Stable => (scores.clone(), Operation::Formula("x; the stable softmax clamps nothing".into())),
        };
        trace::step("clamped", operation).source("the authors' code").from(&scores).values(PER_HEAD, &clamped);
    }
    let before = scores.clone();
    let (exponentials, epsilon) = match options.softmax {
        EdgeSoftmax::Clamped { limit, epsilon, .. } => (scores.clamp(-limit, limit).exp(), epsilon),
        EdgeSoftmax::Stable => {
            let max = max_scores(&scores, graph, heads);
            ((scores - max).exp(), 0.0)
        }
    };
    let scatter_sum = |rows: Tensor<2>, width: usize| {
        Tensor::zeros([nodes, width], &device).select_assign(0, targets.clone(), rows, IndexingUpdateOp::Add)
    };
    let sums = scatter_sum(exponentials.clone(), heads);
    let weights = match options.dropout {
        Some(dropout) => exponentials * factors(dropout, edges, heads, &device),
        None => exponentials,
    };
    let per_channel = |rows: Tensor<2>| {
        let [count, _] = rows.dims();
        match options.layout {
            HeadLayout::Blocks => rows.reshape([count, heads, 1]).expand([count, heads, head]),
            HeadLayout::Interleaved => rows.reshape([count, 1, heads]).expand([count, head, heads]),
        }
        .reshape([count, width])
    };
    let weighted = scatter_sum(per_channel(weights.clone()) * value.clone().select(0, sources), width);
    let attended = weighted / per_channel(sums.clone().add_scalar(epsilon));
    let edge = args.edge.map(|_| products);
    let isolated = isolated_value(options.softmax);
    let attended = fill_isolated(attended, graph, isolated);
    if let Some(ends) = &recorded {
        let clamped = match options.softmax {
            EdgeSoftmax::Clamped { limit, .. } => before.clamp(-limit, limit),
            EdgeSoftmax::Stable => before,
        };
        let shares = weights / sums.add_scalar(epsilon).select(0, targets);
        trace::step("attention", Operation::EdgeSoftmax { epsilon })
            .source(SOURCE)
            .from(&clamped)
            .from(ends)
            .values(PER_HEAD, &shares);
        trace::step("attended", Operation::EdgeSum { heads, isolated })
            .source(SOURCE)
            .from(&shares)
            .from(&blocks(&value))
            .from(ends)
            .values(["node", "channel"], &blocks(&attended));
    }
    (attended, edge)
}

/// `sign(x) ln(1 + |x|)` of the edge stream `[edges, width]` with interleaved heads. Its rows have three factors and rare large
/// values: multiplied again in every layer, their sums would overflow.
pub fn edge_logarithm(rows: &Tensor<2>, heads: usize) -> Tensor<2> {
    let bounded = rows.clone().sign() * rows.clone().abs().log1p();
    if trace::recording() {
        trace::step("edge_logarithm", Operation::Formula("sign(x) ln(1 + |x|)".into()))
            .from(&in_blocks(rows, heads))
            .values(EDGES, &in_blocks(&bounded, heads));
    }
    bounded
}

/// Sums of the messages `max(x_j + f(e_ij), 0)` over the edges `j → i` into each node, `[nodes, width]`: of rows `x [nodes,
/// width]` and edges `e [edges, width]`, which are 0 where there are none (GINE, Hu et al. 2020, "Strategies for Pre-training
/// Graph Neural Networks"). With `f(e) = sign(e) ln(1 + |e|)`, edges that were multiplied in every layer do not overflow. Rows
/// have interleaved heads.
///
/// # Panics
/// If the shapes do not match.
pub fn edge_messages(x: Tensor<2>, edge: Option<Tensor<2>>, graph: &EdgeList, heads: usize) -> Tensor<2> {
    let ([nodes, width], device) = (x.dims(), x.device());
    assert_eq!(nodes, graph.nodes(), "messages of edges: nodes");
    if graph.edges() == 0 {
        return Tensor::zeros([nodes, width], &device);
    }
    let gathered = x.clone().select(0, endpoints(graph, &device).0);
    let bounded = edge.map(|edge| edge_logarithm(&edge, heads));
    let whole = bounded.clone().map_or(gathered.clone(), |bounded| gathered.clone() + bounded);
    let messages = activation::relu(whole.clone());
    let sums = set_sums(messages.clone(), &graph.offsets().into());
    if trace::recording() {
        let blocks = |rows: &Tensor<2>| in_blocks(rows, heads);
        let rows = graph.sources().iter().map(|&source| source as usize).collect();
        trace::step("from_source", Operation::Rows { rows }).from(&blocks(&x)).values(EDGES, &blocks(&gathered));
        if let Some(bounded) = &bounded {
            trace::step("with_edge", Operation::Sum)
                .from(&blocks(&gathered))
                .from(&blocks(bounded))
                .values(EDGES, &blocks(&whole));
        }
        trace::step("message", Operation::Relu).from(&blocks(&whole)).values(EDGES, &blocks(&messages));
        trace::step("message_total", Operation::EdgeTotal)
            .from(&blocks(&messages))
            .from(&endpoint_rows(graph, &device))
            .values(["node", "channel"], &blocks(&sums));
    }
    sums
}

/// Equations of the attention.
const SOURCE: &str = "Dwivedi & Bresson 2021, eq. 4-5 and 10-12";
/// Axes of the edge stream in a trace.
const EDGES: [&str; 2] = ["edge", "channel"];
/// Axes of scores and weights in a trace.
const PER_HEAD: [&str; 2] = ["edge", "head"];

/// Source and target of every edge, `[edges, 2]`, as numbers in a trace.
pub fn endpoint_rows(graph: &EdgeList, device: &Device) -> Tensor<2> {
    let targets = graph.offsets().windows(2).enumerate().flat_map(|(node, pair)| vec![node as f32; pair[1] - pair[0]]);
    let rows: Vec<f32> =
        graph.sources().iter().zip(targets).flat_map(|(&source, target)| [source as f32, target]).collect();
    Tensor::from_data(TensorData::new(rows, [graph.edges(), 2]), device)
}

/// The result of a node without incoming edges.
fn isolated_value(softmax: EdgeSoftmax) -> f32 {
    match softmax {
        EdgeSoftmax::Clamped { isolated, .. } => isolated,
        EdgeSoftmax::Stable => 0.0,
    }
}

/// Sets the rows of nodes without incoming edges to `value`.
fn fill_isolated(attended: Tensor<2>, graph: &EdgeList, value: f32) -> Tensor<2> {
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
fn endpoints(graph: &EdgeList, device: &Device) -> (Tensor<1, Int>, Tensor<1, Int>) {
    let tensor = |all: Vec<i64>| Tensor::from_data(TensorData::new(all, [graph.edges()]), device);
    let sources = graph.sources().iter().map(|&source| i64::from(source)).collect();
    let of_target = |(target, pair): (usize, &[usize])| std::iter::repeat_n(target as i64, pair[1] - pair[0]);
    let targets = graph.offsets().windows(2).enumerate().flat_map(of_target).collect();
    (tensor(sources), tensor(targets))
}

/// The largest score of each edge's target and head. It carries no gradient, because it cancels out.
fn max_scores(scores: &Tensor<2>, graph: &EdgeList, heads: usize) -> Tensor<2> {
    let data = scores.clone().detach().into_data();
    let mut largest: Vec<f32> = data.iter::<f32>().collect();
    for pair in graph.offsets().windows(2) {
        let of_target = &mut largest[pair[0] * heads..pair[1] * heads];
        for head in 0..heads {
            let max = of_target.iter().skip(head).step_by(heads).copied().fold(f32::NEG_INFINITY, f32::max);
            of_target.iter_mut().skip(head).step_by(heads).for_each(|score| *score = max);
        }
    }
    Tensor::from_data(TensorData::new(largest, [graph.edges(), heads]), &scores.device())
}

/// Dropout factors of the attention weights, `[edges, heads]`.
fn factors(dropout: super::EdgeDropout, edges: usize, heads: usize, device: &Device) -> Tensor<2> {
    let all = (0..edges).flat_map(|edge| (0..heads).map(move |head| dropout.factor(edge, head))).collect::<Vec<f32>>();
    Tensor::from_data(TensorData::new(all, [edges, heads]), device)
}
