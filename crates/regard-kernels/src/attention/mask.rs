//! Which keys a query may see.

/// Which keys a query may see.
#[derive(Clone, Copy, Debug, Default)]
pub enum Mask<'a> {
    /// All.
    #[default]
    None,
    /// The first `lengths[b]` keys of instance `b`; the rest is padding.
    Lengths(&'a [u32]),
    /// Query `i` sees keys `0..=i`.
    Causal,
    /// Visited order: with nodes gathered in tour order, query `i` (step `i`) sees keys `i..`,
    /// the nodes not yet visited.
    Remaining,
    /// Any set: `allowed` is `[batch, queries, keys]`, of which an instance takes `cells`.
    Dense {
        /// True where a query may see a key.
        allowed: &'a [bool],
        /// Queries times keys.
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
    /// Keys query `i` may see as a range of `0..keys`, dense masks aside.
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
