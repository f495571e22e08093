//! Views of graphs and nodes: counts, Weisfeiler-Lehman features, and descriptors of molecules.

use std::hash::Hasher;

use rayon::prelude::*;
use regard_data::Result;
use regard_data::graphs::{Features, Graphs};
use serde::{Deserialize, Serialize};

use super::pool;
use crate::tabular::View;

/// The name of the view of counts.
pub const COUNTS: &str = "counts";
/// The name of the view of Weisfeiler-Lehman features.
pub const WEISFEILER_LEHMAN: &str = "Weisfeiler-Lehman features";
/// The name of the same view for molecules, where it is a Morgan fingerprint.
pub const FINGERPRINT: &str = "Morgan fingerprint";
/// The name of the view of fragments: Weisfeiler-Lehman features of types alone, without numbers of the nodes.
pub const FRAGMENTS: &str = "fragments";
/// The name of the view of all columns.
pub const ALL: &str = "all columns";
/// The name of the view of a node's own features and those of its neighbours.
pub const NEIGHBOURHOODS: &str = "features of neighbourhoods";

/// The features of graphs, as they were chosen for the training data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFeatures {
    /// Names of the node types that are counted.
    node_types: Vec<String>,
    /// Names of the edge types that are counted.
    edge_types: Vec<String>,
    /// If true, the graphs are molecules: node types begin with the symbols of elements, edge types are bonds.
    molecules: bool,
    /// If true, nodes have numbers beside their types.
    numbers: bool,
    /// Columns of Weisfeiler-Lehman features.
    buckets: usize,
}

/// Rounds of refinement: features reach so many edges far.
const RADIUS: usize = 3;
/// The most types that have a column of their own.
const MOST_TYPES: usize = 64;
/// Columns of Weisfeiler-Lehman features, of few graphs and of many.
const BUCKETS: [usize; 2] = [4096, 2048];
/// Columns of fragments.
const FRAGMENT_BUCKETS: usize = 1024;
/// Graphs that count as many.
const MANY: usize = 5_000;
/// Degrees that have a column of their own; higher ones share the last.
const DEGREES: usize = 6;
/// The most values of a view of nodes, 1 GB.
const MOST_VALUES: usize = 1 << 28;

impl GraphFeatures {
    /// The features that fit these graphs.
    #[must_use]
    pub fn of(graphs: &Graphs) -> Self {
        let (nodes, edges) = (graphs.node_features(), graphs.edge_features());
        let some = |names: &[String]| names.iter().take(MOST_TYPES).cloned().collect::<Vec<_>>();
        let elements = nodes.type_names().iter().all(|name| mass(symbol(name)).is_some());
        let bonds = edges.type_names().iter().all(|name| bond_order(name).is_some());
        let molecules = elements && bonds && !nodes.type_names().is_empty() && !edges.type_names().is_empty();
        Self {
            node_types: some(nodes.type_names()),
            edge_types: some(edges.type_names()),
            molecules,
            numbers: nodes.width() > 0,
            buckets: BUCKETS[usize::from(graphs.len() > MANY)],
        }
    }

    /// Views with a row for every graph.
    ///
    /// # Errors
    /// None for graphs like those the features were chosen for.
    pub fn views(&self, graphs: &Graphs) -> Result<Vec<View>> {
        self.views_where(graphs, |_, _| true)
    }

