//! Many customers in one route, and many routes to one customer: the bookkeeping that replaces looks at whole routes.

use std::cell::Cell;

use super::super::{
    recreate::Recreate,
    ruin::Ruin,
    splits::{FEW_STEPS, nearest_first, to_nearest},
};
use super::*;

/// Times that a problem owns, with a depot that closes so late that every customer alone is served in time.
struct OwnedWindows {
    ready: Vec<f64>,
    due: Vec<f64>,
    service: Vec<f64>,
}

impl OwnedWindows {
    fn random(seed: u64, sites: &Sites, width: f64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let ready: Vec<f64> = (0..sites.len()).map(|_| 4.0 * random.random::<f64>()).collect();
        let service: Vec<f64> = (0..sites.len()).map(|node| if node == 0 { 0.0 } else { 0.05 }).collect();
        let end = |node: usize| {
            let begin = ready[node].max(ready[0] + PACE * sites.distance(0, node));
            begin + width * random.random::<f64>()
        };
        let due: Vec<f64> = (0..sites.len()).map(end).collect();
        let back = |node: usize| due[node] + service[node] + PACE * sites.distance(node, 0);
        let last = (1..sites.len()).map(back).fold(due[0], f64::max);
        Self { due: [&[last], &due[1..]].concat(), ready, service }
    }

    fn windows(&self) -> Windows<'_> {
        Windows { ready: &self.ready, due: &self.due, service: &self.service, pace: PACE }
    }
}

const PACE: f64 = 1.5;

/// Routes along the curve, each looked at as a whole for every customer.
fn along_a_curve_as_a_whole(vrp: &Vrp) -> Vec<Vec<usize>> {
    let mut routes: Vec<Vec<usize>> = Vec::new();
    for node in curve::order(vrp.sites).into_iter().filter(|&node| node > 0) {
        match routes.last_mut() {
            Some(route) if vrp.allows(&[&route[..], &[node]].concat()) => route.push(node),
            _ => routes.push(vec![node]),
        }
    }
    routes
}

/// Savings between all customers, every joined route looked at as a whole; routes are not turned.
fn savings_as_a_whole(vrp: &Vrp) -> Vec<Vec<usize>> {
    let n = vrp.sites.len();
    let distances = Distances::new(vrp.sites, &mut Clock::new(None));
    let directed = !distances.are_symmetric();
    let of = |a: usize, b: usize| distances.of(a as Node, b as Node);
    let pairs = (1..n).flat_map(|a| (1..n).map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| if directed { a != b } else { a < b });
    let mut savings: Vec<_> = pairs.map(|(a, b)| (of(a, 0) + of(0, b) - of(a, b), a, b)).collect();
    savings.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut routes: Vec<Vec<usize>> = (0..n).map(|node| if node == 0 { vec![] } else { vec![node] }).collect();
    for (_, a, b) in savings.into_iter().take_while(|&(saving, ..)| saving > 0.0) {
        for (a, b) in [(a, b), (b, a)].into_iter().take(if directed { 1 } else { 2 }) {
            let into = routes.iter().position(|route| route.last() == Some(&a));
            let from = routes.iter().position(|route| route.first() == Some(&b));
            let Some((into, from)) = into.zip(from).filter(|(into, from)| into != from) else { continue };
            let joined = [&routes[into][..], &routes[from][..]].concat();
            if vrp.allows(&joined) {
                routes[from].clear();
                routes[into] = joined;
                break;
            }
        }
    }
    routes.retain(|route| !route.is_empty());
    routes
}

