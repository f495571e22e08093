//! Laws every attention block obeys, as tests made by a macro.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};

/// Effect on the output of a permutation of the input's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// The outputs change places with them.
    Equivariant,
    /// Nothing.
    Invariant,
    /// Something: the order means something.
    Ordered,
}

/// Tests of one block: `module`, any Burn module, and a rule from its input to its output.
///
/// ```ignore
/// block_suite! {
///     name: encoder,
///     block: |device| EncoderConfig { .. }.init(device),
///     forward: |block, x| block.forward(x),
///     input: [3, 5, 16],
///     output: [3, 5, 16],
///     law: Equivariant,
///     without_gradient: [],                     // parameters whose gradient is zero by nature
///     padded: |block, x, lengths| block.forward_padded(x, lengths),   // optional
/// }
/// ```
///
/// It checks the output's shape; that every parameter gets a gradient; the permutation law; that
/// one item computed alone is the same as in a batch when `alone: true`; that what stands in the
/// padding does not matter (`padded`); and that kernels on and off agree, values and gradients.
/// The calling crate must depend on `regard_nn`.
#[macro_export]
macro_rules! block_suite {
    (
        name: $name:ident,
        block: $block:expr,
        forward: $forward:expr,
        input: $input:expr,
        output: $output:expr,
        law: $law:ident
        $(, without_gradient: $without:expr)?
        $(, padded: $padded:expr)?
        $(,)?
    ) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::{Law, close, input, missing_gradients, parameter_gradients, values_of};
            use ::burn::module::Module as _;
            use ::burn::tensor::{Device, Tensor};

            const TOLERANCE: f32 = 1e-4;

            #[test]
            fn output_shape() {
                let device = Device::flex();
                let block = ($block)(&device);
                let y = ($forward)(&block, input($input, 1, &device));
                assert_eq!(y.dims(), $output);
                assert!(values_of(&y).iter().all(|v| v.is_finite()));
            }

            #[test]
            fn every_parameter_gets_a_gradient() {
                let device = Device::flex().autodiff();
                let block = ($block)(&device);
                let y = ($forward)(&block, input($input, 1, &device));
                let r = input(y.dims(), 2, &device);
                let grads = (y * r).sum().backward();
                #[allow(unused_mut, unused_assignments)]
                let mut without: Vec<&str> = vec![];
                $(without = $without.to_vec();)?
                assert_eq!(missing_gradients(&block, &grads, &without), Vec::<String>::new());
            }

            #[test]
            fn permutation_law() {
                let device = Device::flex();
                let block = ($block)(&device).valid();
                let x: Tensor<3> = input($input, 1, &device);
                let turned = |x: Tensor<3>| x.flip([1]);
                let y = ($forward)(&block, x.clone());
                let z = ($forward)(&block, turned(x));
                match Law::$law {
                    Law::Equivariant => close(&turned(z), &y, TOLERANCE),
                    Law::Invariant => close(&z, &y, TOLERANCE),
                    Law::Ordered => {
                        let far = |a: &Tensor<3>| (a.clone() - y.clone()).abs().max().into_scalar::<f32>();
                        assert!(far(&z) > TOLERANCE && far(&turned(z)) > TOLERANCE);
                    }
                }
            }

            #[test]
            fn kernels_agree_with_composed_operations() {
                let device = Device::flex().autodiff();
                let block = ($block)(&device);
                let run = |on: bool| ::regard_nn::ops::with_kernels(on, || {
                    let x = input($input, 1, &device).require_grad();
                    let y = ($forward)(&block, x.clone());
                    let grads = (y.clone() * input(y.dims(), 2, &device)).sum().backward();
                    let mut all = parameter_gradients(&block, &grads);
                    let at_input = x.grad(&grads).map_or(vec![], |g| values_of(&g));
                    all.push(("input".to_owned(), at_input));
                    (y, all)
                });
                let ((y, grads), (reference, expected)) = (run(true), run(false));
                close(&y, &reference, TOLERANCE);
                let scale = |values: &[f32]| values.iter().fold(1.0_f32, |m, v| m.max(v.abs()));
                for ((name, found), (_, expected)) in grads.iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len(), "gradient of {name}");
                    let bound = TOLERANCE * scale(expected);
                    let good = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= bound);
                    assert!(good, "gradient of {name}: {found:?}, composed {expected:?}");
                }
            }

            $(
                #[test]
                fn padding_does_not_leak() {
                    let device = Device::flex();
                    let block = ($block)(&device).valid();
                    let [batch, nodes, width] = $input;
                    let lengths: Vec<usize> = (0..batch).map(|item| item % (nodes + 1)).collect();
                    let x: Tensor<3> = input([batch, nodes, width], 1, &device);
                    let noise: Tensor<3> = input([batch, nodes, width], 3, &device).mul_scalar(9.0);
                    let (mut clean, mut dirty) = (x.clone(), x.clone());
                    for (item, &length) in lengths.iter().enumerate().filter(|(_, l)| **l < nodes) {
                        let padding = [item..item + 1, length..nodes, 0..width];
                        clean = clean.slice_fill(padding.clone(), 0.0);
                        dirty = dirty.slice_assign(padding.clone(), noise.clone().slice(padding));
                    }
                    let valid = |y: Tensor<3>| {
                        let rows = lengths.iter().enumerate().filter(|(_, l)| **l > 0);
                        rows.map(|(item, &l)| y.clone().narrow(0, item, 1).narrow(1, 0, l))
                            .collect::<Vec<_>>()
                    };
                    let a = valid(($padded)(&block, clean, &lengths));
                    let b = valid(($padded)(&block, dirty, &lengths));
                    assert!(!a.is_empty());
                    a.iter().zip(&b).for_each(|(a, b)| close(a, b, TOLERANCE));
                }
            )?
        }
    };
}