    /// Those of the [views](Self::views) that are `wanted`, which is asked once for each, with its name and number of
    /// columns. The others are not computed.
    ///
    /// # Errors
    /// None for graphs like those the features were chosen for.
    pub fn views_where(&self, graphs: &Graphs, mut wanted: impl FnMut(&str, usize) -> bool) -> Result<Vec<View>> {
        let refined = if self.molecules { FINGERPRINT } else { WEISFEILER_LEHMAN };
        let columns = if graphs.is_empty() { 0 } else { self.summary(graphs, 0).len() };
        let mut parts = vec![(COUNTS, columns), (refined, self.buckets)];
        if self.numbers {
            parts.push((FRAGMENTS, FRAGMENT_BUCKETS));
        }
        let own: Vec<bool> = parts.iter().map(|(name, columns)| wanted(name, *columns)).collect();
        let all = wanted(ALL, parts.iter().map(|(_, columns)| columns).sum());
        let mut found = Vec::new();
        for ((name, columns), own) in parts.into_iter().zip(own).filter(|(_, own)| *own || all) {
            let rows = match name {
                COUNTS => {
                    let mut rows = Rows { columns, values: vec![] };
                    (0..graphs.len()).for_each(|graph| rows.push(self.summary(graphs, graph)));
                    rows
                }
                FRAGMENTS => histograms(graphs, &Colours::of(graphs, None), RADIUS, columns),
                _ => histograms(graphs, &Colours::of(graphs, self.numbers.then_some(whole)), RADIUS, columns),
            };
            found.push((name, own, rows));
        }
        let together = all.then(|| Rows::side_by_side(&found.iter().map(|(.., rows)| rows).collect::<Vec<_>>()));
        let own = found.into_iter().filter(|(_, own, _)| *own).map(|(name, _, rows)| rows.view(name));
        own.chain(together.map(|rows| rows.view(ALL))).collect()
    }

    /// The row of [`COUNTS`] of one graph.
    fn summary(&self, graphs: &Graphs, graph: usize) -> Vec<f32> {
        let mut row = self.counts(graphs, graph);
        if self.molecules {
            row.extend(descriptors(graphs, graph));
        }
        row
    }

    /// Counts of one graph: nodes, edges, rings, types, degrees, and means, extremes, deviations of numbers.
    fn counts(&self, graphs: &Graphs, graph: usize) -> Vec<f32> {
        let (nodes, edges) = (graphs.nodes_of(graph), graphs.edges_of(graph));
        let (n, m) = (nodes.len() as f32, edges.len() as f32);
        let mut row = vec![n, m, n.ln_1p(), m.ln_1p(), m / n.max(1.0), m / (n * (n - 1.0)).max(1.0)];
        let mut degrees = vec![0.0; DEGREES + 1];
        nodes.clone().for_each(|node| degrees[graphs.in_degree(node).min(DEGREES)] += 1.0);
        row.push(nodes.clone().map(|node| graphs.in_degree(node)).max().unwrap_or(0) as f32);
        row.extend(degrees);
        let mut add = |features: &Features, range: std::ops::Range<usize>, known: &[String]| {
            let mut counts = vec![0.0; known.len()];
            if let Some(types) = features.types() {
                for kind in &types[range.clone()] {
                    let name = &features.type_names()[*kind as usize];
                    if let Some(place) = known.iter().position(|known| known == name) {
                        counts[place] += 1.0;
                    }
                }
            }
            let share = (range.len() as f32).max(1.0);
            row.extend(counts.iter().map(|count| count / share).collect::<Vec<_>>());
            row.extend(counts);
            let width = features.width();
            for column in 0..width {
                let values = features.dense()[range.start * width..range.end * width].iter().skip(column);
                row.extend(pool(values.step_by(width).copied()).unwrap_or_default());
            }
        };
        add(graphs.node_features(), nodes, &self.node_types);
        add(graphs.edge_features(), edges, &self.edge_types);
        row
    }
}

