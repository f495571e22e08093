//! `--device` and `--threads`.

use regard::Device;
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

/// Name of a device.
pub(crate) fn name(device: &Device) -> String {
    if *device == Device::flex() { "cpu".to_owned() } else { format!("{device:?}") }
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
}
