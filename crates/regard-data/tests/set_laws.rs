//! Laws of bags, splits, mixtures and metrics, on random ones.

use proptest::prelude::*;
use regard_data::metrics::{adjusted_rand_index, average_precision, ndcg, roc_auc};
use regard_data::sets::formats::{ReadOptions, csv};
use regard_data::sets::generate::{MaxRegression, Mixtures, Sizes};
use regard_data::sets::mixture::{Covariance, Em, LogWeights, Mixture};
use regard_data::sets::{Bags, FeatureNames, Labels, Standardiser};
use regard_data::split;

/// Bags of 0 to 5 rows with named features, some of them constant.
fn bags() -> impl Strategy<Value = Bags> {
    (1..6usize, prop::collection::vec(0..6usize, 1..8)).prop_flat_map(|(width, sizes)| {
        let rows: usize = sizes.iter().sum();
        let feature = prop_oneof![-1e3..1e3f32, Just(0.1f32)];
        prop::collection::vec(feature, rows * width).prop_map(move |features| {
            let names = FeatureNames::Named((0..width).map(|at| format!("f{at}")).collect());
            let mut offsets = vec![0];
            sizes.iter().for_each(|size| offsets.push(offsets[offsets.len() - 1] + size));
            let labels = Labels::Numbers((0..sizes.len()).map(|bag| (bag % 3) as f64).collect());
            Bags::new(names, features, offsets).and_then(|bags| bags.with_labels(labels)).unwrap()
        })
    })
}

/// A table of all rows in this order of rows and of columns.
fn table(bags: &Bags, rows: &[usize], columns: &[usize]) -> String {
    let Labels::Numbers(labels) = bags.labels().unwrap() else { panic!("labels are numbers") };
    let mut text = String::from("label,bag");
    columns.iter().for_each(|at| text.push_str(&format!(",{}", bags.names().name(*at))));
    for row in rows {
        let bag = bags.offsets().partition_point(|start| start <= row) - 1;
        text.push_str(&format!("\n{},b{bag}", labels[bag]));
        columns.iter().for_each(|at| text.push_str(&format!(",{}", bags.features()[row * bags.width() + at])));
    }
    text
}

