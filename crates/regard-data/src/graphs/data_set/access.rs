//! The parts of graphs.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use super::{Graphs, Skipped};
use crate::error::shown;
use crate::graphs::{Features, Level, Parts, Targets, Values};
use crate::labels::number;
use crate::table::numbers::Decimal;
use crate::{Error, Result};

impl Graphs {
    /// The number of graphs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// If true, there are no graphs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of nodes of all graphs together.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.in_offsets.len() - 1
    }

    /// The number of directed edges of all graphs together.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.sources.len()
    }

    /// Names of the graphs, `[graphs]`.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Offsets of the graphs among the nodes, `[graphs + 1]`.
    #[must_use]
    pub fn node_offsets(&self) -> &[usize] {
        &self.node_offsets
    }

    /// Offsets of the edges into each node, `[nodes + 1]`.
    #[must_use]
    pub fn in_offsets(&self) -> &[usize] {
        &self.in_offsets
    }

    /// The node within its graph that each edge comes from, `[edges]`.
    #[must_use]
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The nodes of a graph among all nodes.
    ///
    /// # Panics
    /// If there is no such graph.
    #[must_use]
    pub fn nodes_of(&self, graph: usize) -> Range<usize> {
        self.node_offsets[graph]..self.node_offsets[graph + 1]
    }

    /// The edges of a graph among all edges.
    ///
    /// # Panics
    /// If there is no such graph.
    #[must_use]
    pub fn edges_of(&self, graph: usize) -> Range<usize> {
        self.in_offsets[self.node_offsets[graph]]..self.in_offsets[self.node_offsets[graph + 1]]
    }

    /// The sources of the edges into a node, counted within the graph, in rising order.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn sources_of(&self, node: usize) -> &[u32] {
        &self.sources[self.in_offsets[node]..self.in_offsets[node + 1]]
    }

    /// The number of edges that end in a node of all nodes.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn in_degree(&self, node: usize) -> usize {
        self.in_offsets[node + 1] - self.in_offsets[node]
    }

    /// The first node of all nodes that no edge ends in.
    #[must_use]
    pub fn first_without_edges(&self) -> Option<usize> {
        (0..self.nodes()).find(|&node| self.in_degree(node) == 0)
    }

    /// A node of all nodes in words: its name or type where it has one, its number within the graph, and the graph.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn describe_node(&self, node: usize) -> String {
        let graph = self.graph_of(node);
        let number = node - self.node_offsets[graph] + 1;
        let kind =
            self.node_features.types().and_then(|types| self.node_features.type_names().get(types[node] as usize));
        let name = self.node_ids().map(|names| &names[node]).or(kind);
        let name = name.map_or_else(String::new, |name| format!(" (`{}`)", shown(name)));
        format!("node {number}{name} of graph `{}`", shown(&self.ids[graph]))
    }

    /// The graph that a node of all nodes belongs to.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn graph_of(&self, node: usize) -> usize {
        assert!(node < self.nodes(), "node {node} of {}", self.nodes());
        self.node_offsets.partition_point(|start| *start <= node) - 1
    }

    /// The features of nodes, in the order of the nodes.
    #[must_use]
    pub fn node_features(&self) -> &Features {
        &self.node_features
    }

    /// The features of edges, in the order of [`Graphs::sources`].
    #[must_use]
    pub fn edge_features(&self) -> &Features {
        &self.edge_features
    }

    /// Names of the nodes, `[nodes]`, where their file names them.
    #[must_use]
    pub fn node_ids(&self) -> Option<&[String]> {
        self.node_ids.as_deref()
    }

    /// The name of a node, or its number within its graph from 0.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn node_name(&self, node: usize) -> String {
        match &self.node_ids {
            Some(ids) => ids[node].clone(),
            None => (node - self.node_offsets[self.graph_of(node)]).to_string(),
        }
    }

    /// The targets.
    #[must_use]
    pub fn targets(&self) -> Option<&Targets> {
        self.targets.as_ref()
    }

    /// The targets as numbers, `[rows, tasks]`.
    ///
    /// # Errors
    /// [`Error::Parse`] with the line and the task of the first answer that is a word, where lines are
    /// known, [`Error::Invalid`] otherwise and when there are no answers.
    pub fn target_numbers(&self) -> Result<Cow<'_, [Option<f64>]>> {
        let Some(targets) = &self.targets else {
            return Err(Error::invalid("targets", "are missing, expected numbers to learn"));
        };
        let (Values::Words(words), Level::Graph) = (targets.values(), targets.level()) else {
            return targets.as_numbers();
        };
        let tasks = targets.tasks().len();
        let wrong = words.iter().position(|word| word.as_ref().is_some_and(|word| number(word).is_none()));
        match wrong.and_then(|at| Some((at, self.line(at / tasks)?, words[at].as_ref()?))) {
            Some((at, line, word)) => {
                let reason = format!("found `{}`, expected a number", shown(word));
                Err(Error::parse(self.path(), line, reason).in_field(&targets.tasks()[at % tasks]))
            }
            None => targets.as_numbers(),
        }
    }

    /// The split that came with the data.
    #[must_use]
    pub fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// The file that the graphs were read from; empty for graphs that were made.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    /// The line of its file that a graph stands on, if it came from a text file.
    #[must_use]
    pub fn line(&self, graph: usize) -> Option<usize> {
        self.origin.lines.get(graph).copied()
    }

    /// Repeated edges of an undirected file that were taken once.
    #[must_use]
    pub fn merged(&self) -> usize {
        self.origin.merged
    }

    /// Nodes whose type was rare in training or not there, and is now the one for those, by [`Graphs::align`].
    #[must_use]
    pub fn taken_as_rare(&self) -> usize {
        self.origin.taken_as_rare
    }

    /// Rows of the file that were left out because they are wrong, where the options allow it.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.origin.skipped
    }

    /// Columns of tables that were left out or have missing values, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.origin.notes
    }

    /// The decimal mark of the table that the graphs were read from: as given, else the one that its numbers show.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        self.origin.decimal
    }

    /// The same with another note, before the others.
    pub(crate) fn with_note(mut self, note: String) -> Self {
        self.origin.notes.insert(0, note);
        self
    }
}

