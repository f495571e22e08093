//! Linear layers before and after an attention along graph edges (Dwivedi & Bresson 2021, eq. 3-7 and
//! 9-15): queries, keys and values side by side before it; a projection with residual and norm after it.
//!
//! Between them heads are interleaved: channel `c` of head `h` is at `c · heads + h`
//! ([`HeadLayout::Interleaved`](super::HeadLayout)). Weights keep the order of the papers.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor, TensorData};
use regard_kernels::sublayer as kernel;

use crate::trace::{self, Operation};

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::residual_norm::{FusedNorm, norm_output, statistics_values};
use super::{NormArgs, NormOutput, residual_norm_composed};

/// Weight `[in, out]` and bias `[out]` of a linear layer.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[in, out]`
    pub weight: Tensor<2>,
    /// `[out]`
    pub bias: Option<Tensor<1>>,
}

impl Projection {
    /// The parameters of a Burn module.
    pub fn of(linear: &Linear) -> Self {
        Self { weight: linear.weight.val(), bias: linear.bias.as_ref().map(Param::val) }
    }
}

/// Projects `x [rows, width]` with several linear layers side by side, with the heads of each
/// interleaved: `[rows, maps · out]`.
///
/// # Panics
/// If the shapes do not match, or the number of layers is zero or above five.
pub fn projections(x: Tensor<2>, maps: Vec<Projection>, heads: usize) -> Tensor<2> {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return projections_composed(x, maps, heads);
    }
    let biases = maps.iter().map(|map| map.bias.is_some()).collect();
    let inputs = maps.into_iter().flat_map(|map| {
        let bias = map.bias.map(input);
        [Some(input(map.weight)), bias].into_iter().flatten()
    });
    let inputs = [input(x)].into_iter().chain(inputs).collect();
    run(Fused { heads, biases }, inputs).y
}

/// [`projections`] in ordinary tensor operations.
///
/// # Panics
/// As [`projections`].
pub fn projections_composed(x: Tensor<2>, maps: Vec<Projection>, heads: usize) -> Tensor<2> {
    let of_map = |(at, Projection { weight, bias }): (usize, Projection)| {
        let [inputs, outputs] = weight.dims();
        let channel_order = channel_order(outputs, heads, &x.device());
        assert_eq!(inputs, x.dims()[1], "projections: width of the rows");
        let in_order = Projection {
            weight: weight.clone().select(1, channel_order.clone()),
            bias: bias.clone().map(|bias| bias.select(0, channel_order)),
        };
        let y = in_order.of_rows(x.clone());
        if trace::recording() {
            trace::step(&format!("projection.{at}"), Operation::Linear)
                .source("Dwivedi & Bresson 2021, eq. 3-5 and 9-12")
                .from(&x)
                .parameter("weight", || weight)
                .optional_parameter("bias", || bias)
                .values(["row", "channel"], &in_blocks(&y, heads));
        }
        y
    };
    Tensor::cat(maps.into_iter().enumerate().map(of_map).collect(), 1)
}

/// Rows `[rows, width]` of interleaved heads with the channels of each head side by side, as in the papers.
pub(crate) fn in_blocks(rows: &Tensor<2>, heads: usize) -> Tensor<2> {
    let [count, width] = rows.dims();
    rows.clone().reshape([count, width / heads, heads]).swap_dims(1, 2).reshape([count, width])
}

/// For each channel of an interleaved row, its index in the weights of the papers.
fn channel_order(width: usize, heads: usize, device: &Device) -> Tensor<1, Int> {
    let channel_order = kernel::Heads { count: heads, width }.channel_order();
    let channel_order: Vec<i64> = channel_order.into_iter().map(|place| place as i64).collect();
    Tensor::from_data(TensorData::new(channel_order, [width]), device)
}

/// The kernel. Its inputs are `x`, then weight and optionally bias of every layer.
#[derive(Debug)]
struct Fused {
    heads: usize,
    biases: Vec<bool>,
}

impl Fused {
    fn maps<'a>(&self, inputs: &[Array<'a>]) -> Vec<kernel::Linear<'a>> {
        let mut rest = inputs[1..].iter();
        let mut next = || rest.next().map_or(&[][..], |array| array.data);
        self.biases.iter().map(|&bias| kernel::Linear { weight: next(), bias: bias.then(&mut next) }).collect()
    }
}

