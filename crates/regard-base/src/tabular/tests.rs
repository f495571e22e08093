//! Tests of learners and stacks on small data whose answer is known.

use std::cell::RefCell;
use std::rc::Rc;

use regard_data::cancel::{CancellationToken, Cancelled};
use regard_data::metrics::{accuracy, root_mean_squared_error};
use regard_data::progress::{self, Stage};
use regard_data::random::Draws;
use regard_data::stats::largest;

use super::*;

/// Standard normal features `[rows, columns]`.
fn normal(rows: usize, columns: usize, seed: u64) -> Vec<f32> {
    let mut draws = Draws::new(seed);
    (0..rows * columns).map(|_| draws.normal()[0] as f32).collect()
}

fn classes(of: Vec<usize>) -> Target {
    let count = of.iter().max().map_or(2, |most| most + 1).max(2);
    Target::Classes { of, count }
}

fn learners() -> Vec<Learner> {
    vec![
        Learner::Linear(LinearConfig::default()),
        Learner::Kernel(KernelConfig::new(Kernel::Rbf)),
        Learner::Forest(ForestConfig { trees: 100, ..ForestConfig::default() }),
        Learner::Forest(ForestConfig { trees: 100, extra: true, ..ForestConfig::default() }),
        Learner::Boosting(BoostingConfig::default()),
    ]
}

fn accuracy_of(learner: &Learner, view: &View, target: &Target, training: usize) -> f64 {
    let Target::Classes { of, count } = target else { panic!("classes") };
    let train: Vec<usize> = (0..training).collect();
    let test: Vec<usize> = (training..target.len()).collect();
    let model = learner.fit(view, target, &train, &Options::default()).unwrap();
    let predictions = model.predict(view, &test).unwrap();
    assert!(predictions.iter().all(|p| (0.0..=1.0).contains(p)));
    let predicted: Vec<usize> = predictions.chunks(*count).map(largest).collect();
    accuracy(&predicted, &of[training..])
}

#[test]
fn every_learner_separates_two_and_three_classes() {
    let x = normal(400, 4, 1);
    let view = View::new("x", x.clone(), 4).unwrap();
    let two = classes(x.chunks(4).map(|x| usize::from(x[0] + x[1] > 0.0)).collect());
    let three = classes(x.chunks(4).map(|x| usize::from(x[0] > -0.4) + usize::from(x[0] > 0.4)).collect());
    for learner in learners() {
        let found = (accuracy_of(&learner, &view, &two, 300), accuracy_of(&learner, &view, &three, 300));
        assert!(found.0 > 0.86 && found.1 > 0.8, "{learner:?}: {found:?}");
    }
}

#[test]
fn all_but_the_linear_model_learn_an_exclusive_or() {
    let x = normal(600, 2, 2);
    let view = View::new("x", x.clone(), 2).unwrap();
    let target = classes(x.chunks(2).map(|x| usize::from((x[0] > 0.0) != (x[1] > 0.0))).collect());
    for learner in &learners()[1..] {
        let found = accuracy_of(learner, &view, &target, 400);
        assert!(found > 0.85, "{learner:?}: {found}");
    }
    assert!(accuracy_of(&learners()[0], &view, &target, 400) < 0.65);
}

#[test]
fn every_learner_follows_a_rising_curve() {
    let x = normal(500, 3, 3);
    let view = View::new("x", x.clone(), 3).unwrap();
    let numbers: Vec<f64> =
        x.chunks(3).map(|x| 1000.0 + 50.0 * f64::from(x[0]) + 20.0 * f64::from(x[1]).tanh()).collect();
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..400).collect(), (400..500).collect());
    for learner in learners() {
        let model = learner.fit(&view, &Target::Numbers(numbers.clone()), &train, &Options::default()).unwrap();
        let error = root_mean_squared_error(&model.predict(&view, &test).unwrap(), &numbers[400..]);
        assert!(error < 16.0, "{learner:?}: {error}");
    }
}

