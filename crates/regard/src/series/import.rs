//! Import of checkpoints of the code of PatchTST: yuqinie98/PatchTST, `PatchTST_supervised` (Apache-2.0).

use std::path::Path;

use regard_base::series::clock_seasons;
use regard_data::series::formats::{Read, read as read_table};
use regard_data::series::{Parts, Scaler};

use super::PatchTstConfig;
use super::experiment::SeriesData;
use super::model::{SeriesPreparation, WindowNorm};
use super::source::read_options;
use crate::import::{Assignments, Imported, Project, another_network, count, finish, read, shape};
use crate::store::Weights;
use crate::{Error, Result};

const PROJECT: Project = Project {
    origin: "a checkpoint of the code of A Time Series is Worth 64 Words (Nie et al. 2023)",
    repository: "https://github.com/yuqinie98/PatchTST",
    licence: "The licence of the authors of the checkpoint.",
};

/// The moving average of a decomposition, in the authors' code.
const KERNEL: usize = 25;

/// The table that a network was trained on, of which the checkpoint says nothing.
#[derive(Clone, Debug)]
pub struct TrainingTable<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its columns.
    pub columns: SeriesData,
    /// Rows of each series, from the first, from which mean and deviation are taken; all without a number.
    pub rows: Option<usize>,
}

/// Reads a checkpoint of the authors' supervised code (`checkpoint.pth`); `table` gives the names of the series, the time
/// from value to value, and mean and deviation of each series.
///
/// Sizes come from the shapes, the number of heads from the factor of the scores. The file does not tell the stride (half
/// a patch), the padding at the end (there is one), the look-back (which follows from both), the normalisation of windows
/// (`mean`), whether scores are added up over the layers (yes), the place of the norms (`post`) and the kernel of a
/// decomposition (25). `sets` are
/// assignments of settings of `config.json`, such as `stride=2`.
///
/// # Errors
/// Those of reading the files; [`Error::Unsupported`] for weights of another network; [`Error::Config`] for settings that
/// do not hold together, and for a table with another number of series than the network; [`Error::Weights`] with every
/// tensor that is missing, not expected or of another shape.
pub fn patchtst(path: &Path, table: &TrainingTable<'_>, sets: &[String]) -> Result<Imported<PatchTstConfig>> {
    let sets = Assignments::parse(sets)?;
    let (weights, provenance) = read(path, &PROJECT)?;
    let parts = weights.keys().any(|name| name.starts_with("model_trend."));
    let place = if parts { "model_trend" } else { "model" };
    let embedding = format!("{place}.backbone.W_P.weight");
    let Some([width, patch_len]) = shape(&weights, &embedding) else {
        return Err(another_network(path, &weights, &format!("`{embedding}`")));
    };
    let base = PatchTstConfig::patchtst_official();
    let inside = |name: &str| shape::<2>(&weights, &format!("{place}.{name}"));
    let patches = inside("backbone.W_pos").map_or(1, |[patches, _]| patches);
    let individual = count(&weights, &format!("{place}.head.linears"));
    let affine = shape::<1>(&weights, &format!("{place}.revin_layer.affine_weight"));
    let head = if individual > 0 { "head.linears.0.weight" } else { "head.linear.weight" };
    let stride = sets.whole("stride").unwrap_or((patch_len / 2).max(1));
    let end_padding = sets.get("end_padding").and_then(serde_json::Value::as_bool).unwrap_or(base.end_padding);
    let whole = patches.saturating_sub(1 + usize::from(end_padding));
    let layers = format!("{place}.backbone.encoder.layers");
    let mut config = PatchTstConfig {
        look_back: whole.saturating_mul(stride).saturating_add(patch_len),
        horizon: inside(head).map_or(base.horizon, |[horizon, _]| horizon),
        channels: affine.map_or(individual, |[channels]| channels),
        patch_len,
        stride,
        end_padding,
        layers: count(&weights, &layers),
        width,
        heads: heads(&weights, &layers, width).unwrap_or(base.heads),
        feedforward_width: inside("backbone.encoder.layers.0.ff.0.weight").map_or(base.feedforward_width, |[ff, _]| ff),
        affine: affine.is_some(),
        window_norm: WindowNorm::Mean,
        individual: individual > 0,
        decomposition_kernel: if parts { KERNEL } else { 0 },
        dropout: 0.0,
        ..base
    };
    config.data = preparation(table, config.channels)?;
    let guessed = ["look_back", "stride", "end_padding", "window_norm", "residual_attention", "norm_placement"];
    let kernel = parts.then_some("decomposition_kernel");
    let guessed: Vec<&str> = guessed.into_iter().chain(kernel).collect();
    finish(&config, (weights, provenance), &sets, &guessed, path)
}

/// The number of heads, from the factor `1 / √(width of a head)` of the scores, which stands in the file.
fn heads(weights: &Weights, layers: &str, width: usize) -> Option<usize> {
    let scale = weights.get(&format!("{layers}.0.self_attn.sdp_attn.scale"))?.data.first()?;
    let heads = (width as f64 * f64::from(*scale).powi(2)).round();
    (heads >= 1.0 && heads <= width as f64).then_some(heads as usize)
}

/// Names, scales and frequency of the series.
fn preparation(table: &TrainingTable<'_>, channels: usize) -> Result<SeriesPreparation> {
    let TrainingTable { path, columns, rows } = table;
    let Read { panel, .. } = read_table(path, &read_options(columns, None)?)?;
    if channels > 0 && panel.len() != channels {
        let reason = format!("has {} series; the network has parameters for each of {channels}", panel.len());
        return Err(Error::config("--data", reason).in_file(path));
    }
    let parts: Vec<Parts> = panel
        .series()
        .iter()
        .map(|series| {
            let end = rows.unwrap_or(series.len()).min(series.len());
            Parts { training: 0..end, validation: end..end, test: end..end }
        })
        .collect();
    let scaler = Scaler::fit(&panel, &parts).map_err(|error| Error::from(error).in_file(path))?;
    Ok(SeriesPreparation {
        names: scaler.names().to_vec(),
        mean: scaler.mean().to_vec(),
        std: scaler.deviation().to_vec(),
        frequency: panel.clock().frequency().to_string(),
        season_length: clock_seasons(panel.clock().frequency()).first().copied().unwrap_or(1),
        ..SeriesPreparation::default()
    })
}
