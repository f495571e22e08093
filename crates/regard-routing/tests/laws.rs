//! Laws of instances, tours and generators, on random ones.

use proptest::prelude::*;
use regard_data::random::NumpyLegacy;
use regard_routing::problems::cvrp::Cvrp;
use regard_routing::problems::op::Op;
use regard_routing::problems::pctsp::Pctsp;
use regard_routing::problems::sdvrp::Sdvrp;
use regard_routing::problems::tsp::Tsp;
use regard_routing::{Metric, Sites, generate, routes_of};

/// Points within TSPLIB's usual range, some on top of one another.
fn points() -> impl Strategy<Value = Vec<[f64; 3]>> {
    let coordinate = prop_oneof![-90.0..90.0f64, (-5..5i32).prop_map(f64::from)];
    prop::collection::vec(prop::array::uniform3(coordinate), 1..40)
}

fn metric() -> impl Strategy<Value = Metric> {
    use Metric::{Att, Ceil2d, Euc2d, Euc3d, Euclidean, Geo, GreatCircleKm, Man2d, Man3d, Max2d, Max3d};
    prop::sample::select(vec![Euclidean, Euc2d, Euc3d, Max2d, Max3d, Man2d, Man3d, Ceil2d, Att, Geo, GreatCircleKm])
}

/// An instance with a random tour of it.
fn toured() -> impl Strategy<Value = (Sites, Vec<usize>)> {
    (points(), metric()).prop_flat_map(|(points, metric)| {
        let tour = Just((0..points.len()).collect::<Vec<_>>()).prop_shuffle();
        tour.prop_map(move |tour| (Sites::new("law", metric.clone(), points.clone()).unwrap(), tour))
    })
}

type Routes = Vec<Vec<usize>>;

/// A vehicle routing instance with a solution: the customers in random order, loaded until full.
fn routed() -> impl Strategy<Value = (Cvrp, Routes)> {
    let sized = points().prop_filter("customers", |points| points.len() > 2);
    sized.prop_flat_map(|points| {
        let n = points.len();
        let demands = prop::collection::vec(1..=9u8, n - 1);
        let order = Just((1..n).collect::<Vec<_>>()).prop_shuffle();
        (Just(points), demands, 9..30u8, order).prop_map(|(points, demands, capacity, order)| {
            let demands: Vec<f64> = std::iter::once(0.0).chain(demands.into_iter().map(f64::from)).collect();
            let (mut walk, mut load) = (Vec::new(), 0.0);
            for node in order {
                if load + demands[node] > f64::from(capacity) {
                    walk.push(0);
                    load = 0.0;
                }
                walk.push(node);
                load += demands[node];
            }
            let sites = Sites::new("law", Metric::Euc2d, points).unwrap();
            (Cvrp::new(sites, demands, f64::from(capacity)).unwrap(), routes_of(&walk))
        })
    })
}

/// Equal but for the rounding of sums in another order.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(1.0)
}

