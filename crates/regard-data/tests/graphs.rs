//! Graphs as they come: published files.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use regard_data::graphs::formats::{ReadOptions, cora, read, tu};
use regard_data::graphs::molecules::{Rule, ZINC_ATOMS};
use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_data::graphs::{Graphs, Level, Part};

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The colours of a graph's nodes after rounds of refinement: equal for graphs that are the same up to the
/// order of their nodes, and hardly ever for others.
fn colours(graphs: &Graphs, graph: usize, with_bonds: bool) -> Vec<u64> {
    let nodes = graphs.nodes_of(graph);
    let types = graphs.node_features().types().unwrap();
    let bonds = graphs.edge_features().types().unwrap();
    let mut colours: Vec<u64> = nodes.clone().map(|node| hash(types[node])).collect();
    for _ in 0..nodes.len().min(20) {
        let next = |node: usize| {
            let edges = graphs.in_offsets()[node]..graphs.in_offsets()[node + 1];
            let mut seen: Vec<(u64, u32)> = edges
                .map(|edge| (colours[graphs.sources()[edge] as usize], if with_bonds { bonds[edge] } else { 0 }))
                .collect();
            seen.sort_unstable();
            hash((colours[node - nodes.start], seen))
        };
        colours = nodes.clone().map(next).collect();
    }
    colours.sort_unstable();
    colours
}

fn count<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0) += 1);
    counts
}

#[test]
fn zinc_of_smiles_is_zinc_of_graphs() {
    let Some(folder) = regard_testing::shared("data/graphs/zinc") else {
        return;
    };
    let options = ReadOptions {
        smiles: Some("smiles".into()),
        targets: vec!["target".into()],
        split: Some("split".into()),
        ..ReadOptions::default()
    };
    let ours = read(folder.join("zinc12k_rebuilt.csv"), &options).unwrap();
    let theirs = read(folder.join("zinc12k_rebuilt_graphs.jsonl"), &ReadOptions::default()).unwrap();
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(ours.node_features().type_names(), ZINC_ATOMS);
    assert_eq!(ours.parts(), theirs.parts());
    assert_eq!(ours.targets().unwrap().values(), theirs.targets().unwrap().values());
    let (mut types, mut skeletons, mut doubles, mut forms) = (0, 0, 0, 0);
    for graph in 0..ours.len() {
        let of = |graphs: &Graphs| count(graphs.nodes_of(graph).map(|v| graphs.node_features().types().unwrap()[v]));
        let bonds = |graphs: &Graphs| count(graphs.edges_of(graph).map(|e| graphs.edge_features().types().unwrap()[e]));
        types += usize::from(of(&ours) == of(&theirs));
        doubles += usize::from(bonds(&ours) == bonds(&theirs));
        skeletons += usize::from(colours(&ours, graph, false) == colours(&theirs, graph, false));
        forms += usize::from(colours(&ours, graph, true) == colours(&theirs, graph, true));
    }
    println!(
        "of {} molecules: {types} the same atom types, {skeletons} the same graph, {doubles} as many bonds of each \
         type, {forms} the same Kekulé form",
        ours.len()
    );
    assert_eq!([types, skeletons, doubles], [ours.len(); 3]);
    assert!(forms * 2 > ours.len(), "{forms}");
}

#[test]
fn molecule_sets_are_read_whole() {
    for (file, target, rows) in [
        ("ESOL_delaney-processed.csv", "measured log solubility in mols per litre", 1128),
        ("FreeSolv_SAMPL.csv", "expt", 642),
        ("BBBP.csv", "p_np", 2050),
    ] {
        let Some(path) = regard_testing::shared(&format!("data/graphs/moleculenet/{file}")) else {
            return;
        };
        for rule in [Rule::Zinc, Rule::Described] {
            let options = ReadOptions {
                smiles: Some("smiles".into()),
                targets: vec![target.into()],
                rule,
                ..ReadOptions::default()
            };
            let graphs = read(&path, &options).unwrap();
            assert_eq!((graphs.len(), graphs.skipped().len()), (rows, 0), "{file}");
            assert_eq!((graphs.targets().unwrap().missing(), graphs.target_numbers().is_ok()), (0, true));
            println!("{file}: {} types {:?}", graphs.node_features().type_names().len(), graphs.census());
        }
    }
}

#[test]
fn kernel_sets_are_read_with_their_folds() {
    for (name, graphs, classes) in [("MUTAG", 188, 2), ("PROTEINS", 1113, 2), ("ENZYMES", 600, 6)] {
        let Some(folder) = regard_testing::shared("data/graphs/tu") else {
            return;
        };
        let all = read(folder.join(format!("{name}.txt")), &ReadOptions::default()).unwrap();
        assert_eq!((all.len(), all.targets().unwrap().classes(0).unwrap().names.len()), (graphs, classes), "{name}");
        let census = all.census();
        assert_eq!((census.one_way, census.repeated), (0, 0), "{name}");
        let folds = tu::read_folds(folder.join(format!("{name}_10fold")), all.len()).unwrap();
        assert_eq!(folds.len(), 10, "{name}");
        assert!(folds.iter().all(|fold| fold.training.len() + fold.test.len() == graphs), "{name}");
        println!("{name}: {} nodes, {} edges, {census:?}", all.nodes(), all.edges());
    }
}

#[test]
fn the_citation_graph_is_read_whole() {
    let Some(path) = regard_testing::shared("data/graphs/cora/cora_nodes.txt") else {
        return;
    };
    let graphs = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((graphs.len(), graphs.nodes(), graphs.edges()), (1, 2708, 2 * 5278));
    assert_eq!((graphs.node_features().width(), graphs.targets().unwrap().level()), (1433, Level::Node));
    let parts = graphs.parts().unwrap();
    assert_eq!([Part::Training, Part::Validation, Part::Test].map(|part| parts.places(part).len()), [140, 500, 1000]);
    assert!(cora::looks_like(&std::fs::read_to_string(&path).unwrap()));
    let start = std::time::Instant::now();
    let encoding = Encoding::Laplacian { k: 8, nulls: Nulls::SkipAll };
    let positions = Positions::compute(&graphs, &encoding, &|_, _| ());
    println!("positions of Cora: {:?}, unconverged {}", start.elapsed(), positions.unconverged());
    assert!(positions.values().iter().all(|v| v.is_finite()));
}

#[test]
fn lists_of_indices_fit_the_circular_graphs() {
    let Some(folder) = regard_testing::shared("data/graphs/csl") else {
        return;
    };
    let all = regard_data::graphs::generate::csl(41).unwrap();
    let [train, val, test] = ["train", "val", "test"]
        .map(|part| tu::read_index(folder.join(format!("CSL_{part}.index")), all.len()).unwrap());
    let classes = all.targets().unwrap().classes(0).unwrap().of;
    for ((train, val), test) in train.iter().zip(&val).zip(&test) {
        assert_eq!((train.len(), val.len(), test.len()), (90, 30, 30));
        // Stratified as the benchmark cut them, so the order of the classes is the benchmark's.
        assert!(count(test.iter().map(|graph| classes[*graph])).values().all(|n| *n == 3));
    }
}
