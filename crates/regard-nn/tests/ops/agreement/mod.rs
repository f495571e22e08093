//! Runs an operation with its kernel and composed, and compares values and gradients.

use burn::tensor::{Device, Tensor};
use regard_nn::ops::{MASKED, with_kernels};
use regard_testing::{input, values_of};

/// Largest difference, relative to the largest value.
pub(crate) const TOLERANCE: f32 = 1e-4;

/// Runs `op` on leaves of the given shapes with kernels and composed. Results and gradients of all leaves
/// must agree and be finite.
pub(crate) fn agree(shapes: &[&[usize]], op: impl Fn(&Leaves) -> Tensor<3>) -> Vec<f32> {
    let run = |on: bool| {
        with_kernels(on, || {
            let leaves = Leaves::new(shapes);
            let y = op(&leaves);
            let r: Tensor<3> = input(y.dims(), 99, &Leaves::device());
            let grads = (y.clone() * r).sum().backward();
            let of = |leaf: &Tensor<1>| leaf.grad(&grads).map_or(vec![], |grad| values_of(&grad));
            (values_of(&y), leaves.0.iter().map(of).collect::<Vec<_>>())
        })
    };
    let ((y, found), (reference, expected)) = (run(true), run(false));
    same(&y, &reference, "values");
    for (index, (a, b)) in found.iter().zip(&expected).enumerate() {
        // A leaf without a gradient may have zeros or none.
        if a.is_empty() || b.is_empty() {
            assert!(a.iter().chain(b).all(|&v| v == 0.0), "gradient of leaf {index}");
        } else {
            same(a, b, &format!("gradient of leaf {index}"));
        }
    }
    y
}

/// Panics unless the values agree.
pub(crate) fn same(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().filter(|v| **v != MASKED).fold(1.0_f32, |m, v| m.max(v.abs()));
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= TOLERANCE * scale, "{what}, element {at}: {a}, composed {b}");
    }
}

/// Flat tensors that require gradients, with their shapes.
pub(crate) struct Leaves(Vec<Tensor<1>>, Vec<Vec<usize>>);

impl Leaves {
    pub(crate) fn device() -> Device {
        Device::flex().autodiff()
    }

    pub(crate) fn new(shapes: &[&[usize]]) -> Self {
        let leaf = |(seed, shape): (usize, &&[usize])| {
            let elements = shape.iter().product();
            input([elements], seed as u64 + 1, &Self::device()).require_grad()
        };
        let flat = shapes.iter().enumerate().map(leaf).collect();
        Self(flat, shapes.iter().map(|shape| shape.to_vec()).collect())
    }

    /// The same leaves without gradients.
    pub(crate) fn untracked(&self) -> Self {
        Self(self.0.iter().map(|leaf| leaf.clone().detach()).collect(), self.1.clone())
    }

    /// A leaf in its shape.
    pub(crate) fn get<const D: usize>(&self, index: usize) -> Tensor<D> {
        let shape: [usize; D] = self.1[index].clone().try_into().expect("axes");
        self.0[index].clone().reshape(shape)
    }

    /// All leaves, flat.
    pub(crate) fn all(&self) -> &[Tensor<1>] {
        &self.0
    }

    /// Adds `by` to one element of a leaf.
    pub(crate) fn shift(&mut self, index: usize, element: usize, by: f32) {
        let mut values = values_of(&self.0[index]);
        values[element] += by;
        self.0[index] = Tensor::from_floats(values.as_slice(), &Self::device()).require_grad();
    }

    /// The shape of a leaf.
    pub(crate) fn shape(&self, index: usize) -> &[usize] {
        &self.1[index]
    }
}
