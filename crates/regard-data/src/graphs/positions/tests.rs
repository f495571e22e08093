use super::*;
use crate::graphs::{Graph, Kinds};

fn graphs(all: Vec<Graph>) -> Graphs {
    Graphs::new(Kinds::default(), Kinds::default(), all).unwrap()
}

fn path(nodes: usize) -> Graph {
    let mut graph = Graph::new("path", nodes);
    (1..nodes as u32).for_each(|node| graph.join(node - 1, node, 0));
    graph
}

fn laplacian(k: usize, nulls: Nulls, graph: Graph) -> Positions {
    Positions::compute(&graphs(vec![graph]), &Encoding::Laplacian { k, nulls }, &|_, _| ())
}

fn column(positions: &Positions, at: usize) -> Vec<f32> {
    positions.values().iter().skip(at).step_by(positions.width()).copied().collect()
}

#[test]
fn small_graphs_have_zeros_behind() {
    for nulls in [Nulls::SkipFirst, Nulls::SkipAll] {
        let positions = laplacian(4, nulls, path(2));
        let half = 0.5f32.sqrt();
        assert_eq!((positions.filled(), column(&positions, 0)), (&[1][..], vec![half, -half]));
        assert!((1..4).all(|at| column(&positions, at) == [0.0, 0.0]));
        let empty = laplacian(3, nulls, Graph::new("none", 0));
        assert_eq!((empty.filled(), empty.values().len()), (&[0][..], 0));
    }
    assert_eq!(laplacian(3, Nulls::SkipFirst, path(1)).filled(), [0]);
    assert_eq!(laplacian(3, Nulls::SkipAll, path(1)).values(), [1.0, 0.0, 0.0]);
}

#[test]
fn null_vectors_of_further_components_stay_or_go() {
    let mut two = path(5);
    two.nodes = 8;
    two.join(5, 6, 0);
    two.join(6, 7, 0);
    let faithful = laplacian(3, Nulls::SkipFirst, two.clone());
    let first = column(&faithful, 0);
    assert!(first[..5].iter().all(|x| *x == 0.0) && (first[6] - 0.5f32.sqrt()).abs() < 1e-6, "{first:?}");
    let safe = laplacian(3, Nulls::SkipAll, two);
    assert_eq!(column(&safe, 0), column(&faithful, 1));
    // An isolated node has the value 1 and is no null vector.
    let mut lone = path(3);
    lone.nodes = 4;
    let positions = laplacian(4, Nulls::SkipAll, lone);
    assert_eq!((positions.filled(), column(&positions, 1)), (&[3][..], vec![0.0, 0.0, 0.0, 1.0]));
}

#[test]
fn directed_graphs_are_taken_both_ways_and_counted() {
    let mut one_way = Graph::new("directed", 5);
    (1..5).for_each(|node| one_way.add(node - 1, node, 0));
    let both = laplacian(3, Nulls::SkipFirst, path(5));
    let positions = laplacian(3, Nulls::SkipFirst, one_way);
    assert_eq!((positions.values(), positions.symmetrised(), both.symmetrised()), (both.values(), 1, 0));
}

#[test]
fn positions_follow_the_nodes_when_those_are_renamed() {
    let mut graph = path(6);
    graph.join(1, 4, 0);
    let mut renamed = Graph::new("renamed", 6);
    let order = [3, 5, 0, 1, 4, 2];
    for edge in graph.edges.chunks(2) {
        renamed.join(order[edge[0][0] as usize], order[edge[0][1] as usize], 0);
    }
    let (a, b) = (laplacian(1, Nulls::SkipFirst, graph), laplacian(1, Nulls::SkipFirst, renamed));
    let same = |sign: f32| (0..6).all(|node| (a.values()[node] - sign * b.values()[order[node] as usize]).abs() < 1e-6);
    assert!(same(1.0) || same(-1.0), "{a:?} {b:?}");
}

