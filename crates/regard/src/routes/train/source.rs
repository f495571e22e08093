//! Where a run's instances come from: a distribution, or instances of the past.

use std::path::{Path, PathBuf};

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_routing::Problem;
use regard_routing::formats::csv::TableOptions;
use regard_routing::formats::{is_instance_file, is_table, read_instance_with};
use regard_routing::generate::GeneratorConfig;

use crate::routes::environment::{Environment, ProblemEnvironment};
use crate::routes::experiment::{DataSettings, RouteExperiment};
use crate::train::digest;
use crate::{Error, Result};

/// A source of random instances.
#[derive(Clone, Debug)]
pub struct InstanceSource<E: Environment> {
    environment: E,
    generator: GeneratorConfig,
    /// Instances to resample; none for fresh ones.
    past: Vec<E::Instance>,
    /// Notes on the tables of the folder.
    notes: Vec<String>,
}

/// A source of random instances of problem `P`.
pub type Source<P> = InstanceSource<ProblemEnvironment<P>>;

impl<P: Problem> Source<P> {
    /// The source of an experiment: its distribution, or the instances in its folder.
    ///
    /// # Errors
    /// [`Error::Config`] for a folder without instances of the problem, or with one that has fewer
    /// nodes than the experiment asks for; what reading a file of it gives.
    pub fn of(experiment: &RouteExperiment) -> Result<Self> {
        let data = &experiment.data;
        let environment = ProblemEnvironment::with_precision(experiment.model.in_single_precision());
        let mut notes = Vec::new();
        let past = match data.folder.as_str() {
            "" => Vec::new(),
            _ => past::<P>(data, &mut notes)?,
        };
        Ok(Self { environment, generator: data.generator(), past, notes })
    }
}

impl<E: Environment> InstanceSource<E> {
    /// Random instances of an environment, by the distribution of an experiment.
    ///
    /// # Errors
    /// [`Error::Config`] where the experiment names a folder of instances.
    pub fn in_environment(environment: E, experiment: &RouteExperiment) -> Result<Self> {
        let data = &experiment.data;
        if !data.folder.is_empty() {
            let reason = format!("is given, but instances of `{}` are generated", environment.spec().name);
            return Err(Error::config("data.folder", reason));
        }
        Ok(Self { environment, generator: data.generator(), past: Vec::new(), notes: Vec::new() })
    }

    /// The environment of the instances.
    pub fn environment(&self) -> &E {
        &self.environment
    }

    /// Notes on the tables of the folder, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A digest of the instances that are resampled; that of nothing where they are generated.
    pub(super) fn digest(&self) -> Result<String> {
        let features = self.past.iter().map(|one| self.environment.features(std::slice::from_ref(one)));
        let features = features.collect::<Result<Vec<_>>>()?;
        Ok(digest(&features))
    }

    /// Random instances of `size` nodes, a depot not counted, as the network's preset computes them.
    /// More instances of the same size append to the same sequence.
    ///
    /// # Errors
    /// Those of the environment.
    pub fn draw(&self, seed: u64, count: usize, size: usize) -> Result<Vec<E::Instance>> {
        let environment = &self.environment;
        let drawn = match self.past.as_slice() {
            [] => environment.draw(&self.generator, seed, count, size)?,
            past => resampled(environment, past, seed, count, size),
        };
        Ok(drawn.into_iter().map(|one| environment.as_preset(one)).collect())
    }
}

/// Nodes of random instances of the past: each instance one of them, `size` of its nodes in random
/// order behind its depot.
fn resampled<E: Environment>(
    environment: &E,
    past: &[E::Instance],
    seed: u64,
    count: usize,
    size: usize,
) -> Vec<E::Instance> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let depot = usize::from(environment.spec().depot);
    let mut one = || {
        let instance = &past[random.random_range(0..past.len())];
        let others = environment.nodes(instance) - depot;
        let nodes = index::sample(&mut random, others, size).into_iter().map(|node| node + depot);
        environment.subset(instance, &(0..depot).chain(nodes).collect::<Vec<_>>())
    };
    (0..count).filter_map(|_| one()).collect()
}

/// The instances of problem `P` in a folder, in the order of their names.
fn past<P: Problem>(data: &DataSettings, notes: &mut Vec<String>) -> Result<Vec<P>> {
    let (folder, size) = (Path::new(&data.folder), data.nodes.high());
    let (files, tables) = (files(folder)?, data.table_options()?);
    if tables.first_given().is_some() && !files.iter().any(|path| is_table(path)) {
        let reason = format!("`{}` has no table (CSV), but there are settings for tables", folder.display());
        return Err(Error::config("data.folder", reason));
    }
    let mut all = Vec::new();
    for path in files {
        let options = if is_table(&path) { &tables } else { &TableOptions::default() };
        let (instance, found) = read_instance_with(&path, options)?;
        notes.extend(found.texts().iter().map(|note| format!("{}: {note}", path.display())));
        let refuse = |reason: String| Error::config("data.folder", format!("`{}` {reason}", path.display()));
        let problem = instance.in_unit_square::<P>().filter(|problem| problem.subset(&[]).is_some());
        let problem = problem.ok_or_else(|| {
            refuse(format!("is an instance of `{}`; expected instances of `{}`", instance.problem(), P::NAME))
        })?;
        let nodes = problem.nodes() - usize::from(P::DEPOT);
        if nodes < size {
            return Err(refuse(format!("has {nodes} nodes; expected at least {size} (`data.nodes`)")));
        }
        all.push(problem);
    }
    match all.is_empty() {
        true => Err(Error::config("data.folder", format!("`{}` holds no instances", folder.display()))),
        false => Ok(all),
    }
}

/// The files of instances in a folder, in the order of their names.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| Error::Io { path: folder.to_path_buf(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_instance_file(&path) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