/// A view with a row for every node: its own features and the means over its neighbours one and two edges away
/// (simplified graph convolution, Wu et al. 2019), `[nodes, 3 · columns + 1]`. `None` where there are too many values.
///
/// # Errors
/// None.
pub fn node_view(graphs: &Graphs) -> Result<Option<View>> {
    let features = graphs.node_features();
    let kinds = features.type_names().len().min(MOST_TYPES);
    let (nodes, width) = (graphs.nodes(), features.width() + kinds);
    if nodes * (3 * width + 1) > MOST_VALUES {
        return Ok(None);
    }
    let mut own = vec![0.0f32; nodes * width];
    for (node, row) in own.chunks_mut(width.max(1)).enumerate() {
        if let Some(place) = features.types().map(|types| types[node] as usize).filter(|place| *place < kinds) {
            row[place] = 1.0;
        }
        row[kinds..].copy_from_slice(&features.dense()[node * features.width()..(node + 1) * features.width()]);
    }
    let near = |rows: &[f32]| {
        let mut means = vec![0.0f32; rows.len()];
        for (node, mean) in means.chunks_mut(width.max(1)).enumerate() {
            let sources = graphs.sources_of(node);
            for source in neighbours(graphs, node) {
                let row = &rows[source * width..(source + 1) * width];
                mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / sources.len() as f32);
            }
        }
        means
    };
    let one = near(&own);
    let two = near(&one);
    let degrees = Rows { columns: 1, values: (0..nodes).map(|node| graphs.in_degree(node) as f32).collect() };
    let [own, one, two] = [own, one, two].map(|values| Rows { columns: width, values });
    Ok(Some(Rows::side_by_side(&[&own, &one, &two, &degrees]).view(NEIGHBOURHOODS)?))
}

/// Rows of numbers.
struct Rows {
    columns: usize,
    /// `[rows, columns]`
    values: Vec<f32>,
}

impl Rows {
    fn push(&mut self, row: Vec<f32>) {
        self.columns = row.len();
        self.values.extend(row);
    }

    fn side_by_side(all: &[&Self]) -> Self {
        let rows = all.iter().filter(|one| one.columns > 0).map(|one| one.values.len() / one.columns).max();
        let columns = all.iter().map(|one| one.columns).sum();
        let mut values = Vec::with_capacity(rows.unwrap_or(0) * columns);
        for row in 0..rows.unwrap_or(0) {
            all.iter()
                .for_each(|one| values.extend_from_slice(&one.values[row * one.columns..(row + 1) * one.columns]));
        }
        Self { columns, values }
    }

    fn view(self, name: &str) -> Result<View> {
        View::new(name, self.values, self.columns)
    }
}

/// Colours of nodes and edges before the first round.
struct Colours {
    /// `[nodes]`
    nodes: Vec<u64>,
    /// `[edges]`
    edges: Vec<u64>,
}

impl Colours {
    /// Colours of types, and of the numbers beside them where `number` gives their part of a colour.
    fn of(graphs: &Graphs, number: Option<fn(f32) -> u64>) -> Self {
        let colours = |features: &Features, count: usize| {
            let names: Vec<u64> = features.type_names().iter().map(|name| hash(name.bytes().map(u64::from))).collect();
            let width = features.width();
            let colour = |at: usize| {
                let kind = features.types().map_or(0, |types| names[types[at] as usize]);
                let dense = &features.dense()[at * width..(at + 1) * width];
                let numbers = number.into_iter().flat_map(|part| dense.iter().map(move |value| part(*value)));
                hash(std::iter::once(kind).chain(numbers))
            };
            (0..count).map(colour).collect()
        };
        Self {
            nodes: colours(graphs.node_features(), graphs.nodes()),
            edges: colours(graphs.edge_features(), graphs.edges()),
        }
    }
}

/// A whole number as a part of a colour; all others have the same.
fn whole(value: f32) -> u64 {
    if value.fract() == 0.0 && value.abs() < 1024.0 { (value as i64 + 1024) as u64 } else { u64::MAX }
}