#[test]
fn missing_values_that_say_something_are_used() {
    let mut x = normal(400, 2, 4);
    let mut of = Vec::new();
    for (at, row) in x.chunks_mut(2).enumerate() {
        of.push(usize::from(at % 3 == 0));
        if at % 3 == 0 {
            row[1] = f32::NAN;
        }
    }
    let view = View::new("x", x, 2).unwrap();
    for learner in [0, 2, 4].map(|at| learners()[at].clone()) {
        let found = accuracy_of(&learner, &view, &classes(of.clone()), 300);
        assert!(found > 0.95, "{learner:?}: {found}");
    }
}

#[test]
fn counts_have_kernels_of_their_own() {
    let mut draws = Draws::new(5);
    let mut x = Vec::new();
    let mut of = Vec::new();
    for at in 0..200 {
        of.push(at % 2);
        x.extend((0..60).map(|column| {
            let often = if column % 2 == at % 2 { 0.25 } else { 0.12 };
            if draws.unit() < often { 1.0 + f32::from(draws.unit() < 0.2) } else { 0.0 }
        }));
    }
    let view = View::new("counts", x, 60).unwrap();
    assert!(view.is_counts());
    for kernel in [Kernel::MinMax, Kernel::Cosine] {
        let found = accuracy_of(&Learner::Kernel(KernelConfig::new(kernel)), &view, &classes(of.clone()), 150);
        assert!(found > 0.7, "{kernel:?}: {found}");
    }
}

#[test]
fn the_order_of_columns_does_not_matter() {
    let x = normal(80, 6, 6);
    let turned: Vec<f32> = x.chunks(6).flat_map(|row| row.iter().rev().copied().collect::<Vec<_>>()).collect();
    let target = classes(x.chunks(6).map(|x| usize::from(x[0] - x[4] > 0.2)).collect());
    let numbers = Target::Numbers(x.chunks(6).map(|x| f64::from(x[0] - x[4])).collect());
    let views = [View::new("a", x, 6).unwrap(), View::new("b", turned, 6).unwrap()];
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..60).collect(), (60..80).collect());
    for learner in &learners()[..2] {
        for target in [&target, &numbers] {
            let [a, b] = [0, 1].map(|at| {
                let model = learner.fit(&views[at], target, &train, &Options::default()).unwrap();
                model.predict(&views[at], &test).unwrap()
            });
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 2e-2), "{learner:?} {a:?} {b:?}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_and_survive_being_written() {
    let x = normal(120, 5, 7);
    let of: Vec<usize> = x.chunks(5).map(|x| usize::from(x[0] * x[1] > 0.0) + usize::from(x[2] > 1.0)).collect();
    let views = [View::new("x", x, 5).unwrap()];
    let training: Vec<usize> = (0..100).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let target = classes(of.clone());
        let options = StackOptions { seed: 9, ..StackOptions::default() };
        pool.install(|| Stack::fit(&views, &target, &candidates(&views), &training, &options).unwrap())
    };
    let one = run(1);
    let all: Vec<usize> = (0..120).collect();
    let predictions = one.stack.predict(&views, &all).unwrap();
    for threads in [2, 4] {
        let other = run(threads);
        assert_eq!((&one.stack, &one.out_of_fold), (&other.stack, &other.out_of_fold));
    }
    let text = serde_json::to_string(&one.stack).unwrap();
    let read: Stack = serde_json::from_str(&text).unwrap();
    assert_eq!(read.predict(&views, &all).unwrap(), predictions);
    for learner in learners() {
        let model = learner.fit(&views[0], &classes(of.clone()), &training, &Options::default()).unwrap();
        let read: Model = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!(read.predict(&views[0], &all).unwrap(), model.predict(&views[0], &all).unwrap());
    }
}

