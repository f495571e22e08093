//! Examples that stay on disk while a network is trained on them.

use std::collections::HashMap;
use std::path::Path;

use regard_data::labels::{Labels, number};
use regard_data::table::indexed::{IndexedFile, Thinned};
use regard_data::table::stream::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The examples that stay on disk while a network is trained on them, and are read batch by batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDisk {
    /// Those of files above 1 GiB that can be read example by example.
    #[default]
    Auto,
    /// Those of every file.
    Always,
    /// None: the file is read into memory.
    Never,
}

/// The largest file that is read into memory unasked.
const LARGEST: u64 = 1 << 30;
/// The largest file that can be read into memory.
const READABLE: u64 = 8 << 30;
/// The bytes of the examples that are in memory beside those on disk, and their number: as many to learn scales and base
/// learners from, and as many to validate on.
const IN_MEMORY: (f64, usize) = ((32 << 20) as f64, 20_000);

impl OnDisk {
    /// If true, the examples of this file stay on disk.
    pub(crate) fn keeps(self, path: &Path, division: Division<'_>) -> bool {
        let size = || path.metadata().ok().filter(|meta| meta.is_file()).map_or(0, |meta| meta.len());
        match self {
            // What is refused below does not fit into memory either, and the error there says more.
            Self::Auto => size() > LARGEST && (size() > READABLE || IndexedFile::is_possible(path, division)),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Examples at `places` that are read into memory: all where there are few, else evenly spread ones.
pub(crate) fn in_memory(file: &IndexedFile, places: &[usize]) -> Vec<usize> {
    let most = ((IN_MEMORY.0 / file.mean_size()) as usize).clamp(1, IN_MEMORY.1);
    places.iter().copied().step_by(places.len().div_ceil(most).max(1)).collect()
}

/// The classes of examples that are met part by part.
#[derive(Default)]
pub(crate) struct ClassCollector {
    places: HashMap<String, u32>,
    names: Vec<String>,
    /// The class of each example, an index of `names`; `None` for one without a class.
    of: Thinned<Option<u32>>,
}

impl ClassCollector {
    /// Adds examples of these classes, `of` as indices of `names`; `None` for one without a class.
    pub(crate) fn add(&mut self, names: &[String], of: impl Iterator<Item = Option<usize>>) {
        let met = |name: &String| {
            *self.places.entry(name.clone()).or_insert_with(|| {
                self.names.push(name.clone());
                (self.names.len() - 1) as u32
            })
        };
        let met: Vec<u32> = names.iter().map(met).collect();
        of.for_each(|class| self.of.push(class.map(|class| met[class])));
    }

    /// The names in the order that all examples together give them, and the class of each example, 0 without one.
    pub(crate) fn sorted(self) -> (Vec<String>, Vec<usize>) {
        // A part of numbers alone writes them in another way than one with a word among them.
        let mut of_numbers: HashMap<u64, String> = HashMap::new();
        // Zero has two signs and one name.
        let first = |name: String| match number(&name) {
            Some(of) => of_numbers.entry((of + 0.0).to_bits()).or_insert(name).clone(),
            None => name,
        };
        let sorted = Labels::of_texts(self.names.into_iter().map(first).collect()).classes();
        let of = self.of.into_kept().into_iter().map(|class| class.map_or(0, |class| sorted.of[class as usize]));
        (sorted.names, of.collect())
    }
}

/// A sentence on the examples of a file that stay on disk, `what` in the plural: how many are in memory of those to train
/// on and of those held out, `[in memory, all]`.
pub(crate) fn note(file: &IndexedFile, what: &str, training: [usize; 2], held_out: [usize; 2]) -> String {
    let of = |[some, all]: [usize; 2]| if some == all { format!("all {all}") } else { format!("{some} of {all}") };
    let every = match file.all() > file.len() {
        true => format!(", {} of them evenly spread over the file,", file.len()),
        false => String::new(),
    };
    format!(
        "{} {what}{every} stay on disk ({:.2} GiB) and are read batch by batch; scales and base learners follow from {} to train \
         on, validation from {} held out (`data.on_disk`)",
        file.all(),
        file.size() as f64 / f64::from(1 << 30),
        of(training),
        of(held_out)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_parts_are_ordered_as_those_of_the_whole() {
        let mut met = ClassCollector::default();
        let texts = |texts: &[&str]| Labels::of_texts(texts.iter().map(|text| (*text).to_owned()).collect()).classes();
        for part in [&["10", "9", "10"][..], &["2", "9"]] {
            let classes = texts(part);
            met.add(&classes.names, classes.of.iter().copied().map(Some));
        }
        let mut whole = texts(&["10", "9", "10", "2", "9"]);
        // A part may have no class at all.
        met.add(&[], [None, None].into_iter());
        whole.of.extend([0, 0]);
        assert_eq!(met.sorted(), (whole.names, whole.of));
        let mut mixed = ClassCollector::default();
        for part in [&["1.0", "2.0"][..], &["2.0", "unknown"]] {
            let classes = texts(part);
            mixed.add(&classes.names, classes.of.iter().copied().map(Some));
        }
        assert_eq!(mixed.sorted(), (["1", "2", "unknown"].map(str::to_owned).to_vec(), vec![0, 1, 1, 2]));
    }

    #[test]
    fn large_plain_files_stay_on_disk_unless_said_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = |name: &str, begin: &[u8], size: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, begin.repeat((1 << 19) / begin.len())).unwrap();
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size).unwrap();
            path
        };
        let (table, division) = (&b"id,x\n"[..], Division::Groups("id"));
        let (small, large) = (sparse("a.csv", table, LARGEST), sparse("b.csv", table, LARGEST + 1));
        let packed = sparse("b.csv.gz", &[0x1f, 0x8b], LARGEST + 1);
        assert_eq!([&small, &large, &packed].map(|path| OnDisk::Auto.keeps(path, division)), [false, true, false]);
        // Of other formats all is read, as before.
        let unnamed = sparse("c.csv", b"1,a,0.5\n", LARGEST + 1);
        assert!(!OnDisk::Auto.keeps(&unnamed, division) && !OnDisk::Auto.keeps(&large, Division::Lines));
        assert!(OnDisk::Auto.keeps(&sparse("d.csv", b"1,a,0.5\n", READABLE + 1), division));
        assert!(OnDisk::Always.keeps(&small, division) && !OnDisk::Never.keeps(&large, division));
    }
}
