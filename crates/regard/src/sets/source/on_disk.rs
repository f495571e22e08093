//! Sets of a file that is larger than memory.

use std::path::Path;
use std::sync::OnceLock;

use regard_data::ranges::ColumnRanges;
use regard_data::sets::{Bags, FeatureNames};
use regard_data::table::indexed::IndexedFile;
use regard_data::table::stream::Part;

use super::files::{labelled, labels, read_bags, read_encoded, settings};
use super::{Source, TrainingSets, split};
use crate::Result;
use crate::experiment::DecimalMark;
use crate::sets::examples::Examples;
use crate::sets::experiment::{SetData, SetExperiment};
use crate::sets::model::SetTransformerConfig;
use crate::sets::task::TaskKind;
use crate::supervised::on_disk::{ClassCollector, in_memory, note};

/// Sets to train on that stay on disk.
#[derive(Debug)]
pub(super) struct SetsOnDisk {
    file: SetFile,
    /// Those of the file to train on.
    places: Vec<usize>,
    /// As many of them as there is room for.
    in_memory: Examples,
}

/// A file of sets with the columns it is read by.
#[derive(Debug)]
struct SetFile {
    indexed: IndexedFile,
    data: SetData,
    kind: TaskKind,
    /// The features' names, where they have any.
    features: Option<Vec<String>>,
}

impl SetFile {
    /// Some of the sets, in this order.
    fn read(&self, chosen: &[usize]) -> Result<Bags> {
        let (part, places) = self.indexed.read(chosen)?;
        let (path, known) = (self.indexed.path(), self.features.as_deref());
        let bags = part.open(|| read_encoded(path, &self.data, self.kind, true, known, DecimalMark::Auto))?;
        Ok(bags.select(&places))
    }
}

impl SetsOnDisk {
    /// Number of sets.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// As many of the sets as there is room for.
    pub(super) fn in_memory(&self) -> &Examples {
        &self.in_memory
    }

    /// Some of the sets, in this order, read from the disk.
    pub(super) fn select(&self, config: &SetTransformerConfig, chosen: &[usize]) -> Result<Examples> {
        let chosen: Vec<usize> = chosen.iter().map(|&at| self.places[at]).collect();
        labelled(config, &self.file.read(&chosen)?)
    }

    /// The source of an experiment whose sets stay on disk, and the network's settings with what follows from the data.
    pub(super) fn source(experiment: &SetExperiment, path: &Path) -> Result<(Source, SetTransformerConfig)> {
        let (data, kind) = (&experiment.data, experiment.task.kind);
        // The columns of the first part are those of all.
        let features: OnceLock<Option<Vec<String>>> = OnceLock::new();
        let (mut notes, mut classes) = (None, ClassCollector::default());
        let read = |part: &Part| {
            part.open(|| match features.get() {
                None => read_bags(path, data, kind, true),
                Some(names) => read_encoded(path, data, kind, true, names.as_deref(), DecimalMark::Auto),
            })
        };
        let take = |bags: Bags, _: &[usize]| {
            if kind == TaskKind::Classification {
                let found = labels(&bags)?.classes();
                classes.add(&found.names, found.of.iter().copied().map(Some));
            }
            features.get_or_init(|| match bags.names() {
                FeatureNames::Count(_) => None,
                FeatureNames::Named(names) => Some(names.clone()),
            });
            notes.get_or_insert_with(|| bags.notes().to_vec());
            Ok(None)
        };
        let indexed = IndexedFile::open(path, data.division(), read, take)?;
        let (classes, mut strata) = classes.sorted();
        if strata.is_empty() {
            strata = vec![0; indexed.len()];
        }
        let [training, held_out] = split(experiment, &strata)?;
        let file = SetFile { indexed, data: data.clone(), kind, features: features.into_inner().flatten() };
        let (known, validated) = (in_memory(&file.indexed, &training), in_memory(&file.indexed, &held_out));
        let counts = |some: &[usize], all: &[usize]| [some.len(), all.len()];
        let kept = note(&file.indexed, "sets", counts(&known, &training), counts(&validated, &held_out));
        let bags = file.read(&known)?;
        let mut config = settings(experiment, &bags, &(0..bags.len()).collect::<Vec<_>>(), classes)?;
        // Those of the sets in memory are not those of all.
        config.data.ranges = ColumnRanges::default();
        let in_memory = labelled(&config, &bags)?;
        let held_out = labelled(&config, &file.read(&validated)?)?;
        let training = TrainingSets::OnDisk(Box::new(Self { file, places: training, in_memory }));
        let notes = std::iter::once(kept).chain(notes.unwrap_or_default()).collect();
        Ok((Source::Kept { training, held_out, notes }, config))
    }
}
