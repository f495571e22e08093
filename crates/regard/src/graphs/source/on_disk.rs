//! Graphs of a file that is larger than memory.

use std::path::Path;

use regard_data::graphs::{Graphs, Kinds, Level, Part};
use regard_data::table::{
    self,
    indexed::{IndexedFile, Thinned},
};

use super::prepared::{only_classes, targets};
use super::splits::{DataSplits, cut};
use super::{Placed, Source, known, read_encoded, read_graphs};
use crate::graphs::examples::{DataSplit, Examples};
use crate::graphs::experiment::{GraphData, GraphExperiment, GraphTaskSettings, TaskChoice};
use crate::graphs::model::GraphTransformerConfig;
use crate::graphs::task::GraphTask;
use crate::supervised::on_disk::{ClassCollector, in_memory, note};
use crate::{Error, Result};

/// Graphs to train on that stay on disk.
#[derive(Debug)]
pub(crate) struct GraphsOnDisk {
    file: IndexedFile,
    data: GraphData,
    /// Those of the file to train on.
    places: Vec<usize>,
    note: String,
}

/// Kinds, parts and classes of the graphs of a file, collected while its parts are read.
#[derive(Default)]
struct TargetCollector {
    /// The types of nodes and of edges.
    kinds: Option<[Kinds; 2]>,
    /// The part of each graph, where the file tells it.
    parts: Option<Thinned<Part>>,
    classes: ClassCollector,
    /// If true, some target is not a class.
    has_numbers: bool,
    /// Number of targets of a graph.
    tasks: usize,
}

impl TargetCollector {
    /// The task that `kind` means for all graphs so far.
    fn task(&self, kind: TaskChoice) -> GraphTask {
        kind.for_data(!self.has_numbers, self.tasks)
    }

    /// Adds the graphs of a part of a file, whose targets are learnt as `kind` says.
    fn add(&mut self, graphs: &Graphs, kind: TaskChoice) -> Result<()> {
        let found = [graphs.node_features().kinds(), graphs.edge_features().kinds()];
        match &mut self.kinds {
            None => self.kinds = Some(found.map(Clone::clone)),
            Some(known) => known.iter_mut().zip(found).for_each(|(known, found)| {
                let new: Vec<String> = found.types.iter().filter(|name| !known.types.contains(name)).cloned().collect();
                known.types.extend(new);
            }),
        }
        match graphs.parts() {
            Some(parts) if parts.level == Level::Graph => {
                let known = self.parts.get_or_insert_default();
                parts.of.iter().for_each(|part| known.push(*part));
            }
            Some(_) => {
                let reason = "keeps graphs on disk, but the file splits the nodes of a graph";
                return Err(Error::config("data.on_disk", reason));
            }
            None => {}
        }
        if let Some(targets) = graphs.targets() {
            self.has_numbers |= !only_classes(targets.values());
            self.tasks = targets.tasks().len();
            let has_classes = self.task(kind) == GraphTask::Classification && self.tasks == 1;
            if has_classes && targets.level() == Level::Graph {
                let found = targets.classes(0)?;
                self.classes.add(&found.names, found.of.iter().copied());
            } else {
                self.classes = ClassCollector::default();
            }
        }
        Ok(())
    }
}

/// Training, validation and test among `count` graphs of these parts.
fn places_of(parts: &[Part], count: usize) -> Result<[Vec<usize>; 3]> {
    if parts.len() != count {
        let reason = "is the column of the split, which some graphs of the file do not have";
        return Err(Error::config("data.split", reason));
    }
    let places = |part: Part| (0..count).filter(|&graph| parts[graph] == part).collect();
    Ok([Part::Training, Part::Validation, Part::Test].map(places))
}

impl GraphsOnDisk {
    /// Number of graphs.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// A sentence on how many there are, and what is learnt of which.
    pub(crate) fn note(&self) -> &str {
        &self.note
    }

    /// Some of the graphs, read from the disk, and all of them as a split.
    ///
    /// # Errors
    /// Those of reading the file; types of nodes or edges that were not there in the first pass.
    pub(crate) fn select(&self, config: &GraphTransformerConfig, chosen: &[usize]) -> Result<(Examples, DataSplit)> {
        let chosen: Vec<usize> = chosen.iter().map(|&at| self.places[at]).collect();
        let (part, places) = self.file.read(&chosen)?;
        let path = self.file.path();
        let graphs = part.open(|| read_encoded(path, &self.data, true, Some(config)))?;
        let examples = known(config, graphs.select(&places), self.data.complete_graph)?;
        let targets = Some(targets(config, &examples.graphs)?);
        let split = DataSplit { graphs: (0..chosen.len()).collect(), nodes: None };
        Ok((Examples { targets, ..examples }, split))
    }

    /// The source of an experiment whose graphs stay on disk, and the network's settings with what follows from the data.
    pub(super) fn source(experiment: &GraphExperiment, path: &Path) -> Result<(Source, GraphTransformerConfig)> {
        let (data, kind, mut met) = (&experiment.data, experiment.task.kind, TargetCollector::default());
        let read = |part: &table::stream::Part| part.open(|| read_graphs(path, data, true));
        let take = |graphs: Graphs, lines: &[usize]| {
            met.add(&graphs, kind)?;
            if graphs.skipped().is_empty() {
                return Ok(None);
            }
            let stays = |line: &usize| graphs.skipped().binary_search_by_key(line, |row| row.line).is_err();
            Ok(Some((0..lines.len()).filter(|&at| stays(&lines[at])).collect()))
        };
        let file = IndexedFile::open(path, data.division(), read, take)?;
        // The graphs in memory may not show what the task is.
        let task = GraphTaskSettings { kind: met.task(kind).into(), ..experiment.task };
        let experiment = &GraphExperiment { task, ..experiment.clone() };
        let data = &experiment.data;
        let TargetCollector { kinds, parts, classes, .. } = met;
        let (classes, strata) = classes.sorted();
        let [training, validation, test] = match parts.map(Thinned::into_kept) {
            Some(parts) => places_of(&parts, file.len())?,
            None => {
                let strata = if strata.len() == file.len() { strata } else { vec![0; file.len()] };
                cut(data, &strata)?
            }
        };
        let here = [&training, &validation, &test].map(|places| in_memory(&file, places));
        let held_out = [here[1].len() + here[2].len(), validation.len() + test.len()];
        let note = note(&file, "graphs", [here[0].len(), training.len()], held_out);
        let (part, places) = file.read(&here.concat())?;
        let graphs = part.open(|| read_graphs(path, data, true))?.select(&places);
        let graphs = match &kinds {
            Some([nodes, edges]) => graphs.align(nodes, edges, None)?,
            None => graphs,
        };
        let mut begin = 0;
        let splits: DataSplits = here.map(|places| {
            let graphs = (begin..begin + places.len()).collect();
            begin += places.len();
            DataSplit { graphs, nodes: None }
        });
        let placed = Placed { classes, ..Placed::of_graphs(experiment, graphs)? };
        let (source, mut config) = placed.source(experiment, splits)?;
        // Those of the graphs in memory are not those of all.
        (config.data.node_ranges, config.data.edge_ranges) = Default::default();
        let on_disk = Some(Self { file, data: data.clone(), places: training, note });
        Ok((Source { on_disk, ..source }, config))
    }
}
