//! Precision of products of rows with weights in forward passes.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::simd;

/// A precision of products; sums are in single precision in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Single precision, 24 bits.
    #[default]
    Float32,
    /// Both factors are rounded to 8 bits, with the instructions of AVX-512 BF16.
    Bfloat16,
}

/// True if the processor has AVX-512 BF16, and AVX-512 is in use.
static HAS_BFLOAT16: LazyLock<bool> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    return simd::level() == "avx512" && std::arch::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
});

/// True if this process has chosen bfloat16.
static BFLOAT16: AtomicBool = AtomicBool::new(false);

impl Precision {
    /// Both precisions.
    pub const ALL: [Self; 2] = [Self::Float32, Self::Bfloat16];

    /// Its name, as of a type of numbers in PyTorch.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
        }
    }

    /// The precision of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// True if this processor has it, in the instruction set in use.
    pub fn is_available(self) -> bool {
        match self {
            Self::Float32 => true,
            Self::Bfloat16 => *HAS_BFLOAT16,
        }
    }

    /// Rows of panels that hold so many terms of a sum.
    pub(crate) fn rows(self, terms: usize) -> usize {
        match self {
            Self::Float32 => terms,
            Self::Bfloat16 => terms.div_ceil(2),
        }
    }
}

/// Chooses the precision of the products of rows with weights in forward passes, for the whole process and from now on, as
/// PyTorch's `torch.set_float32_matmul_precision` does. Products of activations with each other, gradients, norms and softmax
/// stay in single precision.
///
/// # Errors
/// The precision, if this processor does not have it; nothing is changed then.
pub fn set_precision(precision: Precision) -> Result<(), Precision> {
    if !precision.is_available() {
        return Err(precision);
    }
    BFLOAT16.store(precision == Precision::Bfloat16, Ordering::Relaxed);
    Ok(())
}

/// The precision in use.
pub fn precision() -> Precision {
    if BFLOAT16.load(Ordering::Relaxed) { Precision::Bfloat16 } else { Precision::Float32 }
}