/// Routes to the nearest customer, stop by stop.
fn nearest_stop_by_stop(vrp: &Vrp) -> Vec<Vec<usize>> {
    let mut open = vrp.demands.to_vec();
    let (mut routes, mut route, mut room): (Vec<Vec<usize>>, Vec<usize>, f64) = (Vec::new(), Vec::new(), vrp.capacity);
    loop {
        let here = route.last().copied().unwrap_or(0);
        let wanting = (1..open.len()).filter(|&node| node != here && open[node] > 0.0);
        let next = wanting.min_by(|&a, &b| vrp.sites.distance(here, a).total_cmp(&vrp.sites.distance(here, b)));
        let fits = |&node: &usize| {
            let longer = [&route[..], &[node]].concat();
            route.is_empty() || room > 0.0 && vrp.within_limit(vrp.length(&longer), longer.len())
        };
        match next.filter(fits) {
            Some(node) => {
                let amount = open[node].min(room);
                (open[node], room) = (open[node] - amount, room - amount);
                route.push(node);
            }
            None if route.is_empty() => return routes,
            None => {
                routes.push(std::mem::take(&mut route));
                room = vrp.capacity;
            }
        }
    }
}

/// A problem whose customers want many full loads and a rest.
fn many_loads(seed: u64, customers: usize, kind: u8, loads: u32) -> Owned {
    let mut owned = Owned::random(seed, customers, kind & !1);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for demand in &mut owned.demands[1..] {
        *demand += owned.capacity * f64::from(random.random_range(0..=loads));
    }
    owned
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn departures_carried_along_give_the_routes_that_whole_looks_give(
        seed in any::<u64>(), customers in 0_usize..60, kind in 0_u8..8, width in 0.0..8.0, load in 3.0..100.0,
    ) {
        let owned = Owned::random(seed, customers, kind);
        let times = OwnedWindows::random(seed, &owned.sites, width);
        let vrp = Vrp { capacity: owned.capacity * load / 10.0, ..owned.vrp() };
        for vrp in [vrp.with_windows(times.windows()), vrp] {
            let curve = savings::along_a_curve(&vrp);
            prop_assert!(vrp.keeps(&curve));
            prop_assert_eq!(curve, along_a_curve_as_a_whole(&vrp));
        }
    }

    #[test]
    fn departures_kept_by_route_join_what_whole_looks_join(
        seed in any::<u64>(), customers in 0_usize..40, directed in any::<bool>(), width in 0.0..8.0, load in 3.0..100.0,
    ) {
        let owned = Owned::random(seed, customers, if directed { 4 } else { 0 });
        let times = OwnedWindows::random(seed, &owned.sites, width);
        let vrp = Vrp { capacity: owned.capacity * load / 10.0, ..owned.vrp() }.with_windows(times.windows());
        let joined = savings::construct(&vrp);
        prop_assert!(vrp.keeps(&joined));
        let sorted = |mut routes: Vec<Vec<usize>>| { routes.sort(); routes };
        prop_assert_eq!(sorted(joined), sorted(savings_as_a_whole(&vrp)));
    }

    #[test]
    fn full_loads_in_a_row_are_those_of_the_nearest_neighbour(
        seed in any::<u64>(), customers in 0_usize..20, kind in 0_u8..8, loads in 0_u32..6,
    ) {
        let owned = many_loads(seed, customers, kind, loads);
        let vrp = owned.vrp().with_split_deliveries();
        let found = nearest_first(&vrp, &mut Clock::new(None)).unwrap();
        prop_assert!(vrp.keeps(&found));
        prop_assert_eq!(found, nearest_stop_by_stop(&vrp));
    }

    #[test]
    fn full_loads_set_apart_change_no_search(
        seed in any::<u64>(), customers in 1_usize..20, kind in 0_u8..8, loads in 0_u32..4, iterations in 0_usize..300,
    ) {
        let owned = many_loads(seed, customers, kind, loads);
        let vrp = owned.vrp().with_split_deliveries();
        let start = construct(&vrp, None);
        let (whole, _) = search(&vrp, &start, &few(iterations), None);
        let (apart, _) = search_without_full_loads(&vrp, &start, &few(iterations), None);
        prop_assert!(vrp.keeps(&apart));
        prop_assert!((vrp.cost(&whole) - vrp.cost(&apart)).abs() < 1e-9, "{} {}", vrp.cost(&whole), vrp.cost(&apart));
        let (full, shared, demands) = splits::full_loads_apart(&vrp, &start);
        let rest = Vrp { demands: &demands, ..vrp };
        prop_assert!(rest.keeps(&shared));
        let stops = |routes: &[Vec<usize>]| routes.iter().flatten().count();
        prop_assert!(full.len() + stops(&shared) <= stops(&start));
    }
}

