//! The paper's instances bit for bit, and costs of the paper's tours.

mod support;

use regard_data::routes::paper;
use regard_data::routes::tsp::Tsp;
use support::Case;

#[test]
fn golden_paper_test_sets() {
    // Sets of points alone are travelling salesman sets; the others carry depots and demands.
    let sets = Case::all("kool/testset_").into_iter().filter(|c| c.tensors() == ["input.loc"]);
    for case in sets {
        let (n, instances) = (case.number("n"), case.number("instances"));
        let seed = u32::try_from(case.number("seed")).unwrap();
        let ours = paper::uniform(seed, instances, n);
        let bits: Vec<u32> = ours.iter().flatten().flatten().map(|v| v.to_bits()).collect();
        let theirs: Vec<u32> = case.read::<4>("input.loc").into_iter().map(u32::from_le_bytes).collect();
        assert_eq!(bits.len(), theirs.len(), "{}", case.name());
        assert!(bits == theirs, "{} differs", case.name());
        if seed == paper::TEST_SEED {
            assert_eq!(paper::test_set(&format!("tsp{n}"), Some(instances)).unwrap(), ours);
        }
    }
}

#[test]
fn golden_costs_of_greedy_tours() {
    for case in Case::all("kool/").into_iter().filter(|c| c.config()["problem"] == "tsp") {
        if !case.tensors().contains(&"output.cost_f64") {
            continue;
        }
        let n = case.number("n");
        let floats = case.read::<4>("input.loc").into_iter().map(|b| f64::from(f32::from_le_bytes(b)));
        let points: Vec<f64> = floats.collect();
        let tours: Vec<usize> = case
            .read::<8>("output.tours")
            .into_iter()
            .map(|b| usize::try_from(i64::from_le_bytes(b)).unwrap())
            .collect();
        let costs = case.read::<8>("output.cost_f64").into_iter().map(f64::from_le_bytes);
        for (at, cost) in costs.enumerate() {
            let places = points[at * 2 * n..(at + 1) * 2 * n].chunks(2).map(|p| [p[0], p[1]]).collect();
            let instance = Tsp::euclidean("golden", places).unwrap();
            let tour = &tours[at * n..(at + 1) * n];
            instance.check(tour).unwrap();
            let ours = instance.cost(tour);
            assert!((ours - cost).abs() <= 1e-5 * cost, "{} {at}: {ours} {cost}", case.name());
        }
    }
}
