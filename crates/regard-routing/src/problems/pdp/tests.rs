use std::path::Path;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_data::cancel::CancellationToken;

use super::*;
use crate::formats::Instance;
use crate::formats::csv::{self, Columns, Nodes, Options, TableOptions};
use crate::generate::{GeneratorConfig, Points};
use crate::local_search::LocalSearchOptions;
use crate::problem::{Problem, State};
use crate::{Result, Sites, SolverInstance};

fn read(text: &str) -> Result<Instance> {
    csv::parse_instance(text, Path::new("t.csv"), &TableOptions::default()).map(|(instance, _)| instance)
}

/// A depot, `pickups.len() - 1` random nodes, and the pickup of each.
fn random(seed: u64, pickups: &[Option<usize>]) -> Pdp {
    let points = crate::generate::uniform(seed, 1, pickups.len()).remove(0);
    let points = points.into_iter().map(|point| point.map(f64::from)).collect();
    Pdp::new(Sites::euclidean("random", points).unwrap(), pickups.to_vec()).unwrap()
}

/// The length of the shortest trip, by trying all of them.
fn shortest(instance: &Pdp) -> f64 {
    fn rest(instance: &Pdp, visits: &mut Vec<usize>, best: &mut f64) {
        if visits.len() + 1 == instance.len() {
            *best = best.min(instance.length(visits));
            return;
        }
        for node in 1..instance.len() {
            let is_open = instance.pickups()[node].is_none_or(|pickup| visits.contains(&pickup));
            if is_open && !visits.contains(&node) {
                visits.push(node);
                rest(instance, visits, best);
                visits.pop();
            }
        }
    }
    let mut best = f64::INFINITY;
    rest(instance, &mut Vec::new(), &mut best);
    best
}

const TABLE: &str = "id,x,y,pickup\nbar,0,1,shop\nshop,3,0,\nhub,0,0,\nkiosk,3,1,hub\n";

#[test]
fn a_column_names_the_pickups() {
    let marked = TABLE.replace("pickup", "pickup,depot").replace("hub,0,0,", "hub,0,0,,1");
    let instance = read(&marked).unwrap();
    assert_eq!(instance.problem(), "pdp");
    let pdp = instance.downcast_ref::<Pdp>().unwrap();
    assert_eq!(pdp.sites().ids(), ["hub", "bar", "shop", "kiosk"]);
    // What is picked up at the depot is on board from the start.
    assert_eq!(pdp.pickups(), [None, Some(2), None, None]);
    assert_eq!(pdp.length(&[3, 2, 1]), 10_f64.sqrt() + 1.0 + 10_f64.sqrt() + 1.0);
    let text = instance.render("csv").unwrap();
    let again = read(&text).unwrap();
    assert_eq!(again.downcast_ref::<Pdp>().unwrap().pickups(), pdp.pickups());
    assert_eq!(again.render("csv").unwrap(), text);
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let said = |text: &str| read(text).unwrap_err().to_string();
    let error = read("id,x,y,pickup\nd,0,0,\na,1,0,b\nb,2,0,shop\nshop1,1,1,\n").unwrap_err();
    assert_eq!(error.hint(), Some("did you mean `shop1`?"));
    let error = error.to_string();
    assert!(error.contains("t.csv:4: field `pickup`: found `shop`, expected the id of a row or nothing"), "{error}");
    let error = said("id,x,y,pickup\nd,0,0,\na,1,0,b\nb,2,0,a\n");
    assert!(error.contains("t.csv:3: field `pickup`: leads back to this node"), "{error}");
    assert!(said("id,x,y,pickup\nd,0,0,\na,1,0,a\n").contains("would have to come after itself"));
    assert!(said("id,x,y,pickup\nd,0,0,a\na,1,0,\n").contains("t.csv:2: field `pickup`: is that of the depot"));
    let sites = Sites::euclidean("two", vec![[0.0, 0.0], [1.0, 0.0]]).unwrap();
    assert!(Pdp::new(sites.clone(), vec![None]).is_err());
    assert!(Pdp::new(sites.clone(), vec![None, Some(2)]).is_err());
    assert!(Pdp::new(sites, vec![None, Some(0)]).is_ok());
}

