//! `--device` and `--threads`.

use regard::Device;

use crate::failure::Failure;

/// The devices built into this binary.
pub(crate) const BUILT_IN: &[&str] = &["cpu"];

/// The device a name stands for: `auto` or `cpu`. Devices known but not built in are named as such.
pub(crate) fn choose(name: &str) -> anyhow::Result<Device> {
    let kind = name.split(':').next().unwrap_or_default();
    match (name, kind) {
        ("auto" | "cpu", _) => Ok(Device::flex()),
        (_, "cuda" | "wgpu") => Err(Failure::new(format!("the device `{name}` is not built into this binary"))
            .hint(format!("built in: {}; use --device cpu", BUILT_IN.join(", ")))
            .into()),
        _ => Err(Failure::new(format!("unknown device `{name}`"))
            .hint("expected auto, cpu, cuda, cuda:N or wgpu")
            .into()),
    }
}

/// What a device is called.
pub(crate) fn name(device: &Device) -> String {
    let _ = device;
    "cpu".to_owned()
}

/// Limits every parallel loop to `threads` threads; `None` leaves one per core.
pub(crate) fn limit_threads(threads: Option<usize>) -> anyhow::Result<()> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert!(choose("auto").is_ok());
        assert!(choose("cpu").is_ok());
        for name in ["cuda", "cuda:1", "wgpu"] {
            let error = choose(name).unwrap_err().to_string();
            assert!(error.contains("not built"), "{error}");
        }
        assert!(choose("tpu").unwrap_err().to_string().contains("unknown"));
    }
}
