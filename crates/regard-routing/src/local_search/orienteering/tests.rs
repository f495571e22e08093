//! The laws of the search: bounds kept, sums true, never worse, always the same, small optima found.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use super::{
    recreate::{Greed, worths},
    *,
};

/// A random instance of either kind; on a raster, distances tie and nodes coincide.
struct Sample {
    points: Vec<[f64; 2]>,
    prizes: Vec<f64>,
    penalties: Vec<f64>,
    bound: f64,
    collecting: bool,
}

impl Sample {
    fn new(seed: u64, nodes: usize, collecting: bool, raster: bool) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut number = || {
            let number: f64 = random.random();
            if raster { (number * 6.0).floor() } else { number }
        };
        let points = (0..nodes).map(|_| [number(), number()]).collect();
        let prizes = (0..nodes).map(|_| number()).collect();
        let penalties = (0..nodes).map(|_| number()).collect();
        let scale = if raster { 6.0 } else { 1.0 };
        let share = if collecting { 0.4 * nodes as f64 } else { 0.5 * (nodes as f64).sqrt() };
        Self { points, prizes, penalties, bound: scale * share * random.random::<f64>(), collecting }
    }

    fn problem(&self) -> Problem<'_> {
        let distance = |a: usize, b: usize| {
            let [x, y] = [0, 1].map(|axis| self.points[a][axis] - self.points[b][axis]);
            x.hypot(y)
        };
        let (prizes, penalties) = (&self.prizes, &self.penalties);
        let objective = if self.collecting {
            Objective::RequiredPrize { prizes, penalties, required: self.bound }
        } else {
            Objective::MaxPrize { prizes, max_length: self.bound }
        };
        Problem::new(self.points.len(), distance, objective)
    }

    fn is_better(&self, value: f64, than: f64) -> bool {
        if self.collecting { value < than } else { value > than }
    }

    /// The best value of all selections in all orders.
    fn best(&self, problem: &Problem, visits: &mut Vec<usize>) -> f64 {
        let mut best = problem.value(visits);
        for node in 1..problem.len() {
            if !visits.contains(&node) {
                visits.push(node);
                let value = self.best(problem, visits);
                if best.is_nan() || self.is_better(value, best) {
                    best = value;
                }
                visits.pop();
            }
        }
        best
    }
}

fn counted(iterations: usize) -> Options {
    Options { iterations, ..Options::default() }
}

