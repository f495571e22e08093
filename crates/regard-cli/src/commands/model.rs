//! `regard model`.

use std::path::Path;

use regard::routes::{ModelDir, import};
use regard::routing::paper::PaperSet;
use regard::store::{Manifest, NetworkConfig, NetworkDir};

use super::{Outcome, families};
use crate::args::{KoolArgs, ModelShowArgs};
use crate::models;
use crate::report::{Printer, model};

/// Turns a checkpoint of Kool's code into a model folder.
pub(super) fn import_kool(args: &KoolArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (config, weights, provenance) = import::kool(&args.file, args.problem.as_deref())?;
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
        let set = PaperSet::of_problem(&config.problem, None, 20);
        let folder = folder.path().display();
        let hint = set.map(|set| format!("; try: regard eval --model {folder} --paper-set {set}"));
        printer.note(&format!("wrote {folder}{}", hint.unwrap_or_default()));
    }
    Ok(Outcome::Done)
}

/// Describes a model folder.
pub(super) fn show(args: ModelShowArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    match models::locate(args.model)? {
        models::Place::Folder(folder) => (families::of_model(Some(&folder)).show)(&folder, printer),
        place => show_place(place, printer),
    }
}

/// Describes the folder of a routing model.
pub(super) fn show_routes(folder: &Path, printer: &mut Printer) -> anyhow::Result<Outcome> {
    show_place(models::Place::Folder(folder.to_owned()), printer)
}

fn show_place(place: models::Place, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let found = models::open(place)?;
    if printer.json() {
        printer.object(&model::json(&found))?;
    } else {
        printer.result(&model::plain(&found, printer.verbose()))?;
    }
    Ok(Outcome::Done)
}

/// Prints the description of a model folder.
pub(super) fn show_folder<C: NetworkConfig>(found: &NetworkDir<C>, printer: &mut Printer) -> anyhow::Result<()> {
    let weights = found.weights()?;
    if printer.json() {
        printer.object(&model::network_json(found, &weights))?;
    } else {
        printer.result(&model::network_plain(found, &weights, printer.verbose()))?;
    }
    Ok(())
}

/// Describes the folder of a model of a supervised family.
pub(super) fn show_network<C: NetworkConfig>(folder: &Path, printer: &mut Printer) -> anyhow::Result<Outcome> {
    show_folder(&NetworkDir::<C>::open(folder)?, printer)?;
    Ok(Outcome::Done)
}
