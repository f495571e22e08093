//! A problem whose partial solutions are stepped together gives what the same problem gives whose solutions are stepped one
//! by one, to the bit.

use std::path::Path;
use std::sync::Arc;

use regard::nn::with_seed;
use regard::routes::decode::{Decode, DecodeOptions};
use regard::routes::environment::{BatchEnvironment, BatchInputs, BatchProblem, ProblemEnvironment};
use regard::routes::laws::{self, LawOptions};
use regard::routes::model::{AttentionModel, AttentionModelConfig};
use regard::routes::train::{InstanceSource, Learner, PolicyLearner};
use regard::routes::{RouteExperiment, environment::Environment};
use regard::routing::generate::GeneratorConfig;
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::problems::op::OpEnv;
use regard::routing::problems::sdvrp::SdvrpEnv;
use regard::routing::problems::tsp::TspEnv;
use regard::routing::{Problem, ProblemSpec, State};
use regard::{Device, Error, Result};

/// A problem with its rules called for whole batches.
struct Batched<P>(std::marker::PhantomData<fn() -> P>);

impl<P: Problem> Batched<P> {
    fn environment() -> BatchEnvironment<Self> {
        BatchEnvironment::new(Arc::new(Self(std::marker::PhantomData)))
    }
}

impl<P: Problem> BatchProblem for Batched<P> {
    type Instances = Vec<P>;
    type States = Vec<P::State>;

    fn spec(&self) -> &'static ProblemSpec {
        const { &ProblemSpec::of::<P>() }
    }

    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Vec<P>> {
        Ok(P::draw(config, seed, count, size))
    }

    fn size(&self, instances: &Vec<P>) -> [usize; 2] {
        [instances.len(), instances.first().map_or(0, P::nodes)]
    }

    fn select(&self, instances: &Vec<P>, places: &[u32]) -> Result<Vec<P>> {
        Ok(places.iter().map(|&at| instances[at as usize].clone()).collect())
    }

    fn views(&self, instances: &Vec<P>, views: usize) -> Result<Vec<P>> {
        Ok(instances.iter().flat_map(|one| (0..views).map(|view| one.view(view))).collect())
    }

    fn features(&self, instances: &Vec<P>) -> Result<Vec<f32>> {
        Ok(instances.iter().flat_map(P::features).collect())
    }

    fn costs(&self, instances: &Vec<P>, solutions: &[&[usize]]) -> Result<Vec<f64>> {
        Ok(instances.iter().zip(solutions).map(|(one, solution)| one.cost(solution)).collect())
    }

    fn reset(&self, instances: &Vec<P>) -> Result<(Self::States, Vec<bool>)> {
        let states: Vec<P::State> = instances.iter().map(P::start).collect();
        let done = states.iter().map(State::done).collect();
        Ok((states, done))
    }

    fn inputs(&self, states: &Self::States) -> Result<BatchInputs> {
        let mut inputs = BatchInputs::default();
        let count = NODES.with(std::cell::Cell::get);
        for state in states {
            let (mut allowed, mut scalars) = (vec![false; count], vec![0.0; P::SCALARS]);
            let mut dynamic = vec![0.0; if P::DYNAMIC { count } else { 0 }];
            state.allowed(&mut allowed);
            state.scalars(&mut scalars);
            state.dynamic(&allowed, &mut dynamic);
            inputs.allowed.extend(allowed);
            inputs.scalars.extend(scalars);
            inputs.dynamic.extend(dynamic);
        }
        Ok(inputs)
    }

    fn step(&self, mut states: Self::States, nodes: &[u32]) -> Result<(Self::States, Vec<bool>)> {
        states.iter_mut().zip(nodes).for_each(|(state, &node)| state.step(node as usize));
        let done = states.iter().map(State::done).collect();
        Ok((states, done))
    }

    fn select_states(&self, states: &Self::States, places: &[u32]) -> Result<Self::States> {
        Ok(places.iter().map(|&at| states[at as usize].clone()).collect())
    }
}

