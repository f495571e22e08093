//! Threads as ranks.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use burn::tensor::Device;
use proptest::prelude::*;

use super::*;
use crate::routes::RouteExperiment;
use crate::sets::{SetExperiment, Sets};
use crate::train::{Event, Limits, Trained, Training};

/// A rank that is a thread.
struct Thread {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Transport for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn machine(&self) -> String {
        "here".into()
    }

    fn send(&self, to: usize, message: &[u8]) {
        self.to[to].send(message.to_vec()).expect("a rank that receives");
    }

    fn receive(&self, from: usize, _: f64) -> Vec<u8> {
        self.from[from].recv().expect("a rank that sends")
    }

    fn abort(&self, _: u8) {}
}

/// The results of `run` on `size` ranks, each a thread.
pub(crate) fn on_ranks<R: Send>(size: usize, run: impl Fn() -> R + Sync) -> Vec<R> {
    let mut to: Vec<Vec<Sender<Vec<u8>>>> = (0..size).map(|_| vec![]).collect();
    let mut from: Vec<Vec<Receiver<Vec<u8>>>> = (0..size).map(|_| vec![]).collect();
    for sender in &mut to {
        for receivers in &mut from {
            let (send, receive) = channel();
            sender.push(send);
            receivers.push(receive);
        }
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = to
            .into_iter()
            .zip(from)
            .enumerate()
            .map(|(rank, (to, from))| {
                let run = &run;
                scope.spawn(move || Ranks::new(Thread { rank, to, from }).enter(run))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank that ends")).collect()
    })
}

/// Numbers whose sum depends on the order.
fn numbers(shard: usize, length: usize) -> Vec<f32> {
    (0..length).map(|i| ((shard * 7919 + i * 104_729) % 9973) as f32 * 10f32.powi((shard * 5 % 7) as i32 - 3)).collect()
}

fn sum(shards: usize) -> Vec<f32> {
    let shards = Ranks::current().shards(shards).unwrap();
    shards.sum(shards.mine().map(|shard| numbers(shard.index, 100)).collect())
}

proptest! {
    #[test]
    fn sums_have_the_same_bits_on_any_number_of_ranks(shards in 1usize..=24) {
        let expected = sum(shards);
        for size in (1..=shards).filter(|size| shards.is_multiple_of(*size)) {
            for found in on_ranks(size, || sum(shards)) {
                prop_assert!(found == expected, "{shards} shards on {size} ranks");
            }
        }
    }

    #[test]
    fn shards_cover_a_batch(count in 1usize..20, length in 0usize..50) {
        let places: Vec<usize> = (0..count).flat_map(|index| Shard { index, count }.range(length)).collect();
        prop_assert_eq!(places, (0..length).collect::<Vec<_>>());
    }
}

#[test]
fn all_ranks_get_the_messages_of_all() {
    for size in 1..=9 {
        let found = on_ranks(size, || {
            let ranks = Ranks::current();
            let first = ranks.broadcast(|| vec![42; 3]);
            let each = ranks.all_gather(vec![ranks.rank() as u8; ranks.rank()]);
            let any = ranks.decision(ranks.rank() + 1 == ranks.size(), |any| vec![u8::from(any)]);
            let spread = ranks.spread(2 * size, 13, |range| Ok(range.map(|at| at as f64).collect())).unwrap();
            let mut visited = vec![];
            ranks.each(13, |at| at as f64, |at, found| visited.push((at, found)));
            assert_eq!(visited, spread.iter().copied().enumerate().collect::<Vec<_>>());
            (first, each, any, spread)
        });
        let each: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8; rank]).collect();
        let spread: Vec<f64> = (0..13).map(f64::from).collect();
        assert!(found.iter().all(|one| *one == (vec![42; 3], each.clone(), vec![1], spread.clone())), "{size}");
    }
}

#[test]
fn ranks_that_differ_are_named() {
    let found = on_ranks(4, || {
        let ranks = Ranks::current();
        let settings = format!("[train]\nseed = {}\n", if ranks.rank() == 2 { 8 } else { 7 });
        let facts = [("number of threads", "2".to_owned()), ("settings", settings)];
        ranks.check_same(&facts).map_err(|error| error.to_string())
    });
    let expected = "rank 2 (here): has the settings `seed = 8`, but rank 0 (here) has `seed = 7`";
    assert!(found.iter().all(|one| one.as_ref().is_err_and(|error| error == expected)), "{found:?}");
    assert!(Ranks::default().check_same(&[("data", String::new())]).is_ok());
}

#[test]
fn ranks_that_do_not_divide_the_shards_are_refused() {
    for error in on_ranks(3, || Ranks::current().shards(8).err().map(|error| error.to_string())) {
        let expected = "`train.shards`: is 8, but there are 3 ranks; expected a multiple of 3";
        assert_eq!(error.as_deref(), Some(expected));
    }
    assert_eq!(Ranks::default().shards_of(0), 1);
    assert_eq!(on_ranks(2, || Ranks::current().shards_of(0)), [8, 8]);
    assert_eq!(on_ranks(1, || Ranks::current().shards_of(0)), [8], "one rank under mpirun agrees with several");
}

