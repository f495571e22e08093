//! `regard model import` for sets, graphs and series.

use regard::graphs::import::graph_transformer as read_graph_transformer;
use regard::import::Imported;
use regard::series::experiment::SeriesData;
use regard::series::import::{TrainingTable, patchtst as read_patchtst};
use regard::sets::import::set_transformer as read_set_transformer;
use regard::store::{Manifest, NetworkConfig, NetworkDir};

use super::{Outcome, model};
use crate::args::{CheckpointArgs, GraphTransformerArgs, PatchtstArgs, SetTransformerArgs};
use crate::report::Printer;

/// Turns a checkpoint of the Set Transformer's code into a model folder.
pub(super) fn set_transformer(args: &SetTransformerArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let CheckpointArgs { file, set, .. } = &args.checkpoint;
    save(read_set_transformer(file, set)?, "set-transformer", &args.checkpoint, "regard predict", printer)
}

/// Turns a checkpoint of the Graph Transformer's code into a model folder.
pub(super) fn graph_transformer(args: &GraphTransformerArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let CheckpointArgs { file, set, .. } = &args.checkpoint;
    save(read_graph_transformer(file, set)?, "graph-transformer", &args.checkpoint, "regard predict", printer)
}

/// Turns a checkpoint of PatchTST's code into a model folder.
pub(super) fn patchtst(args: &PatchtstArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let CheckpointArgs { file, set, .. } = &args.checkpoint;
    let date = args.date.clone().unwrap_or_default();
    let columns = SeriesData { date, ..SeriesData::default() };
    let table = TrainingTable { path: &args.data, columns, rows: args.train_rows };
    if args.train_rows.is_none() {
        printer
            .note("mean and deviation of the series are those of all rows of --data; --train-rows N takes the first N");
    }
    save(read_patchtst(file, &table, set)?, "patchtst", &args.checkpoint, "regard forecast", printer)
}

/// Saves a network and describes it.
fn save<C: NetworkConfig>(
    imported: Imported<C>,
    project: &str,
    args: &CheckpointArgs,
    usage: &str,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let Imported { config, weights, provenance, assumed } = imported;
    if !assumed.is_empty() {
        let text = format!("the file does not tell, and it is assumed: {}; --set changes it", assumed.join(", "));
        printer.note(&text);
    }
    let manifest = Manifest {
        licence: provenance.licence.clone(),
        provenance: Some(provenance),
        ..Manifest::now(format!("regard model import {project}"))
    };
    let folder = NetworkDir::save(&args.out, &config, &weights, &manifest)?;
    model::show_folder(&folder, printer)?;
    let path = folder.path().display();
    printer.note(&format!("wrote {path}; try: {usage} FILE --model {path}"));
    Ok(Outcome::Done)
}
