//! One graph, built edge by edge.

/// A graph before it joins a data set: nodes are counted from 0, edges have a direction.
///
/// Self loops and several edges between the same nodes are allowed and stay what they are.
///
/// ```
/// use regard_data::graphs::{Graph, Graphs, Kinds};
///
/// // Two carbon atoms and an oxygen, joined in a line.
/// let mut graph = Graph::new("ethanol", 3);
/// graph.node_types = vec![0, 0, 1];
/// graph.join(0, 1, 0);
/// graph.join(1, 2, 0);
/// let all = Graphs::new(Kinds::types(["C", "O"]), Kinds::types(["single"]), vec![graph])?;
/// assert_eq!((all.len(), all.nodes(), all.edges()), (1, 3, 4));
/// assert_eq!((all.in_degree(1), all.sources_of(1)), (2, &[0, 2][..]));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// Its name.
    pub id: String,
    /// The number of nodes.
    pub nodes: usize,
    /// `[nodes]`, or empty where nodes have no types.
    pub node_types: Vec<u32>,
    /// `[nodes, width]`.
    pub node_dense: Vec<f32>,
    /// Source and target of each edge, `[edges]`.
    pub edges: Vec<[u32; 2]>,
    /// `[edges]`, or empty where edges have no types.
    pub edge_types: Vec<u32>,
    /// `[edges, width]`.
    pub edge_dense: Vec<f32>,
}

impl Graph {
    /// A graph without edges.
    #[must_use]
    pub fn new(id: impl Into<String>, nodes: usize) -> Self {
        Self { id: id.into(), nodes, ..Self::default() }
    }

    /// Adds both directions between two nodes, of an edge type; a node joined with itself gets one loop.
    pub fn join(&mut self, a: u32, b: u32, kind: u32) {
        self.add(a, b, kind);
        if a != b {
            self.add(b, a, kind);
        }
    }

    /// Adds one directed edge of a type.
    pub fn add(&mut self, source: u32, target: u32, kind: u32) {
        self.edges.push([source, target]);
        self.edge_types.push(kind);
    }
}
