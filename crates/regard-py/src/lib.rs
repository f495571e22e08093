//! The native part of the Python package `regard`: arrays and files go in, arrays come out, and everything between is the
//! library's. What users see, with its documentation, is the Python code in `python/regard/`.

mod arrays;
mod arrow;
mod compute;
mod environment;
mod explain;
mod failure;
mod graphs;
mod routes;
mod series;
mod sets;
mod train;

use std::ffi::OsString;

use mimalloc::MiMalloc;
use pyo3::prelude::*;
use regard::nn::precision::Precision;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs the command line and gives its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| regard_cli::status(arguments))
}

/// Limits the threads of the process.
#[pyfunction]
fn set_threads(threads: usize) -> PyResult<()> {
    if threads == 0 {
        return Err(failure::invalid("threads", "is 0, expected at least 1", None));
    }
    let built = !compute::has_computed() && rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().is_ok();
    let known = || rayon::current_num_threads();
    if built || known() == threads {
        return Ok(());
    }
    let reason = format!("is {threads}, but this process already computes with {}", known());
    Err(failure::invalid("threads", &reason, Some("set them before the first call, or by RAYON_NUM_THREADS")))
}

/// Chooses the precision of products with weights.
#[pyfunction]
fn set_precision(precision: &str) -> PyResult<()> {
    let names = Precision::ALL.map(Precision::name).join(" or ");
    let Some(found) = Precision::of_name(precision) else {
        return Err(failure::invalid("precision", &format!("is {precision:?}, expected {names}"), None));
    };
    regard::nn::precision::set_precision(found).map_err(|_| {
        let reason = format!("is {precision:?}, which this processor does not have (AVX-512 BF16)");
        failure::invalid("precision", &reason, Some("float32 works everywhere"))
    })
}

/// The native module.
#[pymodule]
fn _regard(module: &Bound<'_, PyModule>) -> PyResult<()> {
    failure::add(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<routes::PyInstance>()?;
    module.add_class::<routes::PyFound>()?;
    module.add_class::<routes::PyPolicy>()?;
    module.add_class::<environment::PyEnvironment>()?;
    module.add_class::<environment::PyEnvironmentPolicy>()?;
    module.add_class::<sets::PyBags>()?;
    module.add_class::<sets::PySetModel>()?;
    module.add_class::<graphs::PyGraphs>()?;
    module.add_class::<graphs::PyGraphModel>()?;
    module.add_class::<series::PyPanel>()?;
    module.add_class::<series::PySeriesModel>()?;
    module.add_class::<explain::Trace>()?;
    module.add_class::<explain::Attributions>()?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(train::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(train::experiment_family, module)?)?;
    module.add_function(wrap_pyfunction!(sets::train_sets, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::train_graphs, module)?)?;
    module.add_function(wrap_pyfunction!(series::train_series, module)?)?;
    module.add_function(wrap_pyfunction!(series::forecast_panel, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_precision, module)?)?;
    module.add_function(wrap_pyfunction!(routes::instance_endings, module)?)?;
    module.add_function(wrap_pyfunction!(routes::solve, module)?)?;
    module.add_function(wrap_pyfunction!(routes::generate, module)?)?;
    module.add_function(wrap_pyfunction!(routes::problems, module)?)?;
    module.add_function(wrap_pyfunction!(routes::read_set, module)?)?;
    module.add_function(wrap_pyfunction!(routes::write_set, module)?)
}