#[test]
fn the_partial_solver_agrees_with_the_dense_one() {
    // A ring with chords, whose values are in pairs.
    let n = 300;
    let mut graph = Graph::new("ring", n);
    for node in 0..n as u32 {
        graph.join(node, (node + 1) % n as u32, 0);
        graph.join(node, (node + 7) % n as u32, 0);
    }
    let all = graphs(vec![graph]);
    let adjacency = components::Adjacency::of(&all, 0);
    let nodes: Vec<usize> = (0..n).collect();
    let operator = adjacency.normalised(&nodes, &adjacency.degrees());
    let null = vec![(1.0 / n as f64).sqrt(); n];
    let (whole, part) = (laplacian::dense_spectrum(&operator), partial::spectrum(&operator, &null, 6));
    assert!(!part.unconverged);
    for (found, expected) in part.values.iter().zip(&whole.values) {
        assert!((found - expected).abs() < 1e-10, "{:?} {:?}", part.values, &whole.values[..6]);
    }
    // Projections on the pair of vectors of the second value.
    for node in 0..n {
        let project = |vectors: &[Vec<f64>]| (1..3).map(|at| vectors[at][0] * vectors[at][node]).sum::<f64>();
        assert!((project(&whole.vectors) - project(&part.vectors)).abs() < 1e-6);
    }
}

#[test]
fn large_components_are_solved_in_part() {
    let n = laplacian::LARGEST_DENSE + 200;
    let mut graph = Graph::new("tree", n);
    let mut draws = crate::random::Draws::new(1);
    (1..n).for_each(|node| graph.join(draws.index(node) as u32, node as u32, 0));
    (0..n).for_each(|_| graph.join(draws.index(n) as u32, draws.index(n) as u32, 0));
    let positions = laplacian(4, Nulls::SkipFirst, graph);
    assert_eq!((positions.filled(), positions.unconverged()), (&[4][..], 0));
    for at in 0..4 {
        let square: f32 = column(&positions, at).iter().map(|x| x * x).sum();
        assert!((square - 1.0).abs() < 1e-4, "{square}");
    }
}

#[test]
fn walks_are_back_with_the_chances_of_the_matrix() {
    let mut graph = path(3);
    graph.nodes = 4;
    let positions = Positions::compute(&graphs(vec![graph]), &Encoding::RandomWalk { steps: 5 }, &|_, _| ());
    assert_eq!(column(&positions, 1), [0.5, 1.0, 0.5, 0.0]);
    assert_eq!(column(&positions, 3), [0.5, 1.0, 0.5, 0.0]);
    assert!([0, 2, 4].iter().all(|at| column(&positions, *at) == [0.0; 4]));
    let mut triangle = path(3);
    triangle.join(0, 2, 0);
    let positions = Positions::compute(&graphs(vec![triangle]), &Encoding::RandomWalk { steps: 3 }, &|_, _| ());
    assert_eq!(column(&positions, 2), [0.25; 3]);
}

#[test]
fn positions_of_a_batch_follow_its_graphs() {
    let all = graphs(vec![path(3), path(4)]);
    let seen = AtomicUsize::new(0);
    let count = |_: usize, of: usize| assert!(of == 2 && seen.fetch_add(1, Ordering::Relaxed) < 2);
    let positions = Positions::compute(&all, &Encoding::RandomWalk { steps: 2 }, &count);
    assert_eq!(positions.of(&all, &[1, 0]), [&positions.values()[6..], &positions.values()[..6]].concat());
    let indices = Positions::compute(&all, &Encoding::WeisfeilerLehman, &|_, _| ());
    assert_eq!(indices.indices_of(&all, &[0]), [2, 1, 2]);
    assert_eq!(indices.width(), 0);
    assert!(Positions::compute(&all, &Encoding::None, &|_, _| ()).values().is_empty());
}

#[test]
fn the_cache_gives_the_same_and_survives_damage() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("cache");
    let all = graphs(vec![path(5), path(1)]);
    let encodings = [
        Encoding::Laplacian { k: 3, nulls: Nulls::SkipAll },
        Encoding::WeisfeilerLehman,
        Encoding::RandomWalk { steps: 2 },
    ];
    for encoding in &encodings {
        let computed = Positions::compute(&all, encoding, &|_, _| ());
        for _ in 0..2 {
            assert_eq!(Positions::cached(&all, encoding, &below, &|_, _| ()).unwrap(), computed);
        }
    }
    let files: Vec<_> = std::fs::read_dir(&below).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3);
    let never = |_: usize, _: usize| panic!("was there");
    Positions::cached(&all, &encodings[0], &below, &never).unwrap();
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        for damaged in [&bytes[..bytes.len() / 2], &[][..], &[&bytes[..60], &[77], &bytes[61..]].concat()[..]] {
            std::fs::write(file, damaged).unwrap();
            for encoding in &encodings {
                let again = Positions::cached(&all, encoding, &below, &|_, _| ()).unwrap();
                assert_eq!(again, Positions::compute(&all, encoding, &|_, _| ()));
            }
        }
    }
}