/// Counts of what makes the graphs of a data set neither simple nor undirected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Graphs without nodes.
    pub empty: usize,
    /// Nodes that no edge ends in or begins at.
    pub isolated: usize,
    /// Edges from a node to itself.
    pub self_loops: usize,
    /// Edges beyond the first from one node to another.
    pub repeated: usize,
    /// Edges whose reverse is not there.
    pub one_way: usize,
    /// Graphs with such an edge.
    pub directed: usize,
    /// Repeated edges of undirected files that were taken once.
    pub merged: usize,
}

impl Graphs {
    /// Counts empty graphs, isolated nodes, self loops, repeated edges and edges without a reverse.
    #[must_use]
    pub fn census(&self) -> Census {
        let mut census = Census { merged: self.merged(), ..Census::default() };
        for graph in 0..self.len() {
            let nodes = self.nodes_of(graph);
            census.empty += usize::from(nodes.is_empty());
            let mut sends = vec![false; nodes.len()];
            let mut one_way = 0;
            for node in nodes.clone() {
                let within = (node - nodes.start) as u32;
                let sources = self.sources_of(node);
                census.repeated += sources.windows(2).filter(|pair| pair[0] == pair[1]).count();
                census.self_loops += sources.iter().filter(|source| **source == within).count();
                for source in sources {
                    sends[*source as usize] = true;
                    let back = self.sources_of(nodes.start + *source as usize);
                    one_way += usize::from(back.binary_search(&within).is_err());
                }
            }
            census.one_way += one_way;
            census.directed += usize::from(one_way > 0);
            census.isolated += nodes.clone().filter(|v| self.in_degree(*v) == 0 && !sends[v - nodes.start]).count();
        }
        census
    }
}