/// The heads of a kernel; their width is the last axis of the second input, a weight or rows.
fn interleaved(count: usize, inputs: &[Array<'_>]) -> kernel::Heads {
    kernel::Heads { count, width: inputs[1].shape[1] }
}

impl Kernel for Fused {
    type Saved = ();

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<()> {
        let (heads, maps, x) = (interleaved(self.heads, inputs), self.maps(inputs), &inputs[0]);
        let y = kernel::projections(&heads, &maps, x.shape[1], x.data);
        let shape = vec![x.shape[0], maps.len() * heads.width];
        Output { y, shape, extra: vec![], saved: save.then_some(()) }
    }

    fn backward(&self, inputs: &[Array<'_>], (): &(), grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let (heads, maps, x) = (interleaved(self.heads, inputs), self.maps(inputs), &inputs[0]);
        let found = kernel::projections_backward(&heads, &maps, x.shape[1], x.data, grad);
        let of_maps = found.weights.into_iter().zip(found.biases).zip(&self.biases);
        let of_maps = of_maps.flat_map(|((weight, bias), &has)| [Some(weight), has.then_some(bias)]);
        [Some(found.x)].into_iter().chain(of_maps).flatten().collect()
    }
}

/// `norm(x + y · weight + bias)` of `x [rows, width]` and interleaved heads `y [rows, in]`.
///
/// # Panics
/// If the shapes do not match.
pub fn output_sublayer(x: Tensor<2>, y: Tensor<2>, map: Projection, heads: usize, norm: NormArgs) -> NormOutput {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return output_sublayer_composed(x, y, map, heads, norm);
    }
    let [rows, width] = x.dims();
    let (norm, [gamma, beta]) = FusedNorm::new(norm);
    let bias = map.bias.unwrap_or_else(|| Tensor::zeros([width], &x.device()));
    let inputs = vec![input(x), input(y), input(map.weight), input(bias), gamma, beta];
    norm_output(&norm.clone(), rows, run(FusedOutput { heads, norm }, inputs))
}

/// [`output_sublayer`] in ordinary tensor operations.
///
/// # Panics
/// As [`output_sublayer`].
pub fn output_sublayer_composed(
    x: Tensor<2>,
    y: Tensor<2>,
    map: Projection,
    heads: usize,
    norm: NormArgs,
) -> NormOutput {
    let y = output(y, map, heads);
    let axes = [("batch", "row"), ("row", "")];
    trace::scope_with(String::new, &axes, || residual_norm_composed(x.unsqueeze_dim(1), y.unsqueeze_dim(1), norm))
}

/// `y · weight + bias` of interleaved heads `y [rows, in]`.
///
/// # Panics
/// If the shapes do not match.
pub fn output(y: Tensor<2>, map: Projection, heads: usize) -> Tensor<2> {
    let channel_order = channel_order(map.weight.dims()[0], heads, &y.device());
    let in_order = Projection { weight: map.weight.clone().select(0, channel_order), bias: map.bias.clone() };
    let out = in_order.of_rows(y.clone());
    if trace::recording() {
        trace::step("output", Operation::Linear)
            .source("Dwivedi & Bresson 2021, eq. 3 and 9")
            .from(&in_blocks(&y, heads))
            .parameter("weight", || map.weight)
            .optional_parameter("bias", || map.bias)
            .values(["row", "channel"], &out);
    }
    out
}

/// The kernel. Its inputs are `x`, `y`, weight, bias, gamma, beta.
#[derive(Debug)]
struct FusedOutput {
    heads: usize,
    norm: FusedNorm,
}

fn map<'a>(inputs: &[Array<'a>]) -> kernel::Linear<'a> {
    kernel::Linear { weight: inputs[2].data, bias: Some(inputs[3].data) }
}

impl Kernel for FusedOutput {
    type Saved = kernel::OutputSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let norm = self.norm.view(inputs[4].data, inputs[5].data);
        let (heads, x, y) = (interleaved(self.heads, inputs), &inputs[0], inputs[1].data);
        let (out, saved, statistics) = kernel::output(&heads, &map(inputs), &norm, x.data, y, save);
        Output { y: out, shape: vec![x.shape[0], 1, x.shape[1]], extra: statistics_values(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let norm = self.norm.view(inputs[4].data, inputs[5].data);
        let (heads, y) = (interleaved(self.heads, inputs), inputs[1].data);
        let found = kernel::output_backward(&heads, &map(inputs), &norm, y, saved, grad);
        let kernel::OutputGradients { x, y, weight, bias, gamma, beta } = found;
        vec![x, y, weight, bias, gamma, beta]
    }
}
