//! Attention masks.

/// The keys that a query may attend to.
#[derive(Clone, Copy, Debug, Default)]
pub enum Mask<'a> {
    /// All keys.
    #[default]
    None,
    /// The first `lengths[b]` keys of instance `b`; the rest is padding.
    Lengths(&'a [u32]),
    /// Query `i` attends to keys `0..=i`.
    Causal,
    /// Query `i` attends to keys `i..`. With the nodes sorted in tour order, query `i` is step `i` and
    /// these keys are the nodes that are not visited yet.
    Remaining,
    /// An arbitrary mask: `allowed` is `[batch, queries, keys]`, and one instance uses `cells` values.
    Dense {
        /// True where a query may attend to a key.
        allowed: &'a [bool],
        /// Number of queries times number of keys.
        cells: usize,
    },
}

/// The mask of one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstanceMask<'a> {
    None,
    Length(usize),
    Causal,
    Remaining,
    Dense(&'a [bool]),
}

impl<'a> Mask<'a> {
    pub(crate) fn of_instance(&self, b: usize) -> InstanceMask<'a> {
        match *self {
            Self::None => InstanceMask::None,
            Self::Lengths(lengths) => InstanceMask::Length(lengths[b] as usize),
            Self::Causal => InstanceMask::Causal,
            Self::Remaining => InstanceMask::Remaining,
            Self::Dense { allowed, cells } => InstanceMask::Dense(&allowed[b * cells..][..cells]),
        }
    }
}

impl InstanceMask<'_> {
    /// Range of keys that query `i` may attend to. A dense mask gives all keys.
    #[inline(always)]
    pub(crate) fn range(&self, i: usize, keys: usize) -> (usize, usize) {
        match *self {
            Self::None | Self::Dense(_) => (0, keys),
            Self::Length(length) => (0, length.min(keys)),
            Self::Causal => (0, (i + 1).min(keys)),
            Self::Remaining => (i.min(keys), keys),
        }
    }
}
