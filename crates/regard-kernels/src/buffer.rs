//! Aligned memory for kernels, and a pool that reuses it.
//!
//! A training step needs the same dozen large arrays every time. Allocating them anew causes page
//! faults that cost as much as the arithmetic. A [`Workspace`] therefore returns its memory to a
//! process-wide pool when it is dropped.

use std::{
    ops::{Deref, DerefMut},
    sync::Mutex,
};

use pulp::bytemuck;

/// One cache line. It aligns buffers for every SIMD width.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

// SAFETY: a `Line` is sixteen floats without padding (64 bytes, alignment 64); any bits are valid.
unsafe impl bytemuck::Zeroable for Line {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Line {}

/// A zero-initialised array of floats, aligned to 64 bytes.
#[derive(Clone)]
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0.0; 16]); len.div_ceil(16)], len }
    }

    fn resize(&mut self, len: usize) {
        self.lines.resize(len.div_ceil(16), Line([0.0; 16]));
        self.len = len;
    }

    fn capacity(&self) -> usize {
        self.lines.capacity() * 16
    }
}

impl Deref for Buffer {
    type Target = [f32];
    #[inline]
    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// Buffers that are free for reuse.
static POOL: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

/// Maximum number of buffers in the pool. The smallest are removed first, as they are the cheapest
/// to allocate again.
const POOLED: usize = 64;

/// A buffer borrowed from the pool. **Its content is unspecified** until it is written.
pub struct Workspace(Option<Buffer>);

impl Workspace {
    /// A buffer of `len` floats with unspecified content.
    pub fn lease(len: usize) -> Self {
        let found = {
            let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let fits = |buffer: &Buffer| buffer.capacity() >= len && buffer.capacity() <= 2 * len + 1024;
            pool.iter().position(fits).map(|index| pool.swap_remove(index))
        };
        let mut buffer = found.unwrap_or_else(|| Buffer::zeros(len));
        buffer.resize(len);
        Self(Some(buffer))
    }

    /// A buffer of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut lease = Self::lease(len);
        lease.fill(0.0);
        lease
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let Some(buffer) = self.0.take() else { return };
        let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        pool.push(buffer);
        if pool.len() > POOLED {
            let smallest = (0..pool.len()).min_by_key(|&i| pool[i].capacity()).unwrap_or(0);
            pool.swap_remove(smallest);
        }
    }
}

impl Deref for Workspace {
    type Target = [f32];
    #[inline]
    fn deref(&self) -> &[f32] {
        self.0.as_deref().unwrap_or(&[])
    }
}

impl DerefMut for Workspace {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        self.0.as_deref_mut().unwrap_or(&mut [])
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workspace({} floats)", self.len())
    }
}

/// Splits `all` into consecutive parts of the given sizes.
pub(crate) fn parts<T>(mut all: &mut [T], sizes: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let cut = |size| {
        let (part, rest) = std::mem::take(&mut all).split_at_mut(size);
        all = rest;
        part
    };
    sizes.into_iter().map(cut).collect()
}