/// Counts of each Weisfeiler-Lehman colour in each graph, over all rounds; colours share `buckets` columns.
fn histograms(graphs: &Graphs, colours: &Colours, radius: usize, buckets: usize) -> Rows {
    let mut values = vec![0.0f32; graphs.len() * buckets];
    let mut nodes = colours.nodes.clone();
    for round in 0..=radius {
        for graph in 0..graphs.len() {
            for node in graphs.nodes_of(graph) {
                // A round has colours of its own, so that a node without neighbours counts in every round.
                let place = hash([round as u64, nodes[node]].into_iter()) as usize % buckets;
                values[graph * buckets + place] += 1.0;
            }
        }
        if round < radius {
            nodes = (0..graphs.nodes()).map(|node| refined(graphs, colours, &nodes, node, |_| true)).collect();
        }
    }
    Rows { columns: buckets, values }
}

/// The nodes, among all nodes, that edges into a node come from.
fn neighbours(graphs: &Graphs, node: usize) -> impl Iterator<Item = usize> + '_ {
    let start = graphs.nodes_of(graphs.graph_of(node)).start;
    graphs.sources_of(node).iter().map(move |source| start + *source as usize)
}

/// The next colour of a node: of its own, and those of its edges and neighbours in any order, of neighbours that are
/// `kept`.
fn refined(graphs: &Graphs, colours: &Colours, nodes: &[u64], node: usize, kept: impl Fn(usize) -> bool) -> u64 {
    let first = graphs.in_offsets()[node];
    let edge = |(at, source): (usize, usize)| hash([colours.edges[first + at], nodes[source]].into_iter());
    let mut around: Vec<u64> =
        neighbours(graphs, node).enumerate().filter(|(_, source)| kept(*source)).map(edge).collect();
    around.sort_unstable();
    hash(std::iter::once(nodes[node]).chain(around))
}

/// Rounds of colours that tell whole graphs and scaffolds apart.
const ROUNDS: usize = 12;

/// The scaffold of each graph as a number, equal for equal scaffolds: what is left of a molecule when atoms with a
/// single neighbour are taken away again and again, its rings and the chains between them (Bemis & Murcko 1996), with
/// types of atoms and bonds. Graphs without rings have the number 0.
///
/// ```
/// use regard_base::features::graphs::scaffolds;
/// use regard_data::graphs::formats::{ReadOptions, smiles_csv};
///
/// let text = "s\nCc1ccccc1\nOCCc1ccccc1\nc1ccncc1\nCCO\n";
/// let options = ReadOptions { smiles: Some("s".into()), ..ReadOptions::default() };
/// let found = scaffolds(&smiles_csv::parse(text, "m.csv".as_ref(), &options)?);
/// assert!(found[0] == found[1] && found[0] != found[2] && found[3] == 0);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[must_use]
pub fn scaffolds(graphs: &Graphs) -> Vec<u64> {
    let mut kept = vec![true; graphs.nodes()];
    let distinct = |node: usize, kept: &[bool]| {
        let mut around: Vec<usize> = neighbours(graphs, node).filter(|&other| other != node && kept[other]).collect();
        around.sort_unstable();
        around.dedup();
        around
    };
    let mut waiting: Vec<usize> = (0..graphs.nodes()).collect();
    while let Some(node) = waiting.pop() {
        if !kept[node] {
            continue;
        }
        let around = distinct(node, &kept);
        if around.len() <= 1 {
            kept[node] = false;
            waiting.extend(around);
        }
    }
    numbered(graphs, &Colours::of(graphs, None), &kept)
}

/// A number for each graph, equal for graphs with the same nodes, edges and features in any order: two rows of one molecule,
/// however its SMILES begins. Graphs that attention over neighbours cannot tell apart may have the same number.
///
/// ```
/// use regard_base::features::graphs::identities;
/// use regard_data::graphs::formats::{ReadOptions, smiles_csv};
///
/// let options = ReadOptions { smiles: Some("s".into()), ..ReadOptions::default() };
/// let found = identities(&smiles_csv::parse("s\nCCO\nOCC\nCOC\n", "m.csv".as_ref(), &options)?);
/// assert!(found[0] == found[1] && found[0] != found[2]);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[must_use]
pub fn identities(graphs: &Graphs) -> Vec<u64> {
    let exact = |value: f32| u64::from(value.to_bits());
    numbered(graphs, &Colours::of(graphs, Some(exact)), &vec![true; graphs.nodes()])
}

