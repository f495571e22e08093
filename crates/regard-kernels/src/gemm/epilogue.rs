//! Epilogues: operations on a sum of a matrix product while it is still in a register.

use pulp::Simd;

use super::tile::Edge;

/// Position of a register of results in the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// Turns an accumulated sum into the value that is stored.
pub(crate) trait Epilogue<S: Simd>: Copy {
    /// If true, computing a cell twice gives the same value: the value does not depend on the old content.
    const REPEATABLE: bool = true;
    /// Panics if the operands do not cover an `m` by `n` result.
    fn check(&self, m: usize, n: usize);
    /// The value to store at `cell`, whose old content is at `old`.
    ///
    /// # Safety
    /// `cell` must lie inside the checked size as far as `edge` lets lanes through.
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, old: *const f32, edge: G) -> S::f32s;
}

/// `C = A·B`.
#[derive(Clone, Copy)]
pub(crate) struct Store;

/// `C += A·B`.
#[derive(Clone, Copy)]
pub(crate) struct Accumulate;

/// `C = A·B + bias`.
#[derive(Clone, Copy)]
pub(crate) struct Bias<'a>(pub(crate) &'a [f32]);

/// `C = A·B + bias`, with one bias for each row.
#[derive(Clone, Copy)]
pub(crate) struct RowBias<'a>(pub(crate) &'a [f32]);

/// `C = A·B · scale`, with one factor for each column.
#[derive(Clone, Copy)]
pub(crate) struct ScaleColumns<'a>(pub(crate) &'a [f32]);

/// `C = max(A·B + bias, 0)`.
#[derive(Clone, Copy)]
pub(crate) struct BiasRelu<'a>(pub(crate) &'a [f32]);

/// `C = A·B + x`.
#[derive(Clone, Copy)]
pub(crate) struct AddResidual<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) ldx: usize,
}

/// `C = A·B + bias + x`.
#[derive(Clone, Copy)]
pub(crate) struct BiasResidual<'a> {
    pub(crate) bias: &'a [f32],
    pub(crate) x: &'a [f32],
    pub(crate) ldx: usize,
}

/// `C = max(A·B + bias, 0) + x`.
#[derive(Clone, Copy)]
pub(crate) struct BiasReluResidual<'a> {
    pub(crate) bias: &'a [f32],
    pub(crate) x: &'a [f32],
    pub(crate) ldx: usize,
}

/// `C = A·B + x · scale + shift`, with scale and shift for each column: a residual and a folded
/// batch norm.
#[derive(Clone, Copy)]
pub(crate) struct Residual<'a> {
    pub(crate) scale: &'a [f32],
    pub(crate) shift: &'a [f32],
    pub(crate) x: &'a [f32],
    pub(crate) ldx: usize,
}

/// `C = A·B` where `gate > 0`, else 0: the backward of ReLU.
#[derive(Clone, Copy)]
pub(crate) struct ReluGate<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) ld: usize,
}

fn check_matrix(x: &[f32], ld: usize, m: usize, n: usize) {
    assert!(x.len() > (m - 1) * ld + n - 1, "epilogue operand too short");
}

impl<S: Simd> Epilogue<S> for Store {
    #[inline(always)]
    fn check(&self, _: usize, _: usize) {}
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, _: S, _: Cell, sum: S::f32s, _: *const f32, _: G) -> S::f32s {
        sum
    }
}

impl<S: Simd> Epilogue<S> for Accumulate {
    const REPEATABLE: bool = false;
    #[inline(always)]
    fn check(&self, _: usize, _: usize) {}
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, _: Cell, sum: S::f32s, old: *const f32, edge: G) -> S::f32s {
        // SAFETY: `old` points to the cell.
        simd.add_f32s(unsafe { edge.load(simd, old) }, sum)
    }
}

impl<S: Simd> Epilogue<S> for Bias<'_> {
    #[inline(always)]
    fn check(&self, _: usize, n: usize) {
        assert!(self.0.len() >= n, "bias too short");
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, edge: G) -> S::f32s {
        // SAFETY: the bias was checked to cover the columns.
        simd.add_f32s(sum, unsafe { edge.load(simd, self.0.as_ptr().add(cell.column)) })
    }
}