/// The rows of a bag in a fixed order.
fn sorted(bags: &Bags, id: &str) -> Vec<Vec<u32>> {
    let bag = bags.ids().iter().position(|known| known == id).unwrap();
    let mut rows: Vec<Vec<u32>> =
        bags.bag(bag).chunks(bags.width()).map(|row| row.iter().map(|v| v.to_bits()).collect()).collect();
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neither_order_of_rows_nor_of_columns_matters(
        (bags, rows, columns) in bags().prop_filter("rows", |bags| bags.rows() > 0).prop_flat_map(|bags| {
            let rows = Just((0..bags.rows()).collect::<Vec<_>>()).prop_shuffle();
            let columns = Just((0..bags.width()).collect::<Vec<_>>()).prop_shuffle();
            (Just(bags), rows, columns)
        })
    ) {
        let named = |name: &str| Some(name.to_owned());
        let options = ReadOptions { group_by: named("bag"), target: named("label"), ..ReadOptions::default() };
        let path = "law.csv".as_ref();
        let straight: (Vec<usize>, Vec<usize>) = ((0..bags.rows()).collect(), (0..bags.width()).collect());
        let plain = csv::parse(&table(&bags, &straight.0, &straight.1), path, &options).unwrap();
        let mixed = csv::parse(&table(&bags, &rows, &columns), path, &options).unwrap();
        let mixed = mixed.align(plain.names()).unwrap();
        prop_assert_eq!(plain.rows(), bags.rows());
        // Values are written and read without loss.
        prop_assert_eq!(plain.features(), bags.features());
        prop_assert_eq!(mixed.len(), plain.len());
        for id in plain.ids() {
            prop_assert_eq!(sorted(&plain, id), sorted(&mixed, id));
        }
    }

    #[test]
    fn aligning_there_and_back_changes_nothing(
        (bags, order) in bags().prop_flat_map(|bags| {
            let order = Just((0..bags.width()).collect::<Vec<_>>()).prop_shuffle();
            (Just(bags), order)
        })
    ) {
        let other = FeatureNames::Named(order.iter().map(|at| bags.names().name(*at)).collect());
        let names = bags.names().clone();
        let there = bags.clone().align(&other).unwrap();
        prop_assert_eq!(there.names(), &other);
        prop_assert_eq!(there.align(&names).unwrap(), bags);
    }

    #[test]
    fn standard_features_have_mean_0_and_deviation_1_or_are_0(bags in bags()) {
        let training: Vec<usize> = (0..bags.len()).filter(|bag| bag % 2 == 0).collect();
        let rows: usize = training.iter().map(|bag| bags.size(*bag)).sum();
        prop_assume!(rows > 0);
        let standardiser = Standardiser::learn(&bags, &training).unwrap();
        let again = Standardiser::from_arrays(standardiser.mean().to_vec(), standardiser.deviation().to_vec()).unwrap();
        prop_assert_eq!(&again, &standardiser);
        let mut standard = bags.clone();
        standardiser.apply(&mut standard).unwrap();
        prop_assert!(standard.features().iter().all(|v| v.is_finite()));
        for at in 0..bags.width() {
            let values: Vec<f64> = training
                .iter()
                .flat_map(|bag| standard.bag(*bag).chunks(bags.width()).map(|row| f64::from(row[at])))
                .collect();
            let mean = values.iter().sum::<f64>() / rows as f64;
            let square = values.iter().map(|v| v * v).sum::<f64>() / rows as f64;
            prop_assert!(mean.abs() < 1e-4, "{mean}");
            let expected = if standardiser.deviation()[at] > 0.0 { 1.0 } else { 0.0 };
            prop_assert!((square - expected).abs() < 1e-3, "{square}");
        }
        // What is learnt does not depend on bags that are not for training.
        let alone = Standardiser::learn(&bags.select(&training), &(0..training.len()).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(alone, standardiser);
    }

    #[test]
    fn folds_are_even_in_size_and_in_every_class(
        (classes, k) in prop::collection::vec(0..4usize, 2..60).prop_flat_map(|classes| {
            let most = classes.len();
            (Just(classes), 2..=most)
        }),
        seed in any::<u64>(),
    ) {
        let folds = split::stratified_folds(&classes, k, seed).unwrap();
        prop_assert_eq!(folds.len(), k);
        let mut all = folds.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..classes.len()).collect::<Vec<_>>());
        let even = |counts: Vec<usize>| counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1;
        prop_assert!(even(folds.iter().map(Vec::len).collect()));
        for class in 0..4 {
            let count = |fold: &Vec<usize>| fold.iter().filter(|bag| classes[**bag] == class).count();
            prop_assert!(even(folds.iter().map(count).collect()));
        }
        prop_assert_eq!(split::others(classes.len(), &folds[0]).len(), classes.len() - folds[0].len());
    }

    #[test]
    fn holdouts_are_near_their_share_in_every_class(
        classes in prop::collection::vec(0..4usize, 2..60), fraction in 0.01..0.99f64, seed in any::<u64>()
    ) {
        let found = split::holdout(&classes, fraction, seed).unwrap();
        let mut all = [&found.training[..], &found.held_out].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..classes.len()).collect::<Vec<_>>());
        prop_assert!(!found.training.is_empty() && !found.held_out.is_empty());
        let share = found.held_out.len() as f64 / classes.len() as f64;
        for class in 0..4 {
            let count = |bags: &[usize]| bags.iter().filter(|bag| classes[**bag] == class).count() as f64;
            let exact = share * count(&(0..classes.len()).collect::<Vec<_>>());
            prop_assert!((count(&found.held_out) - exact).abs() < 1.0, "{class}");
        }
    }

    #[test]
    fn em_never_lowers_the_likelihood(
        points in prop::collection::vec(prop_oneof![-5.0..5.0f64, Just(1.0)], 1..40),
        means in prop::collection::vec(-5.0..5.0f64, 6),
        deviations in prop::collection::vec(0.05..3.0f64, 6),
        isotropic in any::<bool>(),
    ) {
        let points = &points[..points.len() / 2 * 2];
        prop_assume!(!points.is_empty());
        let em = Em {
            covariance: if isotropic { Covariance::Isotropic } else { Covariance::Diagonal },
            floor: 0.05,
            log_weights: LogWeights::Exact,
        };
        let mut mixture = if isotropic {
            Mixture::isotropic(vec![0.2, 0.3, 0.5], means, &deviations[..3]).unwrap()
        } else {
            Mixture::new(vec![0.2, 0.3, 0.5], means, deviations).unwrap()
        };
        for _ in 0..10 {
            let before = mixture.mean_log_likelihood(points, LogWeights::Exact);
            mixture = em.step(&mixture, points);
            let after = mixture.mean_log_likelihood(points, LogWeights::Exact);
            prop_assert!(after >= before - 1e-9, "{before} {after}");
            prop_assert!((mixture.weights().iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let refined = em.refine(&mixture, points, 50, 0.0);
        prop_assert!(refined.mean_log_likelihood >= mixture.mean_log_likelihood(points, LogWeights::Exact) - 1e-9);
        // Nobody's order of the points matters.
        let reversed: Vec<f64> = points.chunks(2).rev().flatten().copied().collect();
        let other = mixture.mean_log_likelihood(&reversed, LogWeights::Exact);
        prop_assert!((other - mixture.mean_log_likelihood(points, LogWeights::Exact)).abs() < 1e-9);
    }

    #[test]
    fn the_area_is_that_of_all_pairs(
        rows in prop::collection::vec((prop_oneof![(0..4i32).prop_map(f64::from), -1.0..1.0f64], any::<bool>()), 0..30)
    ) {
        let (scores, positive): (Vec<f64>, Vec<bool>) = rows.into_iter().unzip();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for (a, _) in scores.iter().zip(&positive).filter(|(_, p)| **p) {
            for (b, _) in scores.iter().zip(&positive).filter(|(_, p)| !**p) {
                wins += if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 };
                pairs += 1.0;
            }
        }
        let found = roc_auc(&scores, &positive);
        prop_assert_eq!(found.is_some(), pairs > 0.0);
        prop_assert!(found.is_none_or(|area| (area - wins / pairs).abs() < 1e-12));
        let precision = average_precision(&scores, &positive);
        prop_assert_eq!(precision.is_some(), positive.contains(&true));
        let share = positive.iter().filter(|p| **p).count() as f64 / positive.len() as f64;
        prop_assert!(precision.is_none_or(|p| p > 0.0 && p <= 1.0 + 1e-12));
        let level = average_precision(&vec![0.0; positive.len()], &positive);
        prop_assert!(level.is_none_or(|p| (p - share).abs() < 1e-12));
    }

    #[test]
    fn rankings_are_best_by_their_labels(
        labels in prop::collection::vec((0..5u8).prop_map(f64::from), 0..20), k in 1..10usize
    ) {
        prop_assert_eq!(ndcg(&labels, &labels, k), 1.0);
        let worst: Vec<f64> = labels.iter().map(|label| -label).collect();
        prop_assert!((0.0..=1.0).contains(&ndcg(&worst, &labels, k)));
    }

    #[test]
    fn names_of_clusters_do_not_matter(labels in prop::collection::vec((0..4usize, 0..3usize), 0..30)) {
        let (a, b): (Vec<usize>, Vec<usize>) = labels.into_iter().unzip();
        let renamed: Vec<usize> = a.iter().map(|label| 7 - label).collect();
        prop_assert_eq!(adjusted_rand_index(&a, &renamed), 1.0);
        let (index, swapped) = (adjusted_rand_index(&a, &b), adjusted_rand_index(&b, &renamed));
        prop_assert!((index - swapped).abs() < 1e-12 && index <= 1.0);
    }

    #[test]
    fn any_batch_can_be_drawn_alone(seed in any::<u64>(), batch in any::<u64>()) {
        let task = Mixtures { components: 3, sizes: Sizes::PerSet(0, 9) };
        prop_assert_eq!(task.batch(seed, batch, 3), task.batch(seed, batch, 3));
        prop_assert_ne!(task.batch(seed, batch, 3), task.batch(seed, batch.wrapping_add(1), 3));
        let numbers = |seed: u64| MaxRegression::paper().batch(seed, batch, 3);
        prop_assert_ne!(numbers(seed), numbers(seed.wrapping_add(1)));
    }
}
