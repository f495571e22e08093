//! Tables with a column of SMILES: each row is a molecule, with any number of targets.

use std::path::Path;

use super::ReadOptions;
use crate::error::shown;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::molecules::{Molecule, Rule};
use crate::graphs::{Graphs, Level, Part, Parts, Skipped, Targets};
use crate::table::Table;
use crate::table::values::target;
use crate::{Error, Result};

/// Why a column of a table of molecules is not read, and how it would be.
const NO_ROLE: &str =
    "a molecule is read from its SMILES alone (`--id` names its names, `data.target` what is to be predicted)";

/// Reads molecules from CSV text; `path` names it in errors.
///
/// By [`Rule::Zinc`], atom types are the 28 of ZINC-12k followed by those that occur beside them, in the
/// order of their names; by [`Rule::Described`], the elements that occur in the order of their names.
/// Types of other molecules are brought into the order of training by [`Graphs::align`], which refuses
/// an unseen one or calls it `other`. Fields of targets that are empty or `nan` are missing.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g. ``tox.csv:7: field `smiles`: `C1CC`: character 2: ring 1
/// is not closed``; also when columns are missing or there are no molecules.
///
/// ```
/// use regard_data::graphs::formats::{ReadOptions, smiles_csv};
///
/// let text = "name,smiles,toxic\nethanol,CCO,0\nphenol,Oc1ccccc1,\n";
/// let options = ReadOptions {
///     smiles: Some("smiles".into()),
///     targets: vec!["toxic".into()],
///     id: Some("name".into()),
///     ..Default::default()
/// };
/// let graphs = smiles_csv::parse(text, "tox.csv".as_ref(), &options)?;
/// assert_eq!((graphs.len(), graphs.nodes(), graphs.edges()), (2, 10, 18));
/// assert_eq!(graphs.targets().map(|targets| targets.missing()), Some(1));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let marks = [options.decimal, options.likely_decimal];
    let table = Table::of(text, path, (options.delimiter, marks), "a header and rows of molecules")?;
    let Some(name) = &options.smiles else {
        return Err(table
            .header
            .error("is a table, but no column of SMILES is given")
            .with_hint(format!("name it by `--smiles` (`data.smiles`); the columns are {}", table.header.all())));
    };
    let smiles = table.header.column(name)?;
    let targets = table.header.all_given(&options.targets, options.targets_optional)?;
    let (id, split) =
        (table.header.given(options.id.as_ref(), false)?, table.header.given(options.split.as_ref(), false)?);
    let roles = [Some(&smiles), id.as_ref(), split.as_ref()].into_iter().flatten().chain(&targets);
    let left_out = table.header.left_out(roles, NO_ROLE);
    let notes: Vec<String> = table.marks.clone().into_iter().chain(left_out).collect();
    let mut origin =
        Origin { path: path.to_path_buf(), node: "atom", notes, decimal: table.shown, ..Origin::default() };
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    let mut read = Molecules { all: GraphsBuilder::default(), types: options.rule.vocabulary(), rule: options.rule };
    let mut rows = table.rows_before;
    table.each_row(|row| {
        rows += 1;
        let part = match &split {
            Some(split) => Some(part_of(path, row.line, &split.name, row.get(split))?),
            None => None,
        };
        let id = id.as_ref().map_or_else(|| rows.to_string(), |id| row.get(id).to_owned());
        if let Err(reason) = read.molecule(row.get(&smiles), id) {
            if !options.skip_bad {
                let error = Error::parse(path, row.line, reason).in_field(&smiles.name);
                return Err(error.with_hint("`--skip-bad` (`data.skip_bad`) leaves out rows that are wrong"));
            }
            origin.skipped.push(Skipped { line: row.line, reason: format!("field `{}`: {reason}", smiles.name) });
            return Ok(());
        }
        origin.lines.push(row.line);
        parts.extend(part);
        for column in &targets {
            texts.push(target(&row.value(column)?));
        }
        Ok(())
    })?;
    if read.all.len() == 0 {
        let reason = match rows - table.rows_before {
            0 => "has no rows below its header, expected at least one".to_owned(),
            rows => format!("has no molecule that can be read among {rows} rows"),
        };
        return Err(Error::parse(path, 0, reason));
    }
    let mut graphs = read.finish(origin)?;
    if !targets.is_empty() {
        let tasks = targets.into_iter().map(|column| column.name).collect();
        graphs = graphs.with_targets(Targets::of_texts(Level::Graph, tasks, texts))?;
    }
    if split.is_some() {
        graphs = graphs.with_parts(Parts { level: Level::Graph, of: parts })?;
    }
    Ok(graphs)
}

/// All molecules so far.
struct Molecules {
    all: GraphsBuilder,
    types: crate::graphs::features::Vocabulary,
    rule: Rule,
}

impl Molecules {
    fn molecule(&mut self, smiles: &str, id: String) -> Result<(), String> {
        let said = |error: crate::graphs::molecules::SmilesError| match smiles {
            "" => "is empty, expected a molecule".to_owned(),
            _ => format!("`{}`: {error}", shown(smiles)),
        };
        let molecule = Molecule::parse(smiles).map_err(said)?;
        let graph = molecule.graph(id, self.rule, &mut self.types).map_err(said)?;
        // The names come when all are known; until then any number is a type.
        let any = self.rule.node_kinds(Vec::new());
        let types = graph.node_types.clone();
        self.all.push(graph, &any, &self.rule.edge_kinds())?;
        self.all.node_types.extend(types);
        Ok(())
    }

    fn finish(mut self, origin: Origin) -> Result<Graphs> {
        let names = match self.rule {
            Rule::Described => self.types.into_sorted(&mut self.all.node_types),
            Rule::Zinc => known_first(self.types.into_names(), &mut self.all.node_types),
        };
        let nodes: Kinds = self.rule.node_kinds(names);
        self.all.finish(nodes, self.rule.edge_kinds(), origin)
    }
}

/// The 28 types in their order, the others by name.
fn known_first(names: Vec<String>, types: &mut [u32]) -> Vec<String> {
    let known = crate::graphs::molecules::ZINC_ATOMS.len().min(names.len());
    let mut order: Vec<usize> = (0..names.len()).collect();
    order[known..].sort_by(|&a, &b| names[a].cmp(&names[b]));
    let mut rank = vec![0; names.len()];
    order.iter().enumerate().for_each(|(place, at)| rank[*at] = place as u32);
    types.iter_mut().for_each(|kind| *kind = rank[*kind as usize]);
    order.into_iter().map(|at| names[at].clone()).collect()
}

pub(super) fn part_of(path: &Path, line: usize, field: &str, word: &str) -> Result<Part> {
    Part::of_word(word).ok_or_else(|| {
        let reason = format!("found `{}`, expected train, val, test or none", shown(word));
        Error::parse(path, line, reason).in_field(field)
    })
}

#[cfg(test)]
mod tests;
