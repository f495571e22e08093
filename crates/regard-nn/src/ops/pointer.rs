//! The pointer: a clipped, masked distribution over nodes (Kool et al. 2019, §3.2, eq. 7 and 8).
//!
//! `log p = log_softmax(clip · tanh(g kᵀ / √width))` over the allowed nodes.

use burn::tensor::{Int, Tensor, activation};
use regard_kernels::pointer as kernel;

use crate::trace::{self, Operation};

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::{MASKED, Mask};

/// Log-probabilities of every node for every step.
///
/// - `glimpse`: `[batch, steps, width]`, the query of each step
/// - `keys`: `[batch, nodes, width]`
/// - `clip`: logits are clipped to `(-clip, clip)`; 0 turns the clipping off
///
/// Returns `[batch, steps, nodes]`; masked nodes have the value [`MASKED`] and pass no gradient.
///
/// # Panics
/// If the shapes do not match.
pub fn pointer(glimpse: Tensor<3>, keys: Tensor<3>, mask: &Mask, clip: f32) -> Tensor<3> {
    if !has_kernels(&glimpse.device()) || check(&glimpse, &keys, mask).contains(&0) {
        return pointer_composed(glimpse, keys, mask, clip);
    }
    let fused = Fused { mask: mask.clone(), clip, chosen: None };
    run(fused, vec![input(glimpse), input(keys)]).y
}

/// [`pointer()`] in ordinary tensor operations.
pub fn pointer_composed(glimpse: Tensor<3>, keys: Tensor<3>, mask: &Mask, clip: f32) -> Tensor<3> {
    let shape = check(&glimpse, &keys, mask);
    let device = glimpse.device();
    if shape.contains(&0) {
        return Tensor::zeros(shape, &device);
    }
    let scale = 1.0 / (glimpse.dims()[2] as f32).sqrt();
    const STEPS: [&str; 3] = ["batch", "query", "key"];
    let products = glimpse.clone().matmul(keys.clone().swap_dims(1, 2));
    trace::step("raw_logits", Operation::Dot { heads: 1 })
        .source(SOURCE)
        .from(&glimpse)
        .from(&keys)
        .values(STEPS, &products);
    let mut logits = products.clone().mul_scalar(scale);
    trace::step("logits", Operation::Scale { factor: scale }).source(SOURCE).from(&products).values(STEPS, &logits);
    if clip > 0.0 {
        let clipped = logits.clone().tanh().mul_scalar(clip);
        trace::step("clipped", Operation::ClippedTanh { clip }).source(SOURCE).from(&logits).values(STEPS, &clipped);
        logits = clipped;
    }
    let masked = mask.masked(shape, &device);
    let log_p = match masked.clone() {
        None => activation::log_softmax(logits.clone(), 2),
        // The second fill gives fully masked steps the same finite value everywhere.
        Some(masked) => {
            activation::log_softmax(logits.clone().mask_fill(masked.clone(), MASKED), 2).mask_fill(masked, MASKED)
        }
    };
    if trace::recording() {
        let allowed = masked.clone().map(|masked| masked.bool_not().float());
        let barred = match masked {
            Some(masked) => log_p.clone().mask_fill(masked, f32::NEG_INFINITY),
            None => log_p.clone(),
        };
        trace::step("log_probability", Operation::LogSoftmax)
            .source("Kool et al. 2019, §3.2, eq. 8")
            .from(&logits)
            .from_optional(allowed.as_ref())
            .values(STEPS, &barred);
        trace::step("probability", Operation::Exp).from(&barred).values(STEPS, &barred.clone().exp());
    }
    log_p
}

/// Section that defines the logits.
const SOURCE: &str = "Kool et al. 2019, §3.2, eq. 7";