#[test]
fn a_hundred_thousand_customers_make_one_route_with_one_look_each() {
    let n = 100_001;
    let sites = Sites::euclidean("line", (0..n).map(|x| [x as f64, 0.0]).collect()).unwrap();
    let (demands, ready, service) = (vec![1.0; n], vec![0.0; n], vec![0.0; n]);
    let due = vec![2.0 * (n - 1) as f64; n];
    let vrp = Vrp::new(&sites, &demands, 1e9);
    let vrp = vrp.with_windows(Windows { ready: &ready, due: &due, service: &service, pace: 1.0 });
    // Whole looks would take five billion steps, and so would times of a plan that are formed at every stop.
    let routes = savings::along_a_curve(&vrp);
    assert_eq!((routes.len(), routes[0].len()), (1, n - 1));
    let (distances, visits) = (Distances::computed(&sites), Visits::whole(&demands));
    assert_eq!(Plan::new(&vrp, &distances, &visits, &routes).saved(), routes);
    assert_eq!(repair(&vrp, &routes), Some(routes));
}

#[test]
fn the_nearest_customer_is_looked_for_a_few_times_however_many_loads_it_wants() {
    for kind in [0, 2, 4] {
        let owned = many_loads(14, 30, kind, 1000);
        let vrp = owned.vrp().with_split_deliveries();
        let asked = Cell::new(0);
        let distance = |a, b| {
            asked.set(asked.get() + 1);
            vrp.sites.distance(a, b)
        };
        let routes = to_nearest(&vrp, NearestLeft::by_distance(31, distance), &mut Clock::new(None)).unwrap();
        assert!(routes.len() > 10_000 && vrp.keeps(&routes));
        assert!(asked.get() <= 3 * 31 * 31, "{}", asked.get());
    }
}

#[test]
fn the_clock_ends_a_walk_to_many_nearest_customers_only() {
    let mut over = Clock::new(Some(Instant::now()));
    for (customers, is_served) in [(50, true), (2 * FEW_STEPS, false)] {
        let owned = many_loads(15, customers, 0, 1);
        let vrp = owned.vrp().with_split_deliveries();
        assert_eq!(nearest_first(&vrp, &mut over).is_some(), is_served);
        let routes = construct(&vrp, Some(Instant::now()));
        assert!(vrp.keeps(&routes));
    }
}

#[test]
fn a_search_ends_a_few_iterations_after_it_is_cancelled() {
    let token = CancellationToken::default();
    let after = run_under(Some(token.clone()), || {
        let mut schedule = Schedule::new(None, 1000);
        (0..100).for_each(|_| assert!(schedule.go_on()));
        token.cancel();
        std::iter::from_fn(|| schedule.go_on().then_some(())).count()
    });
    assert!(after <= 8, "{after}");
}

#[test]
fn customers_stay_absent_once_the_clock_is_over() {
    let owned = Owned::random(16, 60, 0);
    let vrp = owned.vrp();
    let distances = Distances::new(vrp.sites, &mut Clock::new(None));
    let neighbours = Neighbours::new(vrp.sites, &distances, 20, Choice::Nearest, &mut Clock::new(None));
    let visits = Visits::whole(vrp.demands);
    for (deadline, left) in [(None, 0), (Some(Instant::now()), 60)] {
        let mut plan = Plan::new(&vrp, &distances, &visits, &[]);
        let mut ruin = Ruin::of(Vec::new(), (1..=60).collect());
        let mut recreate = Recreate::new(&plan).until(Clock::new(deadline));
        recreate.recreate(&mut plan, &mut ruin, &neighbours, &mut Pcg64Mcg::seed_from_u64(3));
        assert_eq!(ruin.absent.len(), left);
    }
}