impl<S: Simd> Epilogue<S> for RowBias<'_> {
    #[inline(always)]
    fn check(&self, m: usize, _: usize) {
        assert!(self.0.len() >= m, "bias too short");
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, _: G) -> S::f32s {
        // SAFETY: the bias was checked to cover the rows.
        simd.add_f32s(sum, simd.splat_f32s(unsafe { *self.0.as_ptr().add(cell.row) }))
    }
}

impl<S: Simd> Epilogue<S> for ScaleColumns<'_> {
    #[inline(always)]
    fn check(&self, _: usize, n: usize) {
        assert!(self.0.len() >= n, "factors too short");
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, edge: G) -> S::f32s {
        // SAFETY: the factors were checked to cover the columns.
        simd.mul_f32s(sum, unsafe { edge.load(simd, self.0.as_ptr().add(cell.column)) })
    }
}

impl<S: Simd> Epilogue<S> for BiasRelu<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        Epilogue::<S>::check(&Bias(self.0), m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, old: *const f32, edge: G) -> S::f32s {
        // SAFETY: as for `Bias`.
        let value = unsafe { Bias(self.0).apply(simd, cell, sum, old, edge) };
        simd.max_f32s(value, simd.splat_f32s(0.0))
    }
}

impl<S: Simd> Epilogue<S> for AddResidual<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        check_matrix(self.x, self.ldx, m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, edge: G) -> S::f32s {
        // SAFETY: `x` was checked to cover the result.
        let x = unsafe { edge.load(simd, self.x.as_ptr().add(cell.row * self.ldx + cell.column)) };
        simd.add_f32s(sum, x)
    }
}

impl<S: Simd> Epilogue<S> for BiasResidual<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        assert!(self.bias.len() >= n, "bias too short");
        check_matrix(self.x, self.ldx, m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, old: *const f32, edge: G) -> S::f32s {
        // SAFETY: bias and `x` were checked to cover the result.
        unsafe {
            let value = Bias(self.bias).apply(simd, cell, sum, old, edge);
            AddResidual { x: self.x, ldx: self.ldx }.apply(simd, cell, value, old, edge)
        }
    }
}

impl<S: Simd> Epilogue<S> for BiasReluResidual<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        assert!(self.bias.len() >= n, "bias too short");
        check_matrix(self.x, self.ldx, m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, old: *const f32, edge: G) -> S::f32s {
        // SAFETY: bias and `x` were checked to cover the result.
        unsafe {
            let value = BiasRelu(self.bias).apply(simd, cell, sum, old, edge);
            AddResidual { x: self.x, ldx: self.ldx }.apply(simd, cell, value, old, edge)
        }
    }
}

impl<S: Simd> Epilogue<S> for Residual<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        assert!(self.scale.len() >= n && self.shift.len() >= n, "scale or shift too short");
        check_matrix(self.x, self.ldx, m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, edge: G) -> S::f32s {
        // SAFETY: all three operands were checked to cover the result.
        unsafe {
            let x = edge.load(simd, self.x.as_ptr().add(cell.row * self.ldx + cell.column));
            let scale = edge.load(simd, self.scale.as_ptr().add(cell.column));
            let shift = edge.load(simd, self.shift.as_ptr().add(cell.column));
            simd.add_f32s(sum, simd.mul_add_f32s(x, scale, shift))
        }
    }
}

impl<S: Simd> Epilogue<S> for ReluGate<'_> {
    #[inline(always)]
    fn check(&self, m: usize, n: usize) {
        check_matrix(self.gate, self.ld, m, n);
    }
    #[inline(always)]
    unsafe fn apply<G: Edge<S>>(&self, simd: S, cell: Cell, sum: S::f32s, _: *const f32, edge: G) -> S::f32s {
        // SAFETY: the gate was checked to cover the result.
        let gate = unsafe { edge.load(simd, self.gate.as_ptr().add(cell.row * self.ld + cell.column)) };
        let zero = simd.splat_f32s(0.0);
        simd.select_f32s(simd.less_than_f32s(zero, gate), sum, zero)
    }
}