thread_local! {
    /// Nodes of the instances that a test looks at; states of the problems do not say.
    static NODES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn experiment<P: Problem>(more: &[&str]) -> RouteExperiment {
    let own = ["data.nodes=9", "train.batch_size=12", "train.epoch_size=48", "model.width=32", "model.heads=4"];
    let mut sets: Vec<String> = own.iter().chain(more).map(|&set| set.to_owned()).collect();
    sets.push(format!("task.problem={}", P::NAME));
    RouteExperiment::parse("", Path::new("batch"), &sets).unwrap()
}

fn decodes_alike<P: Problem>() {
    NODES.with(|nodes| nodes.set(9 + usize::from(P::DEPOT)));
    let device = Device::flex();
    let small = AttentionModelConfig { width: 32, heads: 4, layers: 2, ..AttentionModelConfig::regard_tsp() };
    let config = AttentionModelConfig { problem: P::NAME.into(), ..small };
    let model = with_seed(&device, 5, || AttentionModel::new(&config, &device)).expect("sizes fit");
    let (own, batched) = (ProblemEnvironment::<P>::default(), Batched::<P>::environment());
    let config = GeneratorConfig::default();
    let (one, other) = (own.draw(&config, 3, 11, 9).unwrap(), batched.draw(&config, 3, 11, 9).unwrap());
    for decode in [Decode::Greedy, Decode::Sample(3), Decode::Sample(6), Decode::MultiStart(None), Decode::Beam(4)] {
        for augment in [1, 8] {
            let options = DecodeOptions { decode, augment, ..DecodeOptions::default() };
            let expected = model.decode_in(&own, &one, &options).unwrap();
            let found = model.decode_in(&batched, &other, &options).unwrap();
            for (expected, found) in expected.iter().zip(&found) {
                assert_eq!((&expected.tour, expected.cost), (&found.tour, found.cost), "{} {decode:?}", P::NAME);
                assert_eq!(expected.log_likelihood.to_bits(), found.log_likelihood.to_bits(), "{decode:?}");
            }
        }
    }
}

#[test]
fn batches_are_decoded_to_the_same_bits() {
    decodes_alike::<CvrpEnv>();
    decodes_alike::<OpEnv>();
    decodes_alike::<SdvrpEnv>();
    decodes_alike::<TspEnv>();
}

fn trains_alike<P: Problem>(more: &[&str]) {
    NODES.with(|nodes| nodes.set(9 + usize::from(P::DEPOT)));
    let experiment = experiment::<P>(more);
    let mut own = Learner::<P>::new(&experiment, &Device::flex()).unwrap();
    let source = InstanceSource::in_environment(Batched::<P>::environment(), &experiment).unwrap();
    let mut batched = PolicyLearner::with_source(&experiment, source, &Device::flex()).unwrap();
    for _ in 0..4 {
        assert_eq!(own.step().unwrap(), batched.step().unwrap(), "{} {more:?}", P::NAME);
    }
    let weights = |model: AttentionModel| model.to_weights();
    let (own, batched) = (weights(own.evaluated().unwrap()), weights(batched.evaluated().unwrap()));
    assert!(own.iter().all(|(name, array)| array.data == batched[name].data), "{}", P::NAME);
}

#[test]
fn batches_are_trained_to_the_same_bits() {
    trains_alike::<CvrpEnv>(&["train.preset=\"regard-cvrp\""]);
    trains_alike::<CvrpEnv>(&["train.baseline=\"rollout\"", "train.num_starts=1", "train.baseline_instances=16"]);
    trains_alike::<SdvrpEnv>(&["train.first_node=\"given\""]);
    trains_alike::<TspEnv>(&[]);
}

#[test]
fn the_laws_hold_for_batches() {
    NODES.with(|nodes| nodes.set(8));
    let options = LawOptions { nodes: 7, instances: 6, seed: 3, learn: true, distances: false };
    for law in laws::check(&Batched::<CvrpEnv>::environment(), &options) {
        assert_eq!(law.broken, None, "{}", law.name);
    }
}

/// Vehicle routing with a fault.
struct Faulty(&'static str, Batched<CvrpEnv>);

impl BatchProblem for Faulty {
    type Instances = Vec<CvrpEnv>;
    type States = Vec<<CvrpEnv as Problem>::State>;

    fn spec(&self) -> &'static ProblemSpec {
        self.1.spec()
    }
    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Self::Instances> {
        self.1.draw(config, seed, if self.0 == "few" { count - 1 } else { count }, size)
    }
    fn size(&self, instances: &Self::Instances) -> [usize; 2] {
        self.1.size(instances)
    }
    fn select(&self, instances: &Self::Instances, places: &[u32]) -> Result<Self::Instances> {
        self.1.select(instances, places)
    }
    fn views(&self, instances: &Self::Instances, views: usize) -> Result<Self::Instances> {
        self.1.views(instances, views)
    }
    fn features(&self, instances: &Self::Instances) -> Result<Vec<f32>> {
        let mut features = self.1.features(instances)?;
        match self.0 {
            "short" => features.truncate(5),
            "features" => features[3] = f32::NAN,
            _ => {}
        }
        Ok(features)
    }
    fn costs(&self, instances: &Self::Instances, solutions: &[&[usize]]) -> Result<Vec<f64>> {
        let costs = self.1.costs(instances, solutions)?;
        Ok(if self.0 == "costs" { costs.iter().map(|_| f64::NAN).collect() } else { costs })
    }
    fn reset(&self, instances: &Self::Instances) -> Result<(Self::States, Vec<bool>)> {
        self.1.reset(instances)
    }
    fn inputs(&self, states: &Self::States) -> Result<BatchInputs> {
        let mut inputs = self.1.inputs(states)?;
        match self.0 {
            "forbids" => inputs.allowed[..10].fill(false),
            "rows" => inputs.scalars.truncate(1),
            "context" => inputs.scalars[0] = f32::INFINITY,
            "raises" => return Err(Error::Unsupported { what: "mask".into(), reason: "raised".into() }),
            _ => {}
        }
        Ok(inputs)
    }
    fn step(&self, states: Self::States, nodes: &[u32]) -> Result<(Self::States, Vec<bool>)> {
        let (states, done) = self.1.step(states, nodes)?;
        Ok((states, if self.0 == "endless" { done.iter().map(|_| false).collect() } else { done }))
    }
    fn select_states(&self, states: &Self::States, places: &[u32]) -> Result<Self::States> {
        self.1.select_states(states, places)
    }
}

#[test]
fn faults_of_the_rules_are_errors() {
    NODES.with(|nodes| nodes.set(10));
    let experiment = experiment::<CvrpEnv>(&[]);
    for (fault, expected) in [
        ("few", "12 instances were asked for, and there are 11"),
        ("short", "features of `cvrp`"),
        ("features", "a feature is not finite"),
        ("costs", "the cost of a solution is NaN"),
        ("forbids", "the mask of step 1 forbids every node"),
        ("rows", "contexts: found 1 rows"),
        ("context", "the context of step 1 has a number that is not finite"),
        ("raises", "mask: raised"),
        ("endless", "does not end"),
    ] {
        let environment = BatchEnvironment::new(Arc::new(Faulty(fault, Batched(std::marker::PhantomData))));
        let source = InstanceSource::in_environment(environment, &experiment).unwrap();
        let mut learner = PolicyLearner::with_source(&experiment, source, &Device::flex()).unwrap();
        let before = learner.evaluated().unwrap().to_weights();
        let error = learner.step().expect_err(fault).to_string();
        assert!(error.contains(expected), "{fault}: {error}");
        assert_eq!(learner.steps(), 0);
        let after = learner.evaluated().unwrap().to_weights();
        assert!(before.iter().all(|(name, array)| array.data == after[name].data), "{fault}");
    }
}
