//! The paper's instances bit for bit, and costs of the paper's tours.

use regard_routing::generate::Prizes;
use regard_routing::paper::{self, PaperSet};
use regard_routing::problems::cvrp::{self, CvrpEnv};
use regard_routing::problems::op::{self, OpEnv};
use regard_routing::problems::pctsp;
use regard_routing::problems::pctsp::generate::Values;
use regard_routing::problems::tsp::Tsp;
use regard_routing::{Problem, Sites};
use regard_testing::{Case, Golden};

#[test]
fn golden_paper_test_sets() {
    // Sets of points alone are travelling salesman sets; the others carry depots and demands.
    let Some(golden) = Golden::open_shared() else { return };
    let sets = golden.cases("kool/testset_").into_iter().filter(|c| c.tensor_names() == ["input.loc"]);
    for case in sets {
        let (n, instances) = (case.size("n"), case.size("instances"));
        let seed = u32::try_from(case.size("seed")).unwrap();
        let ours = paper::uniform(seed, instances, n);
        let bits: Vec<u32> = ours.iter().flatten().flatten().map(|v| v.to_bits()).collect();
        let theirs: Vec<u32> = case.bytes::<4>("input.loc").into_iter().map(u32::from_le_bytes).collect();
        assert_eq!(bits.len(), theirs.len(), "{}", case.name);
        assert!(bits == theirs, "{} differs", case.name);
        if seed == paper::TEST_SEED {
            let set = PaperSet::parse(&format!("tsp{n}")).unwrap();
            assert_eq!(paper::uniform_set(&set, Some(instances)).unwrap(), ours);
        }
    }
}

/// The prizes of a set of orienteering, from its name.
fn prizes_of(case: &Case) -> Prizes {
    let named = |prizes: &Prizes| case.name.contains(&format!("op_{}", prizes.name()));
    Prizes::ALL.into_iter().find(named).unwrap()
}

fn floats(case: &Case, tensor: &str) -> Vec<u32> {
    case.bytes::<4>(tensor).into_iter().map(u32::from_le_bytes).collect()
}

/// Compares one tensor with values of our instances, bit for bit.
fn same(case: &Case, tensor: &str, ours: impl Iterator<Item = f32>) {
    let ours: Vec<u32> = ours.map(f32::to_bits).collect();
    assert!(ours == floats(case, tensor), "{} {tensor} differs", case.name);
}

/// Compares depots and customers.
fn same_points(case: &Case, points: &[&[[f32; 2]]]) {
    same(case, "input.depot", points.iter().flat_map(|p| p[0]));
    same(case, "input.loc", points.iter().flat_map(|p| p[1..].iter().flatten().copied()));
}

#[test]
fn golden_paper_test_sets_with_a_depot() {
    let mut seen = 0;
    let Some(golden) = Golden::open_shared() else { return };
    for case in golden.cases("kool/testset_") {
        let tensors = case.tensor_names();
        if !tensors.contains(&"input.depot") {
            continue;
        }
        let (n, instances) = (case.size("n"), case.size("instances"));
        assert_eq!(case.size("seed"), paper::TEST_SEED as usize);
        if tensors.contains(&"input.demand") {
            let set = cvrp::generate::paper_set(n, Some(instances)).unwrap();
            same_points(&case, &set.iter().map(|i| i.points()).collect::<Vec<_>>());
            let share =
                |i: &CvrpEnv| i.demands()[1..].iter().map(|&d| d as f32 / i.capacity() as f32).collect::<Vec<_>>();
            same(&case, "input.demand", set.iter().flat_map(share));
        } else if tensors.contains(&"input.max_length") {
            let set = op::generate::paper_set(prizes_of(&case), n, Some(instances)).unwrap();
            same_points(&case, &set.iter().map(|i| i.points()).collect::<Vec<_>>());
            same(&case, "input.prize", set.iter().flat_map(|i| singles(&i.prizes()[1..])));
            same(&case, "input.max_length", set.iter().map(|i| i.max_length() as f32));
        } else {
            let set = pctsp::generate::paper_set(n, Some(instances)).unwrap();
            same_points(&case, &set.iter().map(|i| &*i.points).collect::<Vec<_>>());
            same(&case, "input.penalty", set.iter().flat_map(|i| i.penalties[1..].iter().copied()));
            same(&case, "input.deterministic_prize", set.iter().flat_map(|i| i.prizes[1..].iter().copied()));
            same(&case, "input.stochastic_prize", set.iter().flat_map(|i| i.real_prizes[1..].iter().copied()));
        }
        seen += 1;
    }
    assert!(seen >= 4, "only {seen} sets with a depot");
}