proptest! {
    #[test]
    fn cost_does_not_depend_on_start_or_direction((instance, tour) in toured(), turn in 0usize..40) {
        let mut other = tour.clone();
        other.rotate_left(turn % tour.len());
        prop_assert!(near(instance.tour_length(&tour), instance.tour_length(&other)));
        other.reverse();
        prop_assert!(near(instance.tour_length(&tour), instance.tour_length(&other)));
    }

    #[test]
    fn distances_are_symmetric_and_not_negative((instance, _) in toured()) {
        for i in 0..instance.len() {
            prop_assert_eq!(instance.distance(i, i), 0.0);
            for j in 0..i {
                let d = instance.distance(i, j);
                prop_assert!(d >= 0.0 && d == instance.distance(j, i));
            }
        }
    }

    #[test]
    fn the_checker_accepts_tours_and_rejects_mutations((instance, tour) in toured(), at in 0usize..40, to in 0usize..45) {
        let instance = Tsp::from(instance);
        prop_assert!(instance.check(&tour).is_ok());
        let at = at % tour.len();
        let mut changed = tour.clone();
        changed[at] = to;
        prop_assert_eq!(instance.check(&changed).is_ok(), to == tour[at]);
        let mut shorter = tour.clone();
        shorter.remove(at);
        prop_assert!(instance.check(&shorter).is_err());
        let mut longer = tour.clone();
        longer.insert(at, tour[at]);
        prop_assert!(instance.check(&longer).is_err());
    }

    #[test]
    fn the_checker_of_routes_accepts_solutions_and_rejects_mutations((instance, routes) in routed(), at in 0usize..40) {
        prop_assert!(instance.check(&routes).is_ok());
        prop_assert!(Sdvrp::from(instance.clone()).check(&routes).is_ok());
        let at = at % routes.len();
        let first = routes[0][0];
        let mutations: [&dyn Fn(&mut Routes); 5] = [
            &|routes| drop(routes.remove(at)),
            &|routes| drop(routes[at].drain(..1)),
            &|routes| routes[at].push(0),
            &|routes| routes[at].push(first),
            &|routes| routes[at][0] = instance.len(),
        ];
        for (number, mutate) in mutations.iter().enumerate() {
            let mut changed = routes.clone();
            mutate(&mut changed);
            prop_assert!(instance.check(&changed).is_err(), "mutation {}", number);
        }
        let total: f64 = instance.demands().iter().sum();
        let one = [routes.concat()];
        prop_assert_eq!(instance.check(&one).is_ok(), total <= instance.capacity());
        let longest = routes.iter().map(|route| instance.cost(std::slice::from_ref(route))).fold(0.0, f64::max);
        if longest > 1.0 {
            prop_assert!(instance.clone().with_limit(longest, 0.0).unwrap().check(&routes).is_ok());
            prop_assert!(instance.clone().with_limit(longest - 1.0, 0.0).unwrap().check(&routes).is_err());
        }
    }

    #[test]
    fn costs_of_routes_are_sums_and_files_keep_them((instance, routes) in routed()) {
        use regard_routing::formats::{sol, tsplib};
        let apart: f64 = routes.iter().map(|route| instance.cost(std::slice::from_ref(route))).sum();
        prop_assert_eq!(instance.cost(&routes), apart);
        let again: Cvrp = tsplib::parse(&tsplib::render(&instance).unwrap(), "law.vrp".as_ref()).unwrap();
        let solution = sol::parse(&sol::render(&routes, instance.cost(&routes)), "law.sol".as_ref(), again.sites()).unwrap();
        prop_assert_eq!((again.cost(&solution.routes), solution.stated_cost), (apart, Some(apart)));
    }

    #[test]
    fn tours_that_leave_nodes_out_are_checked_by_their_bounds((instance, routes) in routed(), at in 0usize..40) {
        let (sites, amounts) = (instance.sites().clone(), instance.demands().to_vec());
        let visits = &routes[at % routes.len()];
        let round = sites.tour_length(&[&[0], &visits[..]].concat());
        let tour = Op::new(sites.clone(), amounts.clone(), round.max(1.0)).unwrap();
        prop_assert_eq!(tour.length(visits), round);
        prop_assert!(tour.check(visits).is_ok());
        if round > 1.0 {
            prop_assert!(Op::new(sites.clone(), amounts.clone(), round - 1.0).unwrap().check(visits).is_err());
        }
        let prize = tour.prize(visits);
        let enough = Pctsp::new(sites.clone(), amounts.clone(), amounts.clone(), prize).unwrap();
        prop_assert!(enough.check(visits).is_ok());
        prop_assert_eq!(enough.cost(visits), round + amounts.iter().sum::<f64>() - prize);
        let more = Pctsp::new(sites, amounts.clone(), amounts, prize + 1.0).unwrap();
        prop_assert_eq!(more.check(visits).is_ok(), visits.len() + 1 == more.len());
        let twice = [&visits[..], &visits[..1]].concat();
        for bad in [twice, vec![0], vec![tour.len()]] {
            prop_assert!(tour.check(&bad).is_err() && enough.check(&bad).is_err());
        }
    }

    #[test]
    fn the_unit_square_is_filled_by_one_factor((instance, _) in toured()) {
        let (places, square) = (instance.places(), instance.unit_square());
        prop_assert!(square.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
        let extent = |k: usize| {
            let values = || places.iter().map(|p| p[k]);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        };
        let side = extent(0).max(extent(1));
        if side == 0.0 {
            prop_assert!(square.iter().flatten().all(|v| *v == 0.0));
        } else {
            for (a, b) in square.iter().zip(places).skip(1) {
                for k in 0..2 {
                    let (ours, theirs) = (f64::from(a[k] - square[0][k]), (b[k] - places[0][k]) / side);
                    prop_assert!((ours - theirs).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn tsplib_keeps_every_distance((instance, tour) in toured()) {
        use regard_routing::formats::{csv, tsplib};
        let options = csv::TableOptions::default();
        let tsp = Tsp::from(instance.clone());
        let again = match tsplib::render(&tsp) {
            Ok(text) => tsplib::parse::<Tsp>(&text, "law.tsp".as_ref()).unwrap().sites().clone(),
            Err(_) => {
                let read = csv::parse_instance(&csv::render(&tsp).unwrap(), "law.csv".as_ref(), &options);
                read.unwrap().0.sites().clone()
            }
        };
        prop_assert_eq!(again.metric(), instance.metric());
        prop_assert_eq!(again.tour_length(&tour), instance.tour_length(&tour));
    }

    #[test]
    fn numpy_integers_stay_in_their_range(seed in any::<u32>(), low in any::<i64>(), width in 1u64..) {
        let high = i64::try_from((i128::from(low) + i128::from(width)).min(i128::from(i64::MAX))).unwrap();
        prop_assume!(low < high);
        let mut random = NumpyLegacy::new(seed);
        for _ in 0..5 {
            let drawn = random.randint(low, high);
            prop_assert!(low <= drawn && drawn < high);
            prop_assert!((0.0..1.0).contains(&random.uniform()));
        }
    }

    #[test]
    fn generated_sets_are_prefixes_and_inside(seed in any::<u64>(), n in 0usize..30) {
        let many = generate::uniform(seed, 3, n);
        prop_assert_eq!(&many[..2], &generate::uniform(seed, 2, n)[..]);
        prop_assert!(many.iter().flatten().flatten().all(|v| (0.0..1.0).contains(v)));
    }
}
