//! The predictions for graphs or their nodes, as tables and JSON.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::Result;
use crate::graphs::{Graphs, Level};
pub use crate::predictions::Predicted;
use crate::table::write::{Cell, TableSource, csv, write};

/// Predictions for graphs or their nodes, ready to be written.
///
/// ```
/// use regard_data::graphs::formats::predictions::{Predicted, Predictions};
/// use regard_data::graphs::{Graph, Graphs, Kinds, Level};
///
/// let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![Graph::new("a", 2)])?;
/// let predicted = Predicted::Numbers { tasks: vec!["y".into()], values: vec![0.5], intervals: vec![] };
/// let predictions = Predictions::new(&graphs, Level::Graph, predicted)?;
/// assert_eq!(predictions.csv(), "id,nodes,edges,y\na,2,0,0.5\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictions<'g> {
    graphs: &'g Graphs,
    level: Level,
    predicted: Predicted,
}

impl<'g> Predictions<'g> {
    /// Predictions for these graphs, or their nodes.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when there are not as many as graphs or nodes, or no tasks or classes.
    pub fn new(graphs: &'g Graphs, level: Level, predicted: Predicted) -> Result<Self> {
        let rows = match level {
            Level::Graph => graphs.len(),
            Level::Node => graphs.nodes(),
        };
        predicted.check(rows, "rows")?;
        Ok(Self { graphs, level, predicted })
    }

    /// One line for each graph (`id,nodes,edges,...`) or each node (`graph,node,...`); then the number of
    /// each task, or the likeliest class and the probability of each.
    #[must_use]
    pub fn csv(&self) -> String {
        csv(self)
    }

    /// A list with an object for each graph: `id`, `nodes`, `edges` and what is predicted, or the list of
    /// its nodes with what is predicted for each. A number that is not finite is `null`.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |graph: usize| {
            let mut object = Map::new();
            object.insert("id".into(), json!(self.graphs.ids()[graph]));
            match self.level {
                Level::Graph => {
                    object.insert("nodes".into(), json!(self.graphs.nodes_of(graph).len()));
                    object.insert("edges".into(), json!(self.graphs.edges_of(graph).len()));
                    self.predicted.fill_object(graph, &mut object);
                }
                Level::Node => {
                    let node = |node: usize| {
                        let mut of_node = Map::new();
                        of_node.insert("node".into(), json!(self.graphs.node_name(node)));
                        self.predicted.fill_object(node, &mut of_node);
                        Value::Object(of_node)
                    };
                    object.insert("nodes".into(), self.graphs.nodes_of(graph).map(node).collect());
                }
            }
            Value::Object(object)
        };
        Value::Array((0..self.graphs.len()).map(one).collect())
    }

    /// Writes the table as [`write()`] does.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path, self)
    }
}

impl TableSource for Predictions<'_> {
    fn columns(&self) -> Vec<String> {
        let about: &[&str] = match self.level {
            Level::Graph => &["id", "nodes", "edges"],
            Level::Node => &["graph", "node"],
        };
        about.iter().map(|name| (*name).to_owned()).chain(self.predicted.columns()).collect()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for graph in 0..self.graphs.len() {
            let id = Cell::Text(&self.graphs.ids()[graph]);
            match self.level {
                Level::Graph => {
                    let (nodes, edges) = (self.graphs.nodes_of(graph).len(), self.graphs.edges_of(graph).len());
                    let mut cells = vec![id, Cell::Whole(nodes), Cell::Whole(edges)];
                    self.predicted.fill_cells(graph, None, &mut cells);
                    visit(&cells)?;
                }
                Level::Node => {
                    for node in self.graphs.nodes_of(graph) {
                        let name = self.graphs.node_name(node);
                        let mut cells = vec![id, Cell::Text(&name)];
                        self.predicted.fill_cells(node, None, &mut cells);
                        visit(&cells)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, Kinds};

    fn two() -> Graphs {
        let mut a = Graph::new("a,b", 2);
        a.join(0, 1, 0);
        Graphs::new(Kinds::default(), Kinds::default(), vec![a, Graph::new("c", 1)]).unwrap()
    }

    #[test]
    fn classes_of_nodes_are_written() {
        let graphs = two();
        let predicted = Predicted::Classes {
            names: vec!["x".into(), "y".into()],
            probabilities: vec![0.25, 0.75, 1.0, 0.0, 0.5, 0.5],
            shares: vec![],
        };
        let predictions = Predictions::new(&graphs, Level::Node, predicted).unwrap();
        let expected = "graph,node,prediction,p(x),p(y)\n\"a,b\",0,y,0.25,0.75\n\"a,b\",1,x,1,0\nc,0,x,0.5,0.5\n";
        assert_eq!(predictions.csv(), expected);
        assert_eq!(predictions.json()[0]["nodes"][0]["probabilities"]["y"], 0.75);
    }

    #[test]
    fn numbers_of_graphs_are_written() {
        let graphs = two();
        let predicted = Predicted::Numbers {
            tasks: vec!["u".into(), "v".into()],
            values: vec![1.0, 2.0, 3.0, f64::NAN],
            intervals: vec![],
        };
        let predictions = Predictions::new(&graphs, Level::Graph, predicted).unwrap();
        assert_eq!(predictions.csv(), "id,nodes,edges,u,v\n\"a,b\",2,2,1,2\nc,1,0,3,NaN\n");
        assert!(predictions.json()[1]["predictions"]["v"].is_null());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        predictions.write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), predictions.csv());
        let few = Predicted::Numbers { tasks: vec!["u".into()], values: vec![], intervals: vec![] };
        let error = Predictions::new(&graphs, Level::Graph, few).unwrap_err();
        assert_eq!(error.to_string(), "predictions: has 0 values, expected 1 for each of 2 rows");
    }
}