/// Networks and batches that take no time, in eight shards of unequal length: a training by its settings.
const ROUTES: [&[&str]; 8] = [
    &["train.preset=kool-2019", "train.baseline_warmup_epochs=1"],
    &["train.baseline=critic", "train.ema_decay=0", "model.norm=batch"],
    &["train.baseline=exponential", "model.norm=batch", "train.batch_size=5"],
    &["train.baseline=shared", "train.num_starts=3", "train.first_node=given", "data.nodes=[5, 9]"],
    &["train.baseline=none", "train.max_grad_norm=0"],
    &["train.loss=preference", "train.num_starts=4"],
    &["train.improved_tours=2", "data.nodes=14"],
    &["task.problem=cvrp", "train.preset=regard-cvrp", "train.loss=preference", "train.improved_tours=1"],
];

fn routes(sets: &[&str]) -> RouteExperiment {
    let small = [
        "data.nodes=7",
        "model.width=16",
        "model.heads=2",
        "model.layers=1",
        "model.feedforward_width=16",
        "train.batch_size=18",
        "train.epoch_size=72",
        "train.epochs=3",
        "train.baseline_instances=40",
        "train.log_steps=3",
        "train.shards=8",
        "eval.instances=30",
    ];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap()
}

/// Runs a training in `out` on so many ranks, to its end or for so many steps.
fn run<E: Clone + Sync>(
    train: impl Fn(&Training<E>) -> Result<Trained> + Sync,
    experiment: &E,
    out: &Path,
    [ranks, steps]: [usize; 2],
) {
    let done = on_ranks(ranks, || {
        let limits = Limits { steps: (steps > 0).then_some(steps as u64), ..Limits::default() };
        let resume = out.exists();
        // No rank looks before the others have looked.
        Ranks::current().all_gather(vec![]);
        let (experiment, out, command) = (experiment.clone(), out.to_owned(), String::new());
        train(&Training { experiment, out, resume, limits, command }).unwrap()
    });
    let same = |one: &Trained| (one.steps, one.validation_cost.to_bits(), one.ended);
    assert!(done.iter().all(|one| same(one) == same(&done[0])), "{done:?}");
}

fn train_routes(training: &Training<RouteExperiment>) -> Result<Trained> {
    crate::routes::train::train(training, &Device::flex(), &mut |_: &Event| {})
}

fn files(out: &Path) -> [Vec<u8>; 2] {
    ["model.safetensors", "metrics.jsonl"].map(|name| fs::read(out.join(name)).unwrap())
}

#[test]
fn policies_are_the_same_on_any_number_of_ranks_and_resumed_on_another() {
    for sets in ROUTES {
        let (experiment, folder) = (routes(sets), tempfile::tempdir().unwrap());
        let [alone, together, broken] = ["alone", "together", "broken"].map(|name| folder.path().join(name));
        train_routes(&Training {
            experiment: experiment.clone(),
            out: alone.clone(),
            resume: false,
            limits: Limits::default(),
            command: String::new(),
        })
        .unwrap();
        run(train_routes, &experiment, &together, [4, 0]);
        assert!(files(&together) == files(&alone), "{sets:?}");
        [[2, 3], [8, 7], [1, 0]].into_iter().for_each(|part| run(train_routes, &experiment, &broken, part));
        assert!(files(&broken) == files(&alone), "{sets:?}");
    }
}

#[test]
fn networks_on_sets_are_the_same_on_any_number_of_ranks() {
    let small = ["model.width=16", "model.heads=2", "train.batch_size=20", "train.steps_per_epoch=3", "train.epochs=2"];
    let sets: Vec<String> = small.iter().chain(&["train.shards=4"]).map(|set| (*set).to_owned()).collect();
    let experiment = SetExperiment::load("sets/max", &sets).unwrap();
    let train = |training: &Training<SetExperiment>| {
        crate::supervised::train::<Sets>(training, &Device::flex(), &mut |_: &Event| {})
    };
    let folder = tempfile::tempdir().unwrap();
    let outs = [1, 2, 4].map(|ranks| {
        let out = folder.path().join(ranks.to_string());
        run(train, &experiment, &out, [ranks, 0]);
        files(&out)
    });
    assert!(outs[0] == outs[1] && outs[0] == outs[2]);
}

#[test]
fn a_batch_of_one_shard_is_computed_as_one_piece() {
    let experiment = routes(&["train.preset=kool-2019", "train.shards=1"]);
    let open = routes(&["train.preset=kool-2019", "train.shards=0"]);
    let folder = tempfile::tempdir().unwrap();
    let [one, given] = [(open, "open"), (experiment, "one")].map(|(experiment, name)| {
        let out = folder.path().join(name);
        let (limits, command) = (Limits { steps: Some(5), ..Limits::default() }, String::new());
        train_routes(&Training { experiment, out: out.clone(), resume: false, limits, command }).unwrap();
        files(&out)
    });
    assert!(one == given);
}