/// Log-probability of the chosen nodes, summed over the steps.
///
/// Shapes as for [`pointer()`]; `chosen` is `[batch, steps]` with node indices. Returns `[batch]`.
///
/// # Panics
/// If the shapes do not match.
pub fn pointer_chosen(
    glimpse: Tensor<3>,
    keys: Tensor<3>,
    mask: &Mask,
    clip: f32,
    chosen: Tensor<2, Int>,
) -> Tensor<1> {
    let shape = check(&glimpse, &keys, mask);
    if !has_kernels(&glimpse.device()) || shape.contains(&0) {
        return pointer_chosen_composed(glimpse, keys, mask, clip, chosen);
    }
    let chosen: Vec<u32> = chosen.into_data().iter::<u32>().collect();
    let nodes = shape[2];
    assert!(chosen.iter().all(|&node| (node as usize) < nodes), "pointer: chosen nodes below {nodes}");
    let fused = Fused { mask: mask.clone(), clip, chosen: Some(chosen) };
    run(fused, vec![input(glimpse), input(keys)]).y
}

/// [`pointer_chosen`] in ordinary tensor operations.
pub fn pointer_chosen_composed(
    glimpse: Tensor<3>,
    keys: Tensor<3>,
    mask: &Mask,
    clip: f32,
    chosen: Tensor<2, Int>,
) -> Tensor<1> {
    let [batch, steps, nodes] = check(&glimpse, &keys, mask);
    assert_eq!(chosen.dims(), [batch, steps], "pointer: one chosen node for each step");
    if batch * steps * nodes == 0 {
        return Tensor::zeros([batch], &glimpse.device());
    }
    let log_p = pointer_composed(glimpse, keys, mask, clip);
    let log_p: Tensor<3> = log_p.gather(2, chosen.unsqueeze_dim(2));
    log_p.reshape([batch, steps]).sum_dim(1).reshape([batch])
}

/// The checked shape `[batch, steps, nodes]`.
fn check(glimpse: &Tensor<3>, keys: &Tensor<3>, mask: &Mask) -> [usize; 3] {
    let [batch, steps, width] = glimpse.dims();
    let [key_batch, nodes, key_width] = keys.dims();
    assert_eq!(batch, key_batch, "pointer: batch of glimpses and keys");
    assert_eq!(width, key_width, "pointer: width of glimpses and keys");
    mask.check([batch, steps, nodes]);
    [batch, steps, nodes]
}

/// The kernel. Its inputs are glimpses and keys; its result are all log-probabilities or the sums for
/// the chosen nodes.
#[derive(Debug)]
struct Fused {
    mask: Mask,
    clip: f32,
    chosen: Option<Vec<u32>>,
}

impl Fused {
    fn shape(&self, inputs: &[Array<'_>]) -> kernel::Shape {
        let (glimpse, keys) = (inputs[0].shape, inputs[1].shape);
        let (batch, steps, width) = (glimpse[0], glimpse[1], glimpse[2]);
        kernel::Shape { batch, steps, nodes: keys[1], width, clip: self.clip }
    }
}

impl Kernel for Fused {
    type Saved = ();

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<()> {
        let (shape, mask) = (self.shape(inputs), self.mask.view());
        let (glimpse, keys) = (inputs[0].data, inputs[1].data);
        let (y, shape) = match &self.chosen {
            Some(chosen) => (kernel::chosen(&shape, glimpse, keys, mask, chosen), vec![shape.batch]),
            None => {
                let y = kernel::log_probabilities(&shape, glimpse, keys, mask);
                (y, vec![shape.batch, shape.steps, shape.nodes])
            }
        };
        Output { y, shape, extra: vec![], saved: save.then_some(()) }
    }

    fn backward(&self, inputs: &[Array<'_>], (): &(), grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let (shape, mask) = (self.shape(inputs), self.mask.view());
        let (glimpse, keys) = (inputs[0].data, inputs[1].data);
        let (glimpse, keys) = match &self.chosen {
            Some(chosen) => kernel::chosen_backward(&shape, glimpse, keys, mask, chosen, grad),
            None => kernel::log_probabilities_backward(&shape, glimpse, keys, mask, grad),
        };
        vec![glimpse, keys]
    }
}