#[test]
fn a_stack_takes_the_member_that_is_right() {
    let x = normal(300, 3, 8);
    let target = Target::Numbers(x.chunks(3).map(|x| 2.0 * f64::from(x[0]) - f64::from(x[1])).collect());
    let views = [View::new("noise", normal(300, 3, 9), 3).unwrap(), View::new("x", x, 3).unwrap()];
    let training: Vec<usize> = (0..250).rev().collect();
    let fit = Stack::fit(&views, &target, &candidates(&views), &training, &StackOptions::default()).unwrap();
    assert_eq!(fit.members[0].name, "linear of x");
    assert!(fit.members[0].weight > 0.9 && fit.left_out.is_empty(), "{:?}", fit.members);
    let test: Vec<usize> = (250..300).collect();
    let error = Metrics::of(&target.of(&test), &fit.stack.predict(&views, &test).unwrap()).rmse.unwrap();
    let out_of_fold = Metrics::of(&target.of(&training), &fit.out_of_fold).rmse.unwrap();
    assert!(error < 0.1 && (out_of_fold - fit.metrics.rmse.unwrap()).abs() < 0.02, "{error} {out_of_fold}");
}

#[test]
fn bags_are_told_by_one_of_their_instances() {
    // A bag is positive if one of its instances is far from the others.
    let mut draws = Draws::new(10);
    let (mut values, mut offsets, mut of) = (Vec::new(), vec![0], Vec::new());
    for bag in 0..160 {
        of.push(bag % 2);
        let size = 2 + draws.index(6);
        for at in 0..size {
            let shift = if bag % 2 == 1 && at == 0 { 4.0 } else { 0.0 };
            values.extend([draws.normal()[0] as f32 + shift, draws.normal()[0] as f32]);
        }
        offsets.push(offsets[bag] + size);
    }
    let views = [View::instances("bags", values, 2, offsets).unwrap()];
    let training: Vec<usize> = (0..120).collect();
    let target = classes(of);
    let fit = Stack::fit(&views, &target, &candidates(&views), &training, &StackOptions::default()).unwrap();
    assert!(fit.members[0].name.ends_with("(max)"), "{:?}", fit.members);
    let test: Vec<usize> = (120..160).collect();
    let metrics = Metrics::of(&target.of(&test), &fit.stack.predict(&views, &test).unwrap());
    assert!(metrics.roc_auc.unwrap() > 0.9 && metrics.loss < 0.45, "{metrics:?}");
}

fn stack(x: Vec<f32>, columns: usize, target: &Target) -> StackFit {
    let views = [View::new("x", x, columns).unwrap()];
    let training: Vec<usize> = (0..target.len()).collect();
    let fit = Stack::fit(&views, target, &candidates(&views), &training, &StackOptions::default()).unwrap();
    let predictions = fit.stack.predict(&views, &training).unwrap();
    assert!(predictions.iter().chain(&fit.out_of_fold).all(|value| value.is_finite()));
    fit
}

#[test]
fn one_class_leaves_the_constant() {
    let fit = stack(normal(20, 2, 11), 2, &Target::Classes { of: vec![1; 20], count: 2 });
    assert_eq!(fit.stack.weights().collect::<Vec<_>>(), [("constant", 1.0)]);
    assert_eq!(fit.left_out.len(), 4);
    assert!(fit.left_out[0].reason.contains("one class"), "{:?}", fit.left_out);
}

#[test]
fn a_class_rarer_than_folds_is_no_failure() {
    let mut of: Vec<usize> = (0..40).map(|at| at % 2).collect();
    of[7] = 2;
    let fit = stack(normal(40, 3, 12), 3, &Target::Classes { of, count: 3 });
    assert!(fit.members.len() == 5, "{:?}", fit.left_out);
    // A single positive: the fold that holds it has one class to train on.
    let fit = stack(normal(20, 2, 13), 2, &classes((0..20).map(|at| usize::from(at == 3)).collect()));
    assert!(fit.left_out.len() == 4 && fit.left_out[0].name == "linear of x");
}

#[test]
fn columns_that_say_nothing_are_named() {
    let target = classes((0..30).map(|at| at % 2).collect());
    for value in [0.0, 7.0, f32::NAN] {
        let fit = stack(vec![value; 90], 3, &target);
        assert!(fit.left_out.iter().all(|left| left.reason.contains("constant")), "{:?}", fit.left_out);
        assert!(fit.left_out.len() >= 4 || value == 0.0);
    }
}