#[test]
fn columns_in_memory_name_rows() {
    let columns = |depot: usize, pickups: Vec<f64>| Columns {
        name: "four",
        nodes: Nodes::Plane(vec![[0.0, 1.0], [3.0, 0.0], [0.0, 0.0], [3.0, 1.0]]),
        labels: vec![],
        numbers: vec![("pickup", pickups)],
        depot,
        options: Options::default(),
    };
    let instance = columns(2, vec![1.0, -1.0, f64::NAN, 2.0]).instance().unwrap();
    assert_eq!(instance.downcast_ref::<Pdp>().unwrap().pickups(), [None, Some(2), None, None]);
    let error = columns(0, vec![-1.0, 7.0, -1.0, -1.0]).instance().unwrap_err().to_string();
    assert!(error.contains("`pickup` of node 1: found `7`"), "{error}");
}

#[test]
fn the_first_broken_rule_is_named_by_ids() {
    let instance = read(&TABLE.replace("bar,0,1,shop", "depot,0,1,\nbar,0,1,shop")).unwrap();
    let said = |visits: &[usize]| instance.check(visits).map_or_else(|error| error.to_string(), |()| String::new());
    assert_eq!(said(&[2, 3, 4, 1]), "");
    assert!(said(&[1, 2, 3, 4]).contains("node bar comes before node shop, where its load is picked up"));
    assert!(said(&[2, 3, 4]).contains("node bar is not visited (1 of 4 missing)"));
    assert!(said(&[2, 1, 1, 3, 4]).contains("node bar is visited twice, at positions 2 and 3"));
    assert!(said(&[2, 1, 3, 7]).contains("position 4: node index 7 is not below 5"));
}

#[test]
fn small_instances_are_solved_to_the_end() {
    let forms: [&[Option<usize>]; 4] = [
        &[None, None, None, None, Some(1), Some(2), Some(3)],
        // A load for three, a chain, and a node that is only visited.
        &[None, None, Some(1), Some(1), Some(1), None, None],
        &[None, None, Some(1), Some(2), Some(3), None, Some(5)],
        &[None; 7],
    ];
    for (form, seed) in forms.iter().flat_map(|form| (0..6).map(move |seed| (form, seed))) {
        let instance = random(seed, form);
        let (name, start) = instance.construct(None).unwrap();
        SolverInstance::check(&instance, &start).unwrap();
        assert_eq!(name, "insertion");
        let found = SolverInstance::local_search(&instance, start, &LocalSearchOptions::default());
        SolverInstance::check(&instance, &found).unwrap();
        assert!((instance.length(&found) - shortest(&instance)).abs() < 1e-9, "{form:?} {seed}");
    }
}

#[test]
fn searches_keep_the_rules_whatever_the_form_and_the_size() {
    let mut random_numbers = Pcg64Mcg::seed_from_u64(5);
    for nodes in [2, 3, 40, 300, 1500] {
        // Some nodes come after a random one before them: chains and many deliveries of one pickup.
        let pickups: Vec<Option<usize>> = (0..nodes)
            .map(|node| (node > 1 && random_numbers.random_bool(0.6)).then(|| random_numbers.random_range(1..node)))
            .collect();
        let instance = random(nodes as u64, &pickups);
        let (_, start) = instance.construct(None).unwrap();
        SolverInstance::check(&instance, &start).unwrap();
        let options =
            LocalSearchOptions { perturbations_per_node: usize::from(nodes < 1000), ..LocalSearchOptions::default() };
        let found = SolverInstance::local_search(&instance, start.clone(), &options);
        SolverInstance::check(&instance, &found).unwrap();
        assert!(instance.length(&found) <= instance.length(&start));
        assert_eq!(found, SolverInstance::local_search(&instance, start, &options));
    }
}

#[test]
fn a_chain_of_thousands_is_found_in_time() {
    let pickups: Vec<Option<usize>> = (0..5000).map(|node| (node > 1).then(|| node - 1)).collect();
    let instance = random(3, &pickups);
    let (name, only) = instance.construct(None).unwrap();
    assert_eq!((name, only), ("tour, deliveries when they are on board", (1..5000).collect()));
}