/// A fixed pseudo-random tensor in (-1, 1), different for each `seed`.
pub fn input<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        // SplitMix64 (Steele et al. 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let data: Vec<f32> = (0..shape.iter().product::<usize>()).map(|_| next()).collect();
    Tensor::from_data(TensorData::new(data, shape), device)
}

/// The values of a tensor, row-major.
pub fn values_of<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

/// Fails unless the tensors agree to `tolerance`, absolutely or relative to the larger value.
///
/// # Panics
/// If the shapes or the values differ.
pub fn close<const D: usize>(found: &Tensor<D>, expected: &Tensor<D>, tolerance: f32) {
    assert_eq!(found.dims(), expected.dims(), "shapes");
    for (at, (a, b)) in values_of(found).into_iter().zip(values_of(expected)).enumerate() {
        let bound = tolerance * a.abs().max(b.abs()).max(1.0);
        assert!((a - b).abs() <= bound, "element {at}: {a}, expected {b}");
    }
}

/// The paths of parameters whose gradient is missing or zero, apart from those in `without`.
pub fn missing_gradients<M: Module>(module: &M, grads: &Gradients, without: &[&str]) -> Vec<String> {
    let zero = |values: &[f32]| values.iter().all(|&v| v == 0.0);
    let all = parameter_gradients(module, grads).into_iter();
    let missing = all.filter(|(path, values)| zero(values) && !without.contains(&path.as_str()));
    missing.map(|(path, _)| path).collect()
}

/// Gradients of every parameter by path, empty where there is none; buffers are left out.
pub fn parameter_gradients<M: Module>(module: &M, grads: &Gradients) -> Vec<(String, Vec<f32>)> {
    struct Visitor<'a> {
        grads: &'a Gradients,
        path: Vec<String>,
        found: Vec<(String, Vec<f32>)>,
    }
    impl ModuleVisitor for Visitor<'_> {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            if value.is_require_grad() {
                let grad = value.grad(self.grads).map_or(vec![], |grad| values_of(&grad));
                self.found.push((self.path.join("."), grad));
            }
        }
    }
    let mut visitor = Visitor { grads, path: vec![], found: vec![] };
    module.visit(&mut visitor);
    visitor.found
}
