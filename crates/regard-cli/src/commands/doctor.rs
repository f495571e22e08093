//! `regard doctor`.

use regard::nn::precision::Precision;
use serde::Serialize;

use super::Outcome;
use crate::device;
use crate::models::{self, VARIABLE};
use crate::report::{Align, Printer, Table, number};

/// Environment variables that change what the program does.
const SWITCHES: [&str; 5] = ["REGARD_KERNELS", "REGARD_SIMD", VARIABLE, "RAYON_NUM_THREADS", "MIMALLOC_PURGE_DELAY"];

/// Findings about machine and binary.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    target: String,
    cpu_features: Vec<&'static str>,
    simd: &'static str,
    kernels: bool,
    precisions: Vec<&'static str>,
    cores: usize,
    threads: usize,
    memory_bytes: Option<u64>,
    memory_available_bytes: Option<u64>,
    devices: &'static [&'static str],
    model: Option<String>,
    model_problem: Option<String>,
    environment: Vec<(&'static str, Option<String>)>,
}

/// Reports processor, threads, memory, devices and the default model; fails if that model cannot be read.
pub(super) fn run(printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (model, model_problem) = match models::locate(None).and_then(models::open) {
        Ok(found) => (Some(format!("{}, {}", found.info.name, found.info.place.describe())), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        target: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu_features: cpu_features(),
        simd: regard_kernels::simd::level(),
        kernels: regard::nn::ops::kernels_enabled(),
        precisions: Precision::ALL.into_iter().filter(|one| one.is_available()).map(Precision::name).collect(),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        threads: rayon::current_num_threads(),
        memory_bytes: memory("MemTotal:"),
        memory_available_bytes: memory("MemAvailable:"),
        devices: device::BUILT_IN,
        model,
        model_problem,
        environment: SWITCHES.iter().map(|&name| (name, std::env::var(name).ok())).collect(),
    };
    if printer.json() {
        printer.object(&report)?;
    } else {
        printer.result(&plain(&report))?;
    }
    Ok(if report.model.is_some() { Outcome::Done } else { Outcome::No })
}

fn plain(report: &Report) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
    line("machine", report.target.clone());
    line("cpu features", list(&report.cpu_features));
    let kernels = if report.kernels { "" } else { ", but kernels are disabled" };
    line("kernels run on", format!("{}{kernels}", report.simd));
    line("precisions", list(&report.precisions));
    line("threads", format!("{} of {} cores", report.threads, report.cores));
    if let Some(total) = report.memory_bytes {
        let free = report.memory_available_bytes.map(|bytes| format!(", {} available", number::bytes(bytes)));
        line("memory", format!("{}{}", number::bytes(total), free.unwrap_or_default()));
    }
    line("devices", list(report.devices));
    let problem = report.model_problem.clone().unwrap_or_default();
    line("model", report.model.clone().unwrap_or(format!("none: {problem}")));
    for (name, value) in &report.environment {
        line(name, value.clone().unwrap_or_else(|| "not set".to_owned()));
    }
    format!("regard {}\n{}", report.version, table.render(2, 2))
}

fn list(words: &[&str]) -> String {
    if words.is_empty() { "none detected".to_owned() } else { words.join(", ") }
}

/// Features of this CPU that kernels may use.
fn cpu_features() -> Vec<&'static str> {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let features = [
            ("avx2", std::arch::is_x86_feature_detected!("avx2")),
            ("fma", std::arch::is_x86_feature_detected!("fma")),
            ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
            ("avx512bw", std::arch::is_x86_feature_detected!("avx512bw")),
            ("avx512vl", std::arch::is_x86_feature_detected!("avx512vl")),
            ("avx512bf16", std::arch::is_x86_feature_detected!("avx512bf16")),
        ];
        found.extend(features.iter().filter(|(_, has)| *has).map(|(name, _)| *name));
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("neon") {
        found.push("neon");
    }
    found
}

/// A line of `/proc/meminfo` in bytes; `None` on other systems.
fn memory(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_on_linux() {
        assert_eq!(memory("NoSuchLine:"), None);
        if cfg!(target_os = "linux") {
            assert!(memory("MemTotal:").is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