#[test]
fn a_search_of_several_threads_can_be_cancelled() {
    let instance = random(3, &[None; 40]);
    let (_, start) = instance.construct(None).unwrap();
    let begun = Instant::now();
    let options =
        LocalSearchOptions { deadline: Some(begun + Duration::from_secs(20)), ..LocalSearchOptions::default() };
    let token = CancellationToken::default();
    let switch = token.clone();
    let cancelling = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        switch.cancel();
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let found = pool.install(|| token.run(|| instance.local_search(start, &options))).unwrap();
    cancelling.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    SolverInstance::check(&instance, &found).unwrap();
}

#[test]
fn distances_may_differ_by_direction() {
    let rows = vec![0.0, 1.0, 9.0, 9.0, 9.0, 0.0, 1.0, 9.0, 9.0, 9.0, 0.0, 1.0, 1.0, 9.0, 9.0, 0.0];
    let metric = crate::Metric::Explicit(crate::DistanceMatrix::from_rows(4, rows).unwrap());
    let instance = Pdp::new(Sites::new("ring", metric, vec![]).unwrap(), vec![None, None, None, Some(1)]).unwrap();
    let (_, start) = instance.construct(None).unwrap();
    let found = SolverInstance::local_search(&instance, start, &LocalSearchOptions::default());
    assert_eq!((instance.length(&found), found), (4.0, vec![1, 2, 3]));
}

#[test]
fn half_of_drawn_nodes_are_deliveries_in_the_same_order() {
    for (size, pairs) in [(20, 10), (7, 3), (1, 0), (0, 0)] {
        let config = GeneratorConfig { points: Points::Cluster { centres: 3 }, ..GeneratorConfig::default() };
        let two = PdpEnv::draw(&config, 7, 2, size);
        assert_eq!(two[..1], PdpEnv::draw(&config, 7, 1, size));
        assert_eq!((two[0].nodes(), two[0].pickups().iter().flatten().count()), (size + 1, pairs));
        assert!((1..=pairs).all(|pair| two[1].pickups()[pairs + pair] == Some(pair)));
    }
}

#[test]
fn loads_are_on_board_between_pickup_and_delivery() {
    let problem = &PdpEnv::draw(&GeneratorConfig::default(), 1, 1, 4)[0];
    let mut state = problem.start();
    let (mut open, mut load) = ([false; 5], [0.0]);
    let mut seen = Vec::new();
    for node in [1, 2, 4, 3] {
        state.allowed(&mut open);
        state.scalars(&mut load);
        seen.push((open, load[0]));
        state.step(node);
    }
    assert_eq!(seen[0], ([false, true, true, false, false], 0.0));
    assert_eq!(seen[1], ([false, false, true, true, false], 0.5));
    assert_eq!(seen[2], ([false, false, false, true, true], 1.0));
    assert_eq!(seen[3], ([false, false, false, true, false], 0.5));
    assert!(state.done());
    // What is picked up at the depot is on board from the start.
    let line = vec![[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]];
    let from_depot = PdpEnv::new(line.clone(), vec![None, Some(0), Some(1)]);
    assert_eq!(from_depot.pickups(), [None, None, Some(1)]);
    from_depot.start().allowed(&mut open[..3]);
    assert_eq!(open[..3], [false, true, false]);
    for wrong in [vec![None, Some(3), None], vec![None; 2], vec![Some(1), None, None], vec![None, Some(2), Some(1)]] {
        assert!(std::panic::catch_unwind(|| PdpEnv::new(line.clone(), wrong)).is_err());
    }
    // A pickup sees the middle of its deliveries, a delivery its pickup.
    let shared = PdpEnv::new(vec![[0.0, 0.0], [0.2, 0.4], [0.0, 1.0], [1.0, 0.0]], vec![None, None, Some(1), Some(1)]);
    let features: Vec<&[f32]> = shared.features().leak().chunks(6).collect();
    assert_eq!(features[1], [0.2, 0.4, 0.5, 0.5, 1.0, 0.0]);
    assert_eq!(features[2], [0.0, 1.0, 0.2, 0.4, 0.0, 1.0]);
}