/// A number for the part of each graph that is `kept [nodes]`, equal for equal parts; 0 where nothing is kept.
fn numbered(graphs: &Graphs, colours: &Colours, kept: &[bool]) -> Vec<u64> {
    let mut nodes = colours.nodes.clone();
    for _ in 0..ROUNDS {
        let next =
            |node: usize| if kept[node] { refined(graphs, colours, &nodes, node, |other| kept[other]) } else { 0 };
        nodes = (0..graphs.nodes()).into_par_iter().map(next).collect();
    }
    let of_graph = |graph: usize| {
        let mut all: Vec<u64> = graphs.nodes_of(graph).filter(|&node| kept[node]).map(|node| nodes[node]).collect();
        all.sort_unstable();
        if all.is_empty() { 0 } else { hash(all.into_iter()) }
    };
    (0..graphs.len()).map(of_graph).collect()
}

/// A hash that is the same on every machine (FNV-1a with a final mix).
fn hash(parts: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    parts.for_each(|part| hasher.write_u64(part));
    hasher.finish()
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 33)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    fn write_u64(&mut self, part: u64) {
        self.write(&part.to_le_bytes());
    }
}

/// Descriptors of a molecule: mass, rings, atoms that give or take hydrogen bonds, halogens, hetero atoms, rotatable
/// bonds, saturated carbons, the largest distance along bonds (over the number of atoms), and Balaban-like means of
/// distances.
fn descriptors(graphs: &Graphs, graph: usize) -> Vec<f32> {
    let nodes = graphs.nodes_of(graph);
    let (features, bonds) = (graphs.node_features(), graphs.edge_features());
    let column = |name: &str| (0..features.width()).find(|at| features.kinds().columns.name(*at) == name);
    let number = |node: usize, column: Option<usize>| column.map(|at| features.dense()[node * features.width() + at]);
    let [hydrogens, aromatic, charge] = ["hydrogens", "aromatic", "charge"].map(column);
    let in_ring = ring_bonds(graphs, graph);
    let name = |node: usize| features.types().map_or("", |types| &features.type_names()[types[node] as usize]);
    let order = |edge: usize| {
        bonds.types().and_then(|types| bond_order(&bonds.type_names()[types[edge] as usize])).unwrap_or(1.0)
    };
    let mut sums = [0.0f32; 14];
    let first_edge = graphs.edges_of(graph).start;
    for node in nodes.clone() {
        let symbol = symbol(name(node));
        let edges = graphs.in_offsets()[node]..graphs.in_offsets()[node + 1];
        let valence: f32 = edges.clone().map(order).sum();
        let hydrogen = number(node, hydrogens).unwrap_or_else(|| (valences(symbol) - valence).max(0.0).floor());
        let hetero = !matches!(symbol, "C" | "H");
        let polar = matches!(symbol, "N" | "O");
        let halogen = matches!(symbol, "F" | "Cl" | "Br" | "I");
        let saturated = symbol == "C" && edges.clone().all(|edge| order(edge) == 1.0);
        let ring = edges.clone().any(|edge| in_ring[edge - first_edge]);
        let flag = |yes: bool| f32::from(u8::from(yes));
        sums[0] += mass(symbol).unwrap_or(0.0) + 1.008 * hydrogen;
        sums[1] += flag(hetero);
        sums[2] += flag(polar);
        sums[3] += flag(polar && hydrogen > 0.0);
        sums[4] += flag(halogen);
        sums[5] += flag(saturated);
        sums[6] += flag(ring);
        sums[7] += number(node, aromatic).unwrap_or(0.0);
        sums[8] += number(node, charge).unwrap_or(0.0).abs();
        sums[9] += hydrogen;
        sums[10] += flag(ring && hetero);
        sums[11] += flag(polar && hydrogen == 0.0 && valence > edges.len() as f32);
        sums[12] += polar_surface(symbol, hydrogen, valence, edges.len());
    }
    let rotatable = |edge: &usize| {
        let edge = *edge;
        let target = graphs.in_offsets().partition_point(|start| *start <= edge) - 1;
        let source = nodes.start + graphs.sources()[edge] as usize;
        source < target
            && order(edge) == 1.0
            && !in_ring[edge - first_edge]
            && graphs.in_degree(source) > 1
            && graphs.in_degree(target) > 1
    };
    sums[13] = graphs.edges_of(graph).filter(rotatable).count() as f32;
    let (n, m) = (nodes.len() as f32, graphs.edges_of(graph).len() as f32 / 2.0);
    let mut row = sums.to_vec();
    row.extend([m - n + components(graphs, graph), sums[5] / n.max(1.0), sums[7] / n.max(1.0), sums[1] / n.max(1.0)]);
    row.extend(distances(graphs, graph));
    row
}

