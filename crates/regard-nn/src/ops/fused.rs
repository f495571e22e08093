//! The bridge from Burn tensors to the kernels: dispatch, autodiff and saved state.
//!
//! An operation with a CPU kernel implements [`Kernel`], and [`run`] calls it. On the CPU device the
//! kernel works on the memory of the tensors. With autodiff its saved state is kept in the graph, and
//! its backward pass registers a gradient for each input that requires one.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DType, Dispatch, ExtensionType, Flex, TensorMetadata, backend_extension};
use burn::tensor::{Bytes, Device, Shape, Tensor};
use burn_flex::{FlexTensor, Layout};

use super::kernels_enabled;

/// The memory of a tensor, row-major.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) shape: &'a [usize],
}

/// The result of a kernel's forward pass.
pub(crate) struct Output<S> {
    pub(crate) y: Vec<f32>,
    pub(crate) shape: Vec<usize>,
    /// Additional values without a gradient, for example batch statistics.
    pub(crate) extra: Vec<f32>,
    pub(crate) saved: Option<S>,
}

/// An operation on contiguous `f32` arrays.
pub(crate) trait Kernel: Debug + Send + Sync + 'static {
    /// Values that the backward pass needs in addition to the inputs.
    type Saved: Send + Sync + 'static;
    /// Computes the result and, if `save` is true, the values that the backward pass needs.
    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved>;
    /// Computes the gradient of each input from that of the result. If `requires_grad[i]` is false, the gradient
    /// of input `i` is not used and may be empty.
    fn backward(
        &self,
        inputs: &[Array<'_>],
        saved: &Self::Saved,
        grad: &[f32],
        requires_grad: &[bool],
    ) -> Vec<Vec<f32>>;
}

type Saved = Option<Arc<dyn Any + Send + Sync>>;

/// A [`Kernel`] with its type of saved state erased.
pub(crate) trait AnyKernel: Debug + Send + Sync {
    fn forward_flex(&self, inputs: &[FlexTensor], save: bool) -> (FlexTensor, FlexTensor, Saved);
    fn backward_flex(
        &self,
        inputs: &[FlexTensor],
        saved: &Saved,
        grad: &FlexTensor,
        requires_grad: &[bool],
    ) -> Vec<FlexTensor>;
}

impl<K: Kernel> AnyKernel for K {
    fn forward_flex(&self, inputs: &[FlexTensor], save: bool) -> (FlexTensor, FlexTensor, Saved) {
        let output = with_arrays(inputs, |arrays| self.forward(arrays, save));
        let extra = if output.extra.is_empty() { vec![0.0] } else { output.extra };
        let count = extra.len();
        let saved = output.saved.map(|saved| Arc::new(saved) as Arc<dyn Any + Send + Sync>);
        (flex(output.y, output.shape), flex(extra, vec![count]), saved)
    }

    fn backward_flex(
        &self,
        inputs: &[FlexTensor],
        saved: &Saved,
        grad: &FlexTensor,
        requires_grad: &[bool],
    ) -> Vec<FlexTensor> {
        let saved = saved.as_ref().and_then(|saved| saved.downcast_ref::<K::Saved>());
        let Some(saved) = saved else { unreachable!("a tracked kernel saves its own type of state") };
        let gradients = with_arrays(inputs, |arrays| {
            with_arrays(std::slice::from_ref(grad), |grad| self.backward(arrays, saved, grad[0].data, requires_grad))
        });
        let shapes = inputs.iter().map(|input| input.shape().to_vec());
        let gradient = |((gradient, shape), required): ((Vec<f32>, Vec<usize>), &bool)| match required {
            true => flex(gradient, shape),
            // It may have been left out.
            false => flex(vec![0.0], vec![1]),
        };
        gradients.into_iter().zip(shapes).zip(requires_grad).map(gradient).collect()
    }
}

fn flex(data: Vec<f32>, shape: Vec<usize>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(data), Layout::contiguous(Shape::from(shape)), DType::F32)
}

