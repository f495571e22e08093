//! Graphs and their targets, as a network takes them.

use std::collections::HashSet;
use std::sync::Arc;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use regard_base::features::graphs::identities;
use regard_data::graphs::positions::Positions;
use regard_data::graphs::{Batch, Graphs, Level, Part};
use regard_nn::ops::EdgeList;

use super::input::{GraphInput, Places};
use super::model::{GraphTransformerConfig, PositionKind};
use super::task::{LevelName, Targets};

/// Graphs, the positions of their nodes, and their targets.
#[derive(Debug)]
pub struct Examples {
    /// The graphs.
    pub graphs: Arc<Graphs>,
    /// The positions of their nodes.
    pub positions: Arc<Positions>,
    /// The targets of all graphs, or of all nodes; none where they are to be predicted.
    pub targets: Option<Targets>,
}

/// Some of the graphs, or of their nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSplit {
    /// Graphs.
    pub graphs: Vec<usize>,
    /// The nodes that count; `None` for all nodes of these graphs.
    pub nodes: Option<Arc<[bool]>>,
}

/// Random sign flips of the Laplacian eigenvectors in training; their sign is arbitrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignFlips {
    /// No flips.
    None,
    /// The same flips for all graphs of a batch, as in the authors' code.
    Batch,
    /// Independent flips for each graph.
    Graph,
}

impl Examples {
    /// Some graphs as a network takes them; `signs` turns eigenvectors over.
    pub fn input(
        &self,
        config: &GraphTransformerConfig,
        graphs: &[usize],
        signs: Option<(SignFlips, &mut Pcg64Mcg)>,
    ) -> GraphInput {
        let batch = self.graphs.batch(graphs);
        let places = self.places(config, graphs, &batch, signs);
        let edges = EdgeList::new(batch.in_offsets, batch.sources);
        GraphInput {
            edge_numbers: if config.edges_of_one_kind() { vec![1.0; edges.edges()] } else { batch.edge_dense },
            edges: Arc::new(edges),
            offsets: batch.node_offsets.into(),
            node_types: batch.node_types,
            node_numbers: batch.node_dense,
            edge_types: batch.edge_types,
            places,
        }
    }

    fn places(
        &self,
        config: &GraphTransformerConfig,
        graphs: &[usize],
        batch: &Batch,
        signs: Option<(SignFlips, &mut Pcg64Mcg)>,
    ) -> Places {
        let size = config.position_size;
        match config.positions {
            PositionKind::None => Places::None,
            PositionKind::WeisfeilerLehman => {
                // Ranks beyond those the table has count as the last one.
                let last = size.saturating_sub(1) as u32;
                let found = self.positions.indices_of(&self.graphs, graphs);
                Places::Indices(found.into_iter().map(|index| index.min(last)).collect())
            }
            PositionKind::RandomWalk | PositionKind::Laplacian | PositionKind::LaplacianSafe => {
                let mut values = self.positions.of(&self.graphs, graphs);
                config.data.scale_positions(&mut values);
                // Probabilities have no sign to turn over.
                if let Some((flips, random)) = signs.filter(|_| config.positions != PositionKind::RandomWalk) {
                    turn(&mut values, size, &batch.node_offsets, flips, random);
                }
                Places::Numbers(values)
            }
        }
    }

    /// The graphs at these places, in this order; without targets.
    pub fn select(&self, chosen: &[usize]) -> Self {
        Self {
            graphs: Arc::new(self.graphs.select(chosen)),
            positions: Arc::new(self.positions.select(&self.graphs, chosen)),
            targets: None,
        }
    }

    /// Examples of several files one after the other, without targets.
    ///
    /// # Errors
    /// Graphs whose types or numbers differ; those of one model are alike.
    pub fn concat(all: &[&Self]) -> crate::Result<Self> {
        let graphs: Vec<&Graphs> = all.iter().map(|one| &*one.graphs).collect();
        let positions: Vec<&Positions> = all.iter().map(|one| &*one.positions).collect();
        let (graphs, positions) = (Graphs::concat(&graphs)?, Positions::concat(&positions));
        Ok(Self { graphs: Arc::new(graphs), positions: Arc::new(positions), targets: None })
    }