/// The polar surface of an atom in square ångström, by its kind (after Ertl et al. 2000, in few classes).
fn polar_surface(symbol: &str, hydrogens: f32, valence: f32, degree: usize) -> f32 {
    let unsaturated = valence > degree as f32;
    match (symbol, hydrogens as u32, unsaturated) {
        ("O", 0, true) => 17.07,
        ("O", 0, false) => 9.23,
        ("O", _, _) => 20.23,
        ("N", 0, true) => 12.5,
        ("N", 0, false) => 3.24,
        ("N", 1, true) => 15.8,
        ("N", 1, false) => 12.03,
        ("N", _, _) => 26.02,
        _ => 0.0,
    }
}

/// For each edge of a graph whether it is part of a ring: bridges are not (Tarjan 1974).
fn ring_bonds(graphs: &Graphs, graph: usize) -> Vec<bool> {
    let (nodes, edges) = (graphs.nodes_of(graph), graphs.edges_of(graph));
    let (first, n) = (nodes.start, nodes.len());
    let mut ring = vec![true; edges.len()];
    let (mut seen, mut low) = (vec![0usize; n], vec![0usize; n]);
    let mut clock = 0;
    for root in 0..n {
        if seen[root] > 0 {
            continue;
        }
        clock += 1;
        (seen[root], low[root]) = (clock, clock);
        // Node, parent, and the next neighbour to visit.
        let mut path = vec![(root, usize::MAX, 0usize)];
        while let Some((node, parent, next)) = path.last_mut() {
            let (node, parent) = (*node, *parent);
            if let Some(&source) = graphs.sources_of(first + node).get(*next) {
                *next += 1;
                let other = source as usize;
                if other == parent {
                    continue;
                }
                if seen[other] > 0 {
                    low[node] = low[node].min(seen[other]);
                } else {
                    clock += 1;
                    (seen[other], low[other]) = (clock, clock);
                    path.push((other, node, 0));
                }
                continue;
            }
            path.pop();
            if parent != usize::MAX {
                low[parent] = low[parent].min(low[node]);
                if low[node] > seen[parent] {
                    let mut bar = |target: usize, source: usize| {
                        let start = graphs.in_offsets()[first + target];
                        let places = graphs.sources_of(first + target).iter().enumerate();
                        places.filter(|(_, other)| **other as usize == source).for_each(|(at, _)| {
                            ring[start + at - edges.start] = false;
                        });
                    };
                    bar(node, parent);
                    bar(parent, node);
                }
            }
        }
    }
    ring
}

