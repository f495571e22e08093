//! `regard model`.

use regard::store::{Manifest, ModelDir, import};

use super::Outcome;
use crate::args::{KoolArgs, ModelShowArgs};
use crate::models;
use crate::report::{Printer, model};

/// Turns a checkpoint of Kool's code into a model folder.
pub(super) fn import_kool(args: &KoolArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (config, weights, provenance) = import::kool(&args.file)?;
    let manifest = Manifest {
        licence: provenance.licence.clone(),
        provenance: Some(provenance),
        ..Manifest::now("regard model import kool")
    };
    let folder = ModelDir::save(&args.out, &config, &weights, &manifest)?;
    let read_back = models::open(models::Place::Folder(folder.path().to_owned()))?;
    if printer.json() {
        printer.object(&model::json(&read_back))?;
    } else {
        printer.result(&model::plain(&read_back, printer.verbose()))?;
        printer.note(&format!("written {}; try: regard eval --model {0} --paper-set tsp20", folder.path().display()));
    }
    Ok(Outcome::Done)
}

/// Describes a model folder.
pub(super) fn show(args: ModelShowArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let found = models::open(models::locate(args.model)?)?;
    if printer.json() {
        printer.object(&model::json(&found))?;
    } else {
        printer.result(&model::plain(&found, printer.verbose()))?;
    }
    Ok(Outcome::Done)
}