    /// Warnings about what was left out, merged or approximated in reading the graphs, a sentence each, and about targets
    /// that are missing.
    pub fn warnings(&self) -> Vec<String> {
        warnings(&self.graphs, &self.positions).into_iter().chain(missing_targets(&self.graphs)).collect()
    }

    /// Targets of some graphs, or of their nodes; those outside the split are unknown.
    ///
    /// # Panics
    /// If the examples have no targets.
    pub fn targets(&self, level: LevelName, split: &DataSplit, graphs: &[usize]) -> Targets {
        let rows: Vec<usize> = match level {
            LevelName::Graph => graphs.to_vec(),
            LevelName::Node => graphs.iter().flat_map(|&graph| self.graphs.nodes_of(graph)).collect(),
        };
        let counts = |row: usize| level == LevelName::Graph || split.nodes.as_ref().is_none_or(|nodes| nodes[row]);
        match self.targets.as_ref().unwrap_or_else(|| panic!("training examples have targets")) {
            Targets::Classes(all) => {
                Targets::Classes(rows.iter().map(|&row| all[row].filter(|_| counts(row))).collect())
            }
            Targets::Numbers(all) => {
                let count = if level == LevelName::Graph { self.graphs.len() } else { self.graphs.nodes() };
                let each = all.len() / count.max(1);
                let of_row =
                    |&row: &usize| all[row * each..(row + 1) * each].iter().map(move |x| x.filter(|_| counts(row)));
                Targets::Numbers(rows.iter().flat_map(of_row).collect())
            }
        }
    }
}

/// Turns columns of `[nodes, size]` over at random.
fn turn(values: &mut [f32], size: usize, offsets: &[usize], flips: SignFlips, random: &mut Pcg64Mcg) {
    let mut signs = || (0..size).map(|_| if random.random::<bool>() { 1.0 } else { -1.0 }).collect::<Vec<f32>>();
    let times = |rows: &mut [f32], signs: &[f32]| {
        rows.chunks_exact_mut(size).for_each(|row| row.iter_mut().zip(signs).for_each(|(x, sign)| *x *= sign));
    };
    match flips {
        SignFlips::None => {}
        SignFlips::Batch => times(values, &signs()),
        SignFlips::Graph => {
            offsets.windows(2).for_each(|pair| times(&mut values[pair[0] * size..pair[1] * size], &signs()));
        }
    }
}

/// Rows that are named one by one.
const NAMED: usize = 10;

/// Warnings about what was left out, merged or approximated in reading graphs, a sentence each.
pub(crate) fn warnings(graphs: &Graphs, positions: &Positions) -> Vec<String> {
    let mut all = graphs.notes().to_vec();
    let skipped = graphs.skipped();
    if !skipped.is_empty() {
        let named = skipped.iter().take(NAMED).map(|row| format!("line {}: {}", row.line, row.reason));
        let more = skipped.len().saturating_sub(NAMED);
        let rest = (more > 0).then(|| format!("and {more} more"));
        let list: Vec<String> = named.chain(rest).collect();
        all.push(format!("skipped {}: {}", counted(skipped.len(), "row"), list.join("; ")));
    }
    // A whole census looks for the reverse of every edge; no other report names it.
    let empty = (0..graphs.len()).filter(|&graph| graphs.nodes_of(graph).is_empty()).count();
    let mut add = |count: usize, what: &str, then: &str| {
        if count > 0 {
            all.push(format!("{} {then}", counted(count, what)));
        }
    };
    add(empty, "graph", "without nodes");
    add(graphs.taken_as_rare(), "node", "of types that are rare or absent in the training data, treated as one type");
    add(graphs.merged(), "edge", "given more than once, used once");
    add(positions.symmetrised(), "graph", "with directed edges, treated as undirected for positional encodings");
    add(positions.unconverged(), "graph", "with approximate positional encodings: the eigenvalues did not converge");
    all
}