fn with_arrays<T>(tensors: &[FlexTensor], body: impl FnOnce(&[Array<'_>]) -> T) -> T {
    let tensors: Vec<FlexTensor> = tensors.iter().map(FlexTensor::to_contiguous).collect();
    let shapes: Vec<Vec<usize>> = tensors.iter().map(|tensor| tensor.shape().to_vec()).collect();
    let arrays: Vec<Array<'_>> = tensors
        .iter()
        .zip(&shapes)
        .map(|(tensor, shape)| {
            let Some(data) = tensor.as_slice::<f32>() else { unreachable!("kernels run on f32 tensors") };
            Array { data, shape }
        })
        .collect();
    body(&arrays)
}

/// Maximum number of inputs of a kernel; unused inputs repeat the first one and are never read.
pub(super) const MAX_INPUTS: usize = 16;

/// The input tensors of an operation.
#[derive(ExtensionType)]
pub(crate) struct Inputs<B: Backend> {
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    c: FloatTensor<B>,
    d: FloatTensor<B>,
    e: FloatTensor<B>,
    f: FloatTensor<B>,
    g: FloatTensor<B>,
    h: FloatTensor<B>,
    i: FloatTensor<B>,
    j: FloatTensor<B>,
    k: FloatTensor<B>,
    l: FloatTensor<B>,
    m: FloatTensor<B>,
    n: FloatTensor<B>,
    o: FloatTensor<B>,
    p: FloatTensor<B>,
}

impl<B: Backend> Inputs<B> {
    fn into_array(self) -> [FloatTensor<B>; MAX_INPUTS] {
        let Self { a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p } = self;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}

/// Kernels as a backend extension.
#[backend_extension(Autodiff, Flex)]
pub(crate) trait KernelOps: Backend {
    /// Runs `kernel` on the first `count` inputs. Returns its result and the additional values.
    fn kernel(
        #[extension_type] inputs: Inputs<Self>,
        count: usize,
        kernel: Arc<dyn AnyKernel>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);
}

/// A backend with kernels. Its functions are not dispatched, so they can pass saved state.
pub(crate) trait HasKernels: Backend {
    fn forward(
        kernel: &dyn AnyKernel,
        inputs: &[FloatTensor<Self>],
        save: bool,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, Saved);
    fn backward(
        kernel: &dyn AnyKernel,
        inputs: &[FloatTensor<Self>],
        saved: &Saved,
        grad: &FloatTensor<Self>,
        requires_grad: &[bool],
    ) -> Vec<FloatTensor<Self>>;
}

impl HasKernels for Flex {
    fn forward(kernel: &dyn AnyKernel, inputs: &[FlexTensor], save: bool) -> (FlexTensor, FlexTensor, Saved) {
        kernel.forward_flex(inputs, save)
    }

    fn backward(
        kernel: &dyn AnyKernel,
        inputs: &[FlexTensor],
        saved: &Saved,
        grad: &FlexTensor,
        requires_grad: &[bool],
    ) -> Vec<FlexTensor> {
        kernel.backward_flex(inputs, saved, grad, requires_grad)
    }
}

impl KernelOps for Flex {
    fn kernel(inputs: Inputs<Self>, count: usize, kernel: Arc<dyn AnyKernel>) -> (FlexTensor, FlexTensor) {
        let (y, extra, _) = kernel.forward_flex(&inputs.into_array()[..count], false);
        (y, extra)
    }
}

#[derive(Debug)]
struct Fused;

/// State in the autodiff graph for the backward pass.
#[derive(Clone, Debug)]
struct BackwardState<B: Backend> {
    kernel: Arc<dyn AnyKernel>,
    inputs: Vec<FloatTensor<B>>,
    saved: Saved,
}

impl<B: HasKernels> Backward<B, MAX_INPUTS> for Fused {
    type State = BackwardState<B>;

    fn backward(self, ops: Ops<Self::State, MAX_INPUTS>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<B>(&ops.node);
        let BackwardState { kernel, inputs, saved } = ops.state;
        let requires_grad: Vec<bool> = ops.parents.iter().take(inputs.len()).map(Option::is_some).collect();
        let gradients = B::backward(kernel.as_ref(), &inputs, &saved, &grad, &requires_grad);
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

impl<B: HasKernels, C: CheckpointStrategy> KernelOps for Autodiff<B, C> {
    fn kernel(
        inputs: Inputs<Self>,
        count: usize,
        kernel: Arc<dyn AnyKernel>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let inputs = inputs.into_array();
        let nodes = std::array::from_fn(|place| inputs[place].node());
        let inputs: Vec<FloatTensor<B>> =
            inputs.into_iter().take(count).map(|tensor| tensor.into_primitive()).collect();
        match Fused.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(tracked) => {
                let (y, extra, saved) = B::forward(kernel.as_ref(), &inputs, true);
                let y = tracked.finish(BackwardState { kernel, inputs, saved }, y);
                (y, FloatTensor::<Self>::new(extra))
            }
            OpsKind::UnTracked(untracked) => {
                let (y, extra, _) = B::forward(kernel.as_ref(), &inputs, false);
                (untracked.finish(y), FloatTensor::<Self>::new(extra))
            }
        }
    }
}

/// True if operations on `device` run their kernels.
pub(crate) fn has_kernels(device: &Device) -> bool {
    // Tensors on other devices are not in CPU memory: they run the composed operations. So does what is recorded.
    !crate::trace::recording() && kernels_enabled() && device.clone().inner() == Device::flex()
}

/// Converts a tensor to an input of a kernel.
pub(crate) fn input<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Dispatch> {
    tensor.into_dispatch()
}

/// The result of a kernel and its additional values.
pub(crate) struct KernelResult<const D: usize> {
    pub(crate) y: Tensor<D>,
    pub(crate) extra: Tensor<1>,
}

/// Runs `kernel` on one to sixteen inputs.
pub(crate) fn run<const D: usize>(kernel: impl Kernel, inputs: Vec<FloatTensor<Dispatch>>) -> KernelResult<D> {
    let count = inputs.len();
    assert!((1..=MAX_INPUTS).contains(&count), "a kernel reads one to {MAX_INPUTS} tensors");
    let filler = inputs[0].clone();
    let mut places = inputs.into_iter().chain(std::iter::repeat_n(filler, MAX_INPUTS - count));
    let mut place = || places.next().unwrap_or_else(|| unreachable!("one for each place"));
    let inputs = Inputs {
        a: place(),
        b: place(),
        c: place(),
        d: place(),
        e: place(),
        f: place(),
        g: place(),
        h: place(),
        i: place(),
        j: place(),
        k: place(),
        l: place(),
        m: place(),
        n: place(),
        o: place(),
        p: place(),
    };
    let (y, extra) = <Dispatch as KernelOps>::kernel(inputs, count, Arc::new(kernel));
    KernelResult { y: Tensor::from_dispatch(y), extra: Tensor::from_dispatch(extra) }
}