/// Connected parts of a graph.
fn components(graphs: &Graphs, graph: usize) -> f32 {
    let nodes = graphs.nodes_of(graph);
    let mut seen = vec![false; nodes.len()];
    let mut count = 0.0;
    for root in nodes.clone() {
        if std::mem::replace(&mut seen[root - nodes.start], true) {
            continue;
        }
        count += 1.0;
        let mut left = vec![root];
        while let Some(node) = left.pop() {
            for source in neighbours(graphs, node) {
                if !std::mem::replace(&mut seen[source - nodes.start], true) {
                    left.push(source);
                }
            }
        }
    }
    count
}

/// Graphs up to so many nodes are measured in distances.
const MEASURED: usize = 512;

/// The largest distance between two nodes, the mean distance, and the sum of inverse distances over the nodes.
fn distances(graphs: &Graphs, graph: usize) -> [f32; 3] {
    let nodes = graphs.nodes_of(graph);
    if nodes.is_empty() || nodes.len() > MEASURED {
        return [0.0; 3];
    }
    let (mut longest, mut sum, mut inverse, mut pairs) = (0u32, 0.0f64, 0.0f64, 0.0f64);
    for root in nodes.clone() {
        let mut far = vec![u32::MAX; nodes.len()];
        far[root - nodes.start] = 0;
        let mut line = std::collections::VecDeque::from([root]);
        while let Some(node) = line.pop_front() {
            let here = far[node - nodes.start];
            for source in neighbours(graphs, node) {
                let place = source - nodes.start;
                if far[place] == u32::MAX {
                    far[place] = here + 1;
                    longest = longest.max(here + 1);
                    sum += f64::from(here + 1);
                    inverse += 1.0 / f64::from(here + 1);
                    pairs += 1.0;
                    line.push_back(source);
                }
            }
        }
    }
    [longest as f32, (sum / pairs.max(1.0)) as f32, (inverse / nodes.len() as f64) as f32]
}

/// The symbol of the element a type begins with.
fn symbol(name: &str) -> &str {
    name.split(' ').next().unwrap_or("")
}

/// The order of a bond type; `None` for another name.
fn bond_order(name: &str) -> Option<f32> {
    Some(match name {
        "none" => 0.0,
        "single" => 1.0,
        "aromatic" => 1.5,
        "double" => 2.0,
        "triple" => 3.0,
        "quadruple" => 4.0,
        _ => return None,
    })
}

/// Bonds an atom has where it carries no charge.
fn valences(symbol: &str) -> f32 {
    match symbol {
        "C" | "Si" => 4.0,
        "N" | "P" | "B" => 3.0,
        "O" | "S" | "Se" => 2.0,
        "F" | "Cl" | "Br" | "I" | "H" => 1.0,
        _ => 0.0,
    }
}

/// The mass of an element in dalton, rounded, where it is common in molecules; 100 for other symbols of elements.
fn mass(symbol: &str) -> Option<f32> {
    const MASSES: [(&str, f32); 18] = [
        ("H", 1.008),
        ("B", 10.81),
        ("C", 12.011),
        ("N", 14.007),
        ("O", 15.999),
        ("F", 18.998),
        ("Na", 22.99),
        ("Si", 28.085),
        ("P", 30.974),
        ("S", 32.06),
        ("Cl", 35.45),
        ("K", 39.098),
        ("Ca", 40.078),
        ("Se", 78.971),
        ("Br", 79.904),
        ("Sn", 118.71),
        ("I", 126.904),
        ("Hg", 200.592),
    ];
    let known = MASSES.iter().find(|(name, _)| *name == symbol).map(|(_, mass)| *mass);
    let mut letters = symbol.chars();
    let element = letters.next().is_some_and(char::is_uppercase)
        && symbol.len() <= 2
        && letters.all(|letter| letter.is_ascii_lowercase());
    known.or(element.then_some(100.0))
}

#[cfg(test)]
mod tests {
    use regard_data::graphs::formats::{self, ReadOptions};
    use regard_data::graphs::molecules::Rule;

    use super::*;

