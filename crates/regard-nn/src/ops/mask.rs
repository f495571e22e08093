//! Attention masks.

use std::sync::Arc;

use burn::tensor::{Bool, Device, Tensor, TensorData};

/// The keys that each query may attend to.
///
/// Masks that follow a rule are stored as the rule, so that a kernel can skip work instead of reading
/// bits; [`Mask::masked`] expands any mask for the composed operations.
#[derive(Clone, Debug, Default)]
pub enum Mask {
    /// Every key is allowed.
    #[default]
    None,
    /// Padding: key `j` of item `b` is allowed if `j < lengths[b]`. Length 0 masks all keys.
    Lengths(Arc<Vec<u32>>),
    /// Key `s` is masked for query `l` if `s > l`.
    Causal,
    /// Nodes in visiting order: key `j` is allowed for query `t` if `j >= t`.
    Remaining,
    /// Any pattern, one bit for each pair of query and key.
    Dense(Arc<DenseMask>),
}

impl Mask {
    /// Returns true if `query` of item `item` may attend to `key`.
    ///
    /// # Panics
    /// If an index is outside the lengths or the dense pattern.
    pub fn allows(&self, item: usize, query: usize, key: usize) -> bool {
        match self {
            Mask::None => true,
            Mask::Lengths(lengths) => key < lengths[item] as usize,
            Mask::Causal => key <= query,
            Mask::Remaining => key >= query,
            Mask::Dense(dense) => dense.allows(item, query, key),
        }
    }

    /// The mask as a tensor `[batch, queries, keys]`, true where a pair is masked; `None` if nothing is
    /// masked.
    ///
    /// # Panics
    /// If the mask has other sizes.
    pub fn masked(&self, [batch, queries, keys]: [usize; 3], device: &Device) -> Option<Tensor<3, Bool>> {
        let shape = [batch, queries, keys];
        self.check(shape);
        // Only axes along which the mask differs are allocated; the others are broadcast.
        let built = match self {
            Mask::None => return None,
            Mask::Lengths(_) => [batch, 1, keys],
            Mask::Causal | Mask::Remaining => [1, queries, keys],
            Mask::Dense(_) => shape,
        };
        let mut bits = Vec::with_capacity(built.iter().product());
        for item in 0..built[0] {
            for query in 0..built[1] {
                bits.extend((0..keys).map(|key| !self.allows(item, query, key)));
            }
        }
        let tensor: Tensor<3, Bool> = Tensor::from_data(TensorData::new(bits, built), device);
        Some(tensor.expand(shape))
    }

    /// The mask in the form that the kernels read.
    pub(crate) fn view(&self) -> regard_kernels::attention::Mask<'_> {
        use regard_kernels::attention::Mask as View;
        match self {
            Mask::None => View::None,
            Mask::Lengths(lengths) => View::Lengths(lengths),
            Mask::Causal => View::Causal,
            Mask::Remaining => View::Remaining,
            Mask::Dense(dense) => {
                let [_, queries, keys] = dense.shape();
                View::Dense { allowed: dense.bits(), cells: queries * keys }
            }
        }
    }

    /// Panics if the mask does not match `[batch, queries, keys]`.
    pub(crate) fn check(&self, [batch, queries, keys]: [usize; 3]) {
        match self {
            Mask::None | Mask::Causal | Mask::Remaining => {}
            Mask::Lengths(lengths) => {
                assert_eq!(lengths.len(), batch, "mask lengths: one for each of the batch");
                assert!(
                    lengths.iter().all(|&length| length as usize <= keys),
                    "mask lengths: none above the {keys} keys"
                );
            }
            Mask::Dense(dense) => {
                assert_eq!(dense.shape(), [batch, queries, keys], "dense mask: shape");
            }
        }
    }
}

/// A pattern of allowed pairs `[batch, queries, keys]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenseMask {
    shape: [usize; 3],
    allowed: Vec<bool>,
}

impl DenseMask {
    /// Creates a mask from row-major values; true means allowed.
    ///
    /// # Panics
    /// If the number of values is not the product of the shape.
    pub fn new(shape: [usize; 3], allowed: Vec<bool>) -> Self {
        assert_eq!(allowed.len(), shape.iter().product::<usize>(), "dense mask {shape:?}: number of bits");
        Self { shape, allowed }
    }

    /// Creates a mask from a rule `(item, query, key) -> allowed`.
    pub fn from_fn(shape: [usize; 3], rule: impl Fn(usize, usize, usize) -> bool) -> Self {
        let [batch, queries, keys] = shape;
        let mut allowed = Vec::with_capacity(batch * queries * keys);
        for item in 0..batch {
            for query in 0..queries {
                allowed.extend((0..keys).map(|key| rule(item, query, key)));
            }
        }
        Self { shape, allowed }
    }

    /// The shape `[batch, queries, keys]`.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The values, row-major, true where allowed.
    pub fn bits(&self) -> &[bool] {
        &self.allowed
    }

    /// Returns true if `query` of item `item` may attend to `key`.
    ///
    /// # Panics
    /// If an index is outside the shape.
    pub fn allows(&self, item: usize, query: usize, key: usize) -> bool {
        let [_, queries, keys] = self.shape;
        assert!(query < queries && key < keys, "dense mask: index outside the shape");
        self.allowed[(item * queries + query) * keys + key]
    }
}

impl From<DenseMask> for Mask {
    fn from(mask: DenseMask) -> Self {
        Mask::Dense(Arc::new(mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(mask: Mask, shape: [usize; 3]) -> Vec<bool> {
        let tensor = mask.masked(shape, &Device::flex());
        tensor.map_or(vec![], |t| t.into_data().iter::<bool>().collect())
    }

    #[test]
    fn rules_spelled_out() {
        let (o, x) = (false, true);
        assert_eq!(rows(Mask::Causal, [1, 2, 3]), [o, x, x, o, o, x]);
        assert_eq!(rows(Mask::Remaining, [1, 3, 3]), [o, o, o, x, o, o, x, x, o]);
        let lengths = Mask::Lengths(Arc::new(vec![0, 2]));
        assert_eq!(rows(lengths, [2, 1, 2]), [x, x, o, o]);
        assert!(Mask::None.masked([1, 1, 1], &Device::flex()).is_none());
    }

    #[test]
    fn dense_equals_its_rule() {
        let mask = DenseMask::from_fn([2, 2, 2], |b, q, k| (b + q + k) % 2 == 0);
        assert_eq!(mask, DenseMask::new([2, 2, 2], mask.bits().to_vec()));
        assert!(mask.allows(1, 1, 0) && !mask.allows(0, 0, 1));
        let masked = rows(mask.clone().into(), [2, 2, 2]);
        assert!(masked.iter().zip(mask.bits()).all(|(masked, allowed)| masked != allowed));
    }

    #[test]
    #[should_panic(expected = "none above the 2 keys")]
    fn lengths_beyond_the_keys() {
        let _ = Mask::Lengths(Arc::new(vec![3])).masked([1, 1, 2], &Device::flex());
    }
}