/// A sentence about targets that are missing, but for nodes, where those to be predicted have none.
pub(crate) fn missing_targets(graphs: &Graphs) -> Option<String> {
    let targets = graphs.targets().filter(|targets| targets.level() == Level::Graph && targets.missing() > 0)?;
    let all = targets.rows() * targets.tasks().len();
    Some(format!("{} of {all} target values are missing; nothing is learned from them", targets.missing()))
}

/// A sentence about graphs that the split of the data leaves out. Nodes in no part are neighbours of others, or to be
/// predicted.
pub(crate) fn in_no_part(graphs: &Graphs) -> Option<String> {
    let count = graphs.parts().filter(|parts| parts.level == Level::Graph)?.places(Part::None).len();
    let is = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{} {is} in no part of the split (`data.split`) and not used", counted(count, "graph")))
}

/// A sentence about held-out graphs that equal a training graph, where there are some.
pub(crate) fn leaked(graphs: &Graphs, training: &[usize], held_out: &[usize]) -> Option<String> {
    if held_out.is_empty() {
        return None;
    }
    let numbers = identities(graphs);
    let known: HashSet<u64> = training.iter().map(|&graph| numbers[graph]).collect();
    let count = held_out.iter().filter(|&&graph| known.contains(&numbers[graph])).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} held-out graphs {} the same nodes, edges and features as a training graph: metrics on new graphs \
             may be worse",
            held_out.len(),
            if count == 1 { "has" } else { "have" }
        )
    })
}

/// A sentence about graphs that occur more than once, where there are some.
pub(crate) fn repeated(graphs: &Graphs) -> Option<String> {
    let mut numbers = identities(graphs);
    numbers.sort_unstable();
    let count = numbers.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(<[u64]>::len).sum::<usize>();
    (count > 0).then(|| {
        format!(
            "{count} of {} graphs have the same nodes, edges and features as another one: a fold may hold out what is in its \
             training part, and metrics on new graphs may be worse (`--scaffold-folds` keeps equal molecules in one fold)",
            graphs.len()
        )
    })
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use regard_data::graphs::formats::{self, ReadOptions};
    use regard_data::graphs::positions::{Encoding, Nulls};

    use super::*;

    #[test]
    fn signs_change_by_column_and_graph_alone() {
        let offsets: Vec<usize> = (0..=20).map(|graph| 3 * graph).collect();
        let turned = |flips| {
            let mut values = vec![2.0f32; 60 * 4];
            turn(&mut values, 4, &offsets, flips, &mut Pcg64Mcg::seed_from_u64(1));
            assert!(values.iter().all(|x| x.abs() == 2.0));
            values
        };
        assert!(turned(SignFlips::None).iter().all(|&x| x == 2.0));
        let batch = turned(SignFlips::Batch);
        assert!(batch.chunks(4).all(|row| row == &batch[..4]));
        let graph = turned(SignFlips::Graph);
        assert!(graph.chunks(12).all(|rows| rows.chunks(4).all(|row| row == &rows[..4])));
        assert!(graph.chunks(12).any(|rows| rows != &graph[..12]));
    }

    #[test]
    fn what_is_unusual_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str, options: ReadOptions| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let graphs = formats::read(&path, &options).unwrap();
            let encoding = Encoding::Laplacian { k: 2, nulls: Nulls::SkipAll };
            warnings(&graphs, &Positions::compute(&graphs, &encoding, &|_, _| ()))
        };
        let molecules = ReadOptions { smiles: Some("s".into()), skip_bad: true, ..ReadOptions::default() };
        let found = read("m.csv", "s\nCC\nC1\nCCO\n", molecules.clone());
        assert!(found.len() == 1 && found[0].starts_with("skipped 1 row: line 3: "), "{found:?}");
        assert!(read("m.csv", "s\nCC\nCCO\n", molecules).is_empty());
        let directed = ReadOptions { directed: true, ..ReadOptions::default() };
        std::fs::write(folder.path().join("edges.csv"), "source,target\n0,1\n1,2\n").unwrap();
        let found = read("nodes.csv", "id,x\n0,1\n1,2\n2,0\n", directed);
        assert!(found.len() == 1 && found[0].starts_with("1 graph with directed edges"), "{found:?}");
    }
}