#[test]
fn few_rows_and_many_columns_are_fitted() {
    let x = normal(12, 200, 14);
    let target = classes(x.chunks(200).map(|x| usize::from(x[0] > 0.0)).collect());
    let fit = stack(x.clone(), 200, &target);
    assert!(fit.members.len() > 3);
    stack(x[..400].to_vec(), 200, &Target::Numbers(vec![1.0, 2.0]));
    stack(x[..200].to_vec(), 200, &Target::Numbers(vec![1.0]));
    stack(x[..400].to_vec(), 200, &Target::Numbers(vec![3.0, 3.0]));
}

#[test]
fn huge_values_stay_finite() {
    let mut x = normal(60, 3, 15);
    x.iter_mut().step_by(3).for_each(|value| *value *= 1e37);
    x[1] = 1e38;
    x[4] = -3e38;
    let of: Vec<usize> = x.chunks(3).map(|x| usize::from(x[0] > 0.0)).collect();
    stack(x.clone(), 3, &classes(of));
    let numbers = x.chunks(3).map(|x| 1e30 * f64::from(x[0])).collect();
    let views = [View::new("x", x, 3).unwrap()];
    let target = Target::Numbers(numbers);
    for learner in learners() {
        let model = learner.fit(&views[0], &target, &(0..50).collect::<Vec<_>>(), &Options::default()).unwrap();
        let new = View::new("x", vec![3.4e38, -3.4e38, f32::NAN], 3).unwrap();
        assert!(model.predict(&new, &[0]).unwrap()[0].is_finite());
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let view = View::new("x", normal(10, 2, 16), 2).unwrap();
    let views = [view.clone()];
    let numbers = Target::Numbers(vec![1.0; 10]);
    let list = candidates(&views);
    let fit = |target: &Target, training: &[usize], list: &[Candidate]| {
        Stack::fit(&views, target, list, training, &StackOptions::default()).map_err(|error| error.to_string())
    };
    assert!(fit(&numbers, &[], &list).is_err());
    assert!(fit(&numbers, &[0, 0], &list).unwrap_err().contains("twice"));
    assert!(fit(&numbers, &[10], &list).is_err());
    assert!(fit(&Target::Numbers(vec![f64::NAN; 10]), &[1, 2], &list).is_err());
    assert!(fit(&Target::Numbers(vec![f64::INFINITY; 10]), &[1, 2], &list).is_err());
    assert!(fit(&Target::Numbers(vec![1.0; 9]), &[1, 2], &list).is_err());
    let unknown = [Candidate { view: "y".into(), ..list[0].clone() }];
    assert!(fit(&numbers, &[1, 2], &unknown).unwrap_err().contains("expected one of x"));
    let model = list[0].learner.fit(&view, &numbers, &[0, 1, 2], &Options::default()).unwrap();
    assert!(model.predict(&View::new("x", vec![0.0; 3], 3).unwrap(), &[0]).is_err());
    assert!(model.predict(&view, &[10]).is_err());
}

#[test]
fn members_that_fail_and_those_that_come_too_late_are_named() {
    let views = [View::new("x", normal(40, 2, 17), 2).unwrap()];
    let target = Target::Numbers((0..40).map(f64::from).collect());
    let small = Learner::Kernel(KernelConfig { max_rows: 10, ..KernelConfig::new(Kernel::Rbf) });
    let list = [Candidate { name: "small".into(), view: "x".into(), learner: small }];
    let training: Vec<usize> = (0..40).collect();
    let fit = Stack::fit(&views, &target, &list, &training, &StackOptions::default()).unwrap();
    assert_eq!(fit.left_out[0].name, "small");
    assert!(fit.left_out[0].reason.contains("at most 10"), "{:?}", fit.left_out);
    let options = StackOptions { deadline: Some(std::time::Instant::now()), ..StackOptions::default() };
    let fit = Stack::fit(&views, &target, &candidates(&views), &training, &options).unwrap();
    assert!(fit.left_out.len() == 4 && fit.left_out[0].reason.contains("deadline"));
}

#[test]
fn groups_are_held_out_together() {
    // A column that tells the group, and classes that are a group's own: known groups tell nothing of others.
    let group = |at: usize| at / 30;
    let mut draws = Draws::new(23);
    let of_group: Vec<usize> = (0..20).map(|_| (draws.bits() % 2) as usize).collect();
    let target = classes((0..600).map(|at| of_group[group(at)]).collect());
    let training: Vec<usize> = (0..600).collect();
    let view = View::new("x", (0..600).map(|at| (group(at) * 7 % 20) as f32).collect(), 1).unwrap();
    let loss = |view: View| {
        let views = [view];
        let fit = Stack::fit(&views, &target, &candidates(&views), &training, &StackOptions::default()).unwrap();
        target.loss(&fit.out_of_fold)
    };
    assert!(view.clone().grouped(vec![0; 3]).is_err());
    let grouped = loss(view.clone().grouped((0..600).map(|at| group(at) as u64).collect()).unwrap());
    let (one, rows) = (loss(view.clone().grouped(vec![5; 600]).unwrap()), loss(view));
    assert!(rows < 0.1 && grouped > 0.6, "{rows} {grouped}");
    assert_eq!(one.to_bits(), rows.to_bits());
}

#[test]
fn a_stack_reports_how_many_learners_are_fitted_and_can_be_cancelled_between_them() {
    let views = [View::new("x", normal(40, 2, 17), 2).unwrap()];
    let target = Target::Numbers((0..40).map(f64::from).collect());
    let training: Vec<usize> = (0..40).collect();
    let fit = || Stack::fit(&views, &target, &candidates(&views), &training, &StackOptions::default()).unwrap();
    let reported = Rc::new(RefCell::new(Vec::new()));
    let log = reported.clone();
    progress::watched(move |stage: Stage<'_>| log.borrow_mut().push(stage_of(stage)), fit);
    assert_eq!(*reported.borrow(), [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]);
    let token = CancellationToken::default();
    let switch = token.clone();
    let cancels = move |stage: Stage<'_>| {
        if stage_of(stage) == (2, 4) {
            switch.cancel();
        }
    };
    assert_eq!(token.run(|| progress::watched(cancels, fit)).unwrap_err(), Cancelled);
}

#[test]
fn a_fit_that_has_begun_ends_at_the_deadline() {
    let views = [View::new("x", normal(2000, 200, 17), 200).unwrap()];
    let target = classes((0..2000).map(|at| at % 2).collect());
    let training: Vec<usize> = (0..2000).collect();
    let rounds = BoostingConfig { rounds: 1_000_000, patience: 1_000_000, ..BoostingConfig::default() };
    let trees = ForestConfig { trees: 1_000_000, ..ForestConfig::default() };
    for learner in [Learner::Boosting(rounds), Learner::Forest(trees)] {
        let list = [Candidate { name: "endless".into(), view: "x".into(), learner }];
        let deadline = Some(std::time::Instant::now() + std::time::Duration::from_millis(50));
        let options = StackOptions { deadline, ..StackOptions::default() };
        let fit = Stack::fit(&views, &target, &list, &training, &options).unwrap();
        assert!(fit.left_out[0].reason.contains("deadline"), "{:?}", fit.left_out);
    }
}

fn stage_of(stage: Stage<'_>) -> (usize, usize) {
    let Stage::Fitting { done, of } = stage else { panic!("{stage:?}") };
    (done, of)
}

#[test]
fn balanced_classes_find_more_of_the_rare_one() {
    let x = normal(400, 2, 18);
    let mut draws = Draws::new(19);
    let of = x.chunks(2).map(|x| usize::from(f64::from(x[0]) + draws.normal()[0] > 2.0)).collect();
    let (view, target) = (View::new("x", x, 2).unwrap(), classes(of));
    let all: Vec<usize> = (0..400).collect();
    for learner in [0, 1, 4].map(|at| learners()[at].clone()) {
        let found = [false, true].map(|balanced| {
            let model = learner.fit(&view, &target, &all, &Options { balanced, seed: 1 }).unwrap();
            Metrics::of(&target, &model.predict(&view, &all).unwrap()).balanced_accuracy.unwrap()
        });
        assert!(found[1] > found[0] + 0.05, "{learner:?}: {found:?}");
    }
}