    fn molecules(smiles: &[&str]) -> Graphs {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.csv");
        std::fs::write(&path, format!("smiles\n{}\n", smiles.join("\n"))).unwrap();
        let options = ReadOptions { smiles: Some("smiles".into()), rule: Rule::Described, ..ReadOptions::default() };
        formats::read(&path, &options).unwrap()
    }

    #[test]
    fn a_molecule_has_the_same_features_however_it_is_written() {
        let graphs = molecules(&["CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O", "CCO"]);
        let features = GraphFeatures::of(&graphs);
        let views = features.views(&graphs).unwrap();
        let names: Vec<&str> = views.iter().map(View::name).collect();
        assert_eq!(names, [COUNTS, FINGERPRINT, FRAGMENTS, ALL]);
        for view in &views {
            assert_eq!(view.row(0), view.row(1), "{}", view.name());
            assert_ne!(view.row(0), view.row(2), "{}", view.name());
            assert!(view.values().iter().all(|value| value.is_finite()), "{}", view.name());
        }
        // Every atom counts once in each of the rounds 0 to 3.
        assert_eq!(views[1].row(2).iter().sum::<f32>(), 12.0);
    }

    #[test]
    fn views_that_are_not_wanted_are_not_computed() {
        let graphs = molecules(&["CC(=O)O", "CCO", "c1ccccc1"]);
        let features = GraphFeatures::of(&graphs);
        let all = features.views(&graphs).unwrap();
        let mut asked = vec![];
        let few = features.views_where(&graphs, |name, columns| {
            asked.push((name.to_owned(), columns));
            name == COUNTS || name == FRAGMENTS
        });
        let sizes: Vec<(String, usize)> = all.iter().map(|view| (view.name().to_owned(), view.columns())).collect();
        assert_eq!(asked, sizes);
        assert_eq!(few.unwrap(), [all[0].clone(), all[2].clone()]);
        assert_eq!(features.views_where(&graphs, |name, _| name == ALL).unwrap(), all[3..]);
    }

    #[test]
    fn the_neighbours_of_a_graph_are_its_own() {
        // Ethanol behind other molecules has the features it has alone.
        let [alone, behind] = [&["CCO"][..], &["c1ccccc1", "CC", "CCO"]].map(|smiles| {
            let graphs = molecules(smiles);
            let refined = histograms(&graphs, &Colours::of(&graphs, Some(whole)), RADIUS, 512);
            refined.values[(smiles.len() - 1) * 512..].to_vec()
        });
        assert_eq!(alone, behind);
    }

    #[test]
    fn rings_bridges_and_distances_are_found() {
        // Two rings joined by a bond, behind a molecule without rings.
        let graphs = molecules(&["CCC", "C1CC1C1CC1"]);
        let rings = ring_bonds(&graphs, 1);
        assert_eq!((rings.len(), rings.iter().filter(|ring| !**ring).count()), (14, 2));
        assert!(ring_bonds(&graphs, 0).iter().all(|ring| !ring));
        assert_eq!(distances(&graphs, 0)[0], 2.0);
        assert_eq!((components(&graphs, 1), distances(&graphs, 1)[0]), (1.0, 3.0));
        let found = descriptors(&graphs, 1);
        // Six carbons with ten hydrogens; one bond between the rings.
        assert!((found[0] - (6.0 * 12.011 + 10.0 * 1.008)).abs() < 1e-3, "{found:?}");
        assert_eq!((found[6], found[9]), (6.0, 10.0));
    }

    #[test]
    fn nodes_see_their_neighbours() {
        let graphs = molecules(&["CC", "CO"]);
        let view = node_view(&graphs).unwrap().unwrap();
        let width = (view.columns() - 1) / 3;
        assert_eq!(view.rows(), 4);
        // Of a molecule with one bond, the mean over neighbours is the other atom.
        assert_eq!(view.row(2)[width..2 * width], view.row(3)[..width]);
        assert_eq!(view.row(2)[2 * width..3 * width], view.row(2)[..width]);
    }
}
