//! What a reader of a data set of graphs should know before trusting a number.

use super::examples::Examples;

/// Rows that are named one by one.
const NAMED: usize = 10;

/// What was left out, merged or made up for, a sentence each.
pub fn remarks(examples: &Examples) -> Vec<String> {
    let Examples { graphs, positions, .. } = examples;
    let mut all = Vec::new();
    let skipped = graphs.skipped();
    if !skipped.is_empty() {
        let named = skipped.iter().take(NAMED).map(|row| format!("line {}: {}", row.line, row.reason));
        let more = skipped.len().saturating_sub(NAMED);
        let rest = (more > 0).then(|| format!("and {more} more"));
        let list: Vec<String> = named.chain(rest).collect();
        all.push(format!("left out {}: {}", counted(skipped.len(), "row"), list.join("; ")));
    }
    // A whole census looks for the reverse of every edge; this is all that is told of it.
    let empty = (0..graphs.len()).filter(|&graph| graphs.nodes_of(graph).is_empty()).count();
    let mut tell = |count: usize, what: &str, then: &str| {
        if count > 0 {
            all.push(format!("{} {then}", counted(count, what)));
        }
    };
    tell(empty, "graph", "without nodes");
    tell(graphs.taken_as_rare(), "node", "of types that were rare in training or not there, which count as one type");
    tell(graphs.merged(), "edge", "given more than once, taken once");
    tell(positions.symmetrised(), "graph", "with edges of one direction, which count both ways for positions");
    tell(positions.unconverged(), "graph", "whose positions are not exact: the eigenvalues did not converge");
    all
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use regard_data::graphs::formats::{self, ReadOptions};
    use regard_data::graphs::positions::{Encoding, Nulls, Positions};

    use super::*;

    #[test]
    fn what_is_unusual_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str, options: ReadOptions| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let graphs = formats::read(&path, &options).unwrap();
            let encoding = Encoding::Laplacian { k: 2, nulls: Nulls::SkipAll };
            let positions = Arc::new(Positions::compute(&graphs, &encoding, &|_, _| ()));
            remarks(&Examples { graphs: Arc::new(graphs), positions, targets: None })
        };
        let molecules = ReadOptions { smiles: Some("s".into()), skip_bad: true, ..ReadOptions::default() };
        let told = read("m.csv", "s\nCC\nC1\nCCO\n", molecules.clone());
        assert!(told.len() == 1 && told[0].starts_with("left out 1 row: line 3: "), "{told:?}");
        assert!(read("m.csv", "s\nCC\nCCO\n", molecules).is_empty());
        let directed = ReadOptions { directed: true, ..ReadOptions::default() };
        std::fs::write(folder.path().join("edges.csv"), "source,target\n0,1\n1,2\n").unwrap();
        let told = read("nodes.csv", "id,x\n0,1\n1,2\n2,0\n", directed);
        assert!(told.len() == 1 && told[0].starts_with("1 graph with edges of one direction"), "{told:?}");
    }
}