/// That the plan's sums and positions are true, and its offers the cheapest.
fn examine(problem: &Problem, plan: &mut Plan) {
    let (length, prize) = (plan.length, plan.prize);
    let sums = plan.sums(problem);
    assert!((length - sums.length).abs() < 1e-9 && (prize - sums.prize).abs() < 1e-9);
    let route = &plan.route;
    assert_eq!(route.order()[0], DEPOT);
    assert_eq!(route.order().len() + route.left_out().len(), problem.len());
    for (position, &node) in route.order().iter().enumerate() {
        assert!(route.is_visited(node) && route.position(node) == position);
    }
    assert!(route.left_out().iter().all(|&node| !route.is_visited(node)));
    assert!(plan.refresh(problem));
    let order = plan.route.order();
    for &node in plan.route.left_out() {
        let offer = plan.offers.of(node);
        assert!(plan.route.joins(offer.a, offer.b));
        assert_eq!(offer.detour, problem.distances.detour(offer.a, node, offer.b));
        let edges = (0..order.len()).map(|i| (order[i], order[(i + 1) % order.len()]));
        let least = edges.map(|(a, b)| problem.distances.detour(a, node, b)).fold(f64::INFINITY, f64::min);
        assert!((offer.detour - least).abs() < 1e-9, "{} {least}", offer.detour);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_step_leaves_the_books_true(
        seed in any::<u64>(), nodes in 2_usize..60, collecting in any::<bool>(), raster in any::<bool>(),
    ) {
        let sample = Sample::new(seed, nodes, collecting, raster);
        let problem = sample.problem();
        let worth = worths(&problem, 1.0);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (mut plan, mut removed) = (Plan::empty(&problem), Vec::new());
        for _ in 0..60 {
            plan.ruin(&problem, &mut removed, &mut random);
            examine(&problem, &mut plan);
            plan.recreate(&problem, &Greed { worth: &worth, noise: 0.3, barred: &removed }, &mut random);
            examine(&problem, &mut plan);
            let before = plan.sums(&problem).length;
            plan.shorten(&problem);
            examine(&problem, &mut plan);
            prop_assert!(plan.sums(&problem).length <= before + 1e-9);
            plan.fill(&problem, &Greed { worth: &worth, noise: 0.3, barred: &[] }, &mut random);
            examine(&problem, &mut plan);
            prop_assert!(problem.terms.nearly_keeps(&plan.sums(&problem)));
        }
    }

    #[test]
    fn never_worse_within_bounds_and_always_the_same(
        seed in any::<u64>(), nodes in 1_usize..90, collecting in any::<bool>(), raster in any::<bool>(),
    ) {
        let sample = Sample::new(seed, nodes, collecting, raster);
        let problem = sample.problem();
        let start = construct(&problem);
        let built = problem.value(&start);
        prop_assert!(!built.is_nan());
        let found = improve(&problem, start.clone(), &counted(200));
        prop_assert_eq!(found.before, built);
        prop_assert_eq!(found.after, problem.value(&found.visits));
        prop_assert!(!sample.is_better(found.before, found.after));
        prop_assert_eq!(&improve(&problem, start, &counted(200)), &found);
        let again = improve(&problem, found.visits.clone(), &counted(0));
        // Another descent begins with other places to look at, and now and then finds more.
        prop_assert!(!sample.is_better(again.before, again.after) && again.before == found.after);
    }

    #[test]
    fn whatever_is_given_bounds_are_kept(
        seed in any::<u64>(), nodes in 1_usize..40, collecting in any::<bool>(),
        given in prop::collection::vec(0_usize..50, 0..60), iterations in 0_usize..3,
    ) {
        let problem_of = Sample::new(seed, nodes, collecting, false);
        let problem = problem_of.problem();
        let mut all: Vec<usize> = (1..nodes).collect();
        all.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        for visits in [given, all] {
            let found = improve(&problem, visits, &counted(iterations));
            prop_assert!(!found.after.is_nan());
            prop_assert_eq!(found.after, problem.value(&found.visits));
        }
    }

    #[test]
    fn few_nodes_are_solved_to_optimality(seed in any::<u64>(), nodes in 1_usize..=7, collecting in any::<bool>()) {
        let sample = Sample::new(seed, nodes, collecting, false);
        let problem = sample.problem();
        let start = construct(&problem);
        let found = improve(&problem, start.clone(), &counted(1));
        let best = sample.best(&problem, &mut Vec::new());
        prop_assert!((found.after - best).abs() < 1e-9, "{} {best}", found.after);
        // The search, which larger instances need, finds the same.
        let (searched, _) = anneal::anneal(&problem, &Plan::of(&problem, &start), &counted(1500));
        let searched = problem.value(&searched.visits());
        prop_assert!((searched - best).abs() < 1e-9, "{searched} {best}");
    }
}

/// Places on a line at these distances from the depot, with these prizes and unit penalties.
fn on_a_line<'a>(at: &'a [f64], objective: Objective<'a>) -> Problem<'a> {
    Problem::new(at.len(), |a, b| (at[a] - at[b]).abs(), objective)
}

#[test]
fn no_node_one_node_and_no_length() {
    for at in [&[][..], &[0.0]] {
        let problem = on_a_line(at, Objective::MaxPrize { prizes: at, max_length: 1.0 });
        assert!(construct(&problem).is_empty());
        let found = improve(&problem, vec![], &counted(10));
        assert_eq!((found.visits, found.before, found.after), (vec![], 0.0, 0.0));
    }
    let at = [0.0, 1.0, 2.0];
    for max_length in [0.0, -1.0, 1.9] {
        let problem = on_a_line(&at, Objective::MaxPrize { prizes: &[5.0, 1.0, 1.0], max_length });
        assert!(construct(&problem).is_empty());
        let found = improve(&problem, vec![1, 2], &counted(10));
        assert_eq!((found.visits, found.after), (vec![], 5.0));
        assert!(found.before.is_nan());
    }
}

#[test]
fn a_length_used_up_to_the_last_bit_is_no_trouble() {
    let at = [0.0, 1.0, 2.0, 3.0];
    let problem = on_a_line(&at, Objective::MaxPrize { prizes: &[0.0, 1.0, 1.0, 9.0], max_length: 6.0 });
    let found = improve(&problem, construct(&problem), &counted(50));
    assert_eq!(found.after, 11.0);
}

#[test]
fn prize_that_cannot_be_collected_asks_for_every_node() {
    let at = [0.0, 1.0, 50.0, 2.0];
    let (prizes, penalties) = ([0.0, 0.1, 0.0, 0.2], [0.0; 4]);
    let objective = Objective::RequiredPrize { prizes: &prizes, penalties: &penalties, required: 1.0 };
    let problem = on_a_line(&at, objective);
    let found = improve(&problem, construct(&problem), &counted(100));
    assert_eq!((found.visits.len(), found.after), (3, 100.0));
    assert!(problem.value(&[1, 3]).is_nan());
}

#[test]
fn the_required_prize_is_that_of_the_checker_whatever_its_unit() {
    for unit in [1e-6, 1.0, 1e9] {
        for (share, expected) in [(1.0, true), (1.0 - 0.5e-6, true), (1.0 - 2e-6, false)] {
            let prizes = [0.0, share * unit, unit];
            let objective = Objective::RequiredPrize { prizes: &prizes, penalties: &[0.0; 3], required: unit };
            let value = on_a_line(&[0.0, 1.0, 2.0], objective).value(&[1]);
            assert_eq!(!value.is_nan(), expected, "{unit} {share}");
            let sites = Sites::euclidean("line", (0..3).map(|x| [f64::from(x), 0.0]).collect()).unwrap();
            let checked = crate::problems::pctsp::Pctsp::new(sites, prizes.to_vec(), vec![0.0; 3], unit).unwrap();
            assert_eq!(checked.check(&[1]).is_ok(), expected, "{unit} {share}");
        }
    }
}

#[test]
fn instances_have_the_nearest_nodes_whatever_their_number() {
    for nodes in [2, 10, 300, 5000] {
        let sample = Sample::new(8, nodes, false, false);
        let sites = Sites::euclidean("random", sample.points.clone()).unwrap();
        let objective = Objective::MaxPrize { prizes: &sample.prizes, max_length: 1.0 };
        let (all, instance) = (sample.problem(), Problem::of_sites(&sites, objective, None));
        assert!((0..nodes as Node).all(|node| all.neighbours.of(node) == instance.neighbours.of(node)), "{nodes}");
    }
}

#[test]
fn without_prizes_an_orienteer_need_not_move() {
    let at = [0.0, 1.0, 2.0];
    let problem = on_a_line(&at, Objective::MaxPrize { prizes: &[0.0; 3], max_length: 9.0 });
    assert!(construct(&problem).is_empty());
    assert_eq!(improve(&problem, vec![], &counted(100)).after, 0.0);
}

#[test]
fn a_deadline_in_the_past_still_gives_visits() {
    let sample = Sample::new(4, 300, true, false);
    let problem = sample.problem();
    let options = Options { deadline: Some(Instant::now()), ..counted(usize::MAX) };
    let found = improve(&problem, (1..300).collect(), &options);
    assert_eq!((found.iterations, found.after), (0, found.before));
}

/// The walk to the nearest node: in orienteering until the next one is too far, otherwise until there is enough prize.
fn nearest_neighbour(problem: &Problem) -> Vec<usize> {
    let (mut visits, mut here, mut length, mut prize) = (Vec::new(), DEPOT, 0.0, problem.terms.prize(DEPOT));
    while !problem.terms.collecting || prize < problem.terms.required {
        let left = (1..problem.len()).filter(|node| !visits.contains(node)).map(|node| node as Node);
        let way = |node: Node| problem.distances.of(here, node);
        let Some(next) = left.min_by(|&a, &b| way(a).total_cmp(&way(b))) else { break };
        if length + way(next) + problem.distances.of(next, DEPOT) > problem.terms.limit {
            break;
        }
        (length, prize) = (length + way(next), prize + problem.terms.prize(next));
        visits.push(next as usize);
        here = next;
    }
    visits
}

#[test]
fn without_time_a_start_is_no_worse_than_the_nearest_neighbour() {
    for (seed, collecting) in [(1, false), (2, true), (3, false), (4, true)] {
        for nodes in [2, 30, 400, 1500] {
            let sample = Sample::new(seed, nodes, collecting, false);
            let sites = Sites::euclidean("random", sample.points.clone()).unwrap();
            let (prizes, penalties) = (&sample.prizes, &sample.penalties);
            let objective = match collecting {
                true => Objective::RequiredPrize { prizes, penalties, required: sample.bound },
                false => Objective::MaxPrize { prizes, max_length: sample.bound },
            };
            let over = Some(Instant::now());
            let problem = Problem::of_sites(&sites, objective, over);
            let compared = problem.value(&nearest_neighbour(&problem));
            let broken: Vec<usize> = if collecting { vec![] } else { (1..nodes).collect() };
            let options = Options { deadline: over, ..counted(usize::MAX) };
            for visits in [construct(&problem), improve(&problem, broken, &options).visits] {
                let value = problem.value(&visits);
                assert!(!value.is_nan() && !sample.is_better(compared, value), "{nodes}: {value}, {compared}");
            }
        }
    }
}
