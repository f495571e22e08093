//! `--device`, `--threads` and `--precision`.

use regard::Device;
use regard::nn::ops::kernels_enabled;
use regard::nn::precision::{Precision, precision, set_precision};
use regard_kernels::simd;

use crate::failure::Failure;

/// Devices of this binary.
pub(crate) const BUILT_IN: &[&str] = &[
    "cpu",
    #[cfg(feature = "wgpu")]
    "wgpu",
    #[cfg(feature = "cuda")]
    "cuda",
];

/// The device of a name; `auto` is the CPU.
///
/// # Errors
/// For an unknown device, and for a known one that is not built in.
pub(crate) fn choose(name: &str) -> anyhow::Result<Device> {
    let (kind, index) = name.split_once(':').map_or((name, None), |(kind, index)| (kind, Some(index)));
    match (kind, index) {
        ("auto" | "cpu", None) => Ok(Device::flex()),
        ("cuda", _) | ("wgpu", None) if !BUILT_IN.contains(&kind) => {
            Err(Failure::new(format!("the device `{name}` is not built into this binary"))
                .hint(format!(
                    "built in: {}; use --device cpu, or build with `cargo build --release --features {kind}`",
                    BUILT_IN.join(", ")
                ))
                .into())
        }
        #[cfg(feature = "wgpu")]
        ("wgpu", None) => probe(Device::wgpu(Default::default()), name),
        #[cfg(feature = "cuda")]
        ("cuda", index) => match index.unwrap_or("0").parse::<usize>() {
            Ok(index) => probe(Device::cuda(index), name),
            Err(_) => Err(unknown(name)),
        },
        _ => Err(unknown(name)),
    }
}

/// Asks a device for an answer. Drivers that are missing are told by a panic, which becomes an error here.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn probe(device: Device, name: &str) -> anyhow::Result<Device> {
    use std::panic;
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let answer = panic::catch_unwind(panic::AssertUnwindSafe(|| device.sync()));
    panic::set_hook(hook);
    match answer {
        Ok(Ok(())) => Ok(device),
        _ => Err(Failure::new(format!("the device `{name}` does not answer: its card or its driver is missing"))
            .hint("use --device cpu")
            .into()),
    }
}

fn unknown(name: &str) -> anyhow::Error {
    Failure::new(format!("unknown device `{name}`")).hint("expected auto, cpu, cuda, cuda:N or wgpu").into()
}

/// Name of a device, and the precision in which it multiplies where that is not single precision.
pub(crate) fn name(device: &Device) -> String {
    match precision() {
        _ if *device != Device::flex() => format!("{device:?}"),
        Precision::Float32 => "cpu".to_owned(),
        Precision::Bfloat16 => "cpu in bfloat16".to_owned(),
    }
}

/// Chooses the precision of products with weights in forward passes; `None` leaves it as it is.
///
/// # Errors
/// For one that the processor does not have, or that does not concern the device.
pub(crate) fn choose_precision(precision: Option<Precision>, device: &Device) -> anyhow::Result<()> {
    let Some(precision) = precision else { return Ok(()) };
    if *device != Device::flex() && precision != Precision::Float32 {
        let reason = format!("--precision {} is one of the processor, not of {device:?}", precision.name());
        return Err(Failure::new(reason).hint("leave it out, or use --device cpu").into());
    }
    if precision != Precision::Float32 && !kernels_enabled() {
        let reason =
            format!("--precision {} is one of the kernels, which REGARD_KERNELS switches off", precision.name());
        return Err(Failure::new(reason).hint("leave one of them out").into());
    }
    set_precision(precision).map_err(|precision| {
        let reason = format!("this processor does not have the precision {} (AVX-512 BF16)", precision.name());
        Failure::new(reason).hint("leave --precision out: float32 works everywhere").into()
    })
}

/// The environment variable that sets the number of threads where `--threads` is not given.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Limits every parallel loop to `threads` threads; `None` leaves one per core, or as many as the environment says.
///
/// # Errors
/// For a number in the environment that `--threads` would not take either.
pub(crate) fn limit_threads(threads: Option<usize>) -> anyhow::Result<()> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
        return Ok(());
    }
    let Some(text) = std::env::var_os(THREADS).filter(|text| !text.is_empty()) else { return Ok(()) };
    let text = text.to_string_lossy();
    match crate::args::threads(&text) {
        Ok(_) => Ok(()),
        Err(expected) => Err(Failure::new(format!("{THREADS} is `{}`; {expected}", regard::data::shown(&text)))
            .hint("change the environment variable, or give --threads")
            .into()),
    }
}

/// Refuses an instruction set that the kernels do not know.
///
/// # Errors
/// For a value of the environment variable that is unknown.
pub(crate) fn check_instruction_set() -> anyhow::Result<()> {
    match simd::unknown_level() {
        None => Ok(()),
        Some(text) => Err(Failure::new(format!("{} is `{}`", simd::VARIABLE, regard::data::shown(&text)))
            .hint(format!("expected one of {}", simd::LEVELS.join(", ")))
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_name() {
        assert!(choose("auto").is_ok());
        assert!(choose("cpu").is_ok());
        for name in ["cuda", "cuda:1", "wgpu"] {
            if !BUILT_IN.contains(&name.split(':').next().unwrap()) {
                let error = choose(name).unwrap_err().to_string();
                assert!(error.contains("not built"), "{error}");
            }
        }
        assert!(choose("tpu").unwrap_err().to_string().contains("unknown"));
    }

    #[test]
    fn a_precision_is_refused_where_it_is_not() {
        choose_precision(None, &Device::flex()).unwrap();
        choose_precision(Some(Precision::Float32), &Device::flex()).unwrap();
        if !Precision::Bfloat16.is_available() {
            let error = choose_precision(Some(Precision::Bfloat16), &Device::flex()).unwrap_err().to_string();
            assert!(error.contains("does not have"), "{error}");
        }
    }
}
