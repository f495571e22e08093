//! Selection of the instruction set that the kernels run on.
//!
//! The default is the widest set of the machine. The environment variable
//! `REGARD_SIMD=avx512|avx2|scalar`, read once, selects a narrower one for comparisons and for
//! debugging.

use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};

static ARCH: OnceLock<Arch> = OnceLock::new();

/// The environment variable that selects the instruction set.
pub const VARIABLE: &str = "REGARD_SIMD";
/// The values of the variable. `neon` is what processors of ARM have anyway.
pub const LEVELS: [&str; 4] = ["avx512", "avx2", "neon", "scalar"];

/// The value of the variable if it is none of [`LEVELS`]; it has no effect then. An empty value is like none.
pub fn unknown_level() -> Option<String> {
    let value = std::env::var_os(VARIABLE)?.to_string_lossy().into_owned();
    (!value.is_empty() && !LEVELS.contains(&value.as_str())).then_some(value)
}

fn arch() -> Arch {
    *ARCH.get_or_init(|| match std::env::var(VARIABLE).as_deref() {
        Ok("scalar") => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        Ok("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    })
}

/// Runs `op` with the instruction set selected for this process.
pub(crate) fn run<Op: WithSimd>(op: Op) -> Op::Output {
    arch().dispatch(op)
}

/// Name of the instruction set in use: `avx512`, `avx2`, `neon` or `scalar`.
pub fn level() -> &'static str {
    struct Level;
    impl WithSimd for Level {
        type Output = (usize, usize);
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> Self::Output {
            (S::F32_LANES, S::REGISTER_COUNT)
        }
    }
    match run(Level) {
        (16, _) => "avx512",
        (8, _) => "avx2",
        (4, _) => "neon",
        _ => "scalar",
    }
}

/// Number of `f32` lanes of one register of the instruction set in use.
pub fn lanes() -> usize {
    struct Lanes;
    impl WithSimd for Lanes {
        type Output = usize;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    run(Lanes)
}