/// Numbers that are those of single precision.
fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).inspect(|value| assert!(value.is_finite())).collect()
}

/// FNV-1a over the little-endian bytes of single-precision numbers.
fn checksum(values: impl Iterator<Item = f32>) -> u64 {
    let bytes = values.flat_map(f32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Depots, customers, then the demands, of all instances.
fn of_cvrp(set: &[CvrpEnv]) -> u64 {
    let depots = set.iter().flat_map(|i| i.points()[0]);
    let customers = set.iter().flat_map(|i| i.points()[1..].iter().flatten().copied());
    checksum(depots.chain(customers).chain(set.iter().flat_map(|i| singles(&i.demands()[1..]))))
}

fn of_orienteering(set: &[OpEnv]) -> u64 {
    checksum(set.iter().flat_map(|i| singles(&i.prizes()[1..])))
}

/// Penalties, then prizes, then real prizes, of all instances.
fn of_prize_collecting(set: &[Values]) -> u64 {
    let of = |values: fn(&Values) -> &Vec<f32>| set.iter().flat_map(move |i| values(i)[1..].iter().copied());
    checksum(of(|i| &i.penalties).chain(of(|i| &i.prizes)).chain(of(|i| &i.real_prizes)))
}

/// The first 40 instances of sets that numpy drew whole.
#[test]
fn golden_paper_sets_by_checksum() {
    let (few, whole) = (Some(40), None);
    for (n, sum) in [(20, 0xb385_3685_2f18_6e45), (50, 0x89ec_3bbb_0a99_a295)] {
        assert_eq!(of_cvrp(&cvrp::generate::paper_set(n, few).unwrap()), sum);
    }
    for (prizes, n, limit, sum) in [
        (Prizes::Const, 20, few, 0x5f1a_34b2_e447_4025),
        (Prizes::Const, 50, few, 0xe686_a4f9_a713_27a5),
        (Prizes::Unif, 20, few, 0x2a4a_d1e0_a278_fc17),
        (Prizes::Unif, 20, whole, 0x8d07_ea4f_2659_bdc2),
        (Prizes::Unif, 50, few, 0x57c0_d8ea_c7cc_1dbb),
        (Prizes::Dist, 20, few, 0x9d0b_2b86_cf95_fd31),
        (Prizes::Dist, 20, whole, 0xf656_c575_6c2b_94e6),
        (Prizes::Dist, 50, few, 0x2aad_1a50_8cee_4817),
    ] {
        let set = op::generate::paper_set(prizes, n, limit).unwrap();
        assert_eq!(of_orienteering(&set), sum, "{prizes:?} {n} {limit:?}");
    }
    for (n, sum) in [(20, 0xb3a2_4d86_7e80_c3d1), (50, 0x0cfe_1c28_894f_4085)] {
        assert_eq!(of_prize_collecting(&pctsp::generate::paper_set(n, few).unwrap()), sum);
    }
}

#[test]
fn golden_costs_of_greedy_tours() {
    let Some(golden) = Golden::open_shared() else { return };
    for case in golden.cases("kool/").into_iter().filter(|c| c.config["problem"] == "tsp") {
        if !case.tensor_names().contains(&"output.cost_f64") {
            continue;
        }
        let n = case.size("n");
        let floats = case.bytes::<4>("input.loc").into_iter().map(|b| f64::from(f32::from_le_bytes(b)));
        let points: Vec<f64> = floats.collect();
        let tours: Vec<usize> = case
            .bytes::<8>("output.tours")
            .into_iter()
            .map(|b| usize::try_from(i64::from_le_bytes(b)).unwrap())
            .collect();
        let costs = case.bytes::<8>("output.cost_f64").into_iter().map(f64::from_le_bytes);
        for (at, cost) in costs.enumerate() {
            let places = points[at * 2 * n..(at + 1) * 2 * n].chunks(2).map(|p| [p[0], p[1]]).collect();
            let instance = Tsp::from(Sites::euclidean("golden", places).unwrap());
            let tour = &tours[at * n..(at + 1) * n];
            instance.check(tour).unwrap();
            let ours = instance.cost(tour);
            assert!((ours - cost).abs() <= 1e-5 * cost, "{} {at}: {ours} {cost}", case.name);
        }
    }
}
