//! Training on instances of the past.

use std::fs;
use std::path::Path;

use regard::routes::RouteExperiment;
use regard::routes::train::{Learner, Source};
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::registry::{NAMES, ProblemVisitor, with_problem};
use regard::routing::{Problem, SolverInstance};
use regard::{Device, Result};

/// The head of a CSV file of a problem, and the columns behind the coordinates.
fn layout(problem: &str) -> (&'static str, &'static str) {
    match problem {
        "tsp" => ("x,y", ""),
        "cvrp" => ("# capacity: 9\nx,y,demand", ",3"),
        "cvrptw" => ("# capacity: 9\nx,y,demand,ready,service", ",3,2,1"),
        "sdvrp" => ("# split: yes\n# capacity: 9\nx,y,demand", ",3"),
        "pdp" => ("x,y,pickup", ","),
        "op" => ("# max_length: 20\nx,y,prize", ",2"),
        "pctsp" => ("# required_prize: 4\nx,y,prize,penalty", ",2,1"),
        "spctsp" => ("# required_prize: 4\nx,y,prize,penalty,real_prize", ",2,1,3"),
        other => panic!("no layout for {other}"),
    }
}

/// Writes an instance of `nodes` places at (i, i² mod 7) behind a depot at (0, 0).
fn write(folder: &Path, name: &str, problem: &str, nodes: usize) {
    let (head, columns) = layout(problem);
    let mut text = format!("{head}\n0,0{}\n", columns.replace(|c: char| c.is_ascii_digit(), "0"));
    (1..=nodes).for_each(|i| text += &format!("{i},{}{columns}\n", i * i % 7));
    fs::write(folder.join(name), text).unwrap();
}

fn experiment(problem: &str, folder: &Path) -> RouteExperiment {
    let sets = [
        format!("task.problem={problem}"),
        format!("data.folder={}", folder.display()),
        "data.nodes=6".into(),
        "model.width=16".into(),
        "model.heads=2".into(),
        "model.layers=1".into(),
        "model.feedforward_width=16".into(),
        "train.batch_size=8".into(),
    ];
    RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap()
}

#[test]
fn every_problem_learns_from_its_files() {
    struct Steps(RouteExperiment);
    impl ProblemVisitor for Steps {
        type Output = Result<f64>;
        fn run<I: SolverInstance>(self) -> Result<f64> {
            let depot = usize::from(I::Problem::DEPOT);
            let drawn = Source::<I::Problem>::of(&self.0)?.draw(3, 4, 6)?;
            assert_eq!(drawn.len(), 4);
            assert!(drawn.iter().all(|problem| problem.nodes() == 6 + depot), "{}", I::Problem::NAME);
            let mut learner = Learner::<I::Problem>::new(&self.0, &Device::flex())?;
            learner.step()?;
            Ok(learner.step()?.cost)
        }
    }
    for problem in NAMES {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.csv", problem, 12);
        write(folder.path(), "b.csv", problem, 9);
        fs::write(folder.path().join("best_known.csv"), "name,bks\n").unwrap();
        let cost = with_problem(problem, Steps(experiment(problem, folder.path()))).unwrap();
        assert!(cost.unwrap().is_finite(), "{problem}");
    }
}

#[test]
fn nodes_keep_what_belongs_to_them_and_the_depot_stays_first() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (1..=9).map(|i| format!("{},0,{i}\n", 10 * i)).collect();
    fs::write(folder.path().join("a.csv"), format!("# capacity: 9\nx,y,demand\n0,90,0\n{rows}")).unwrap();
    let source = Source::<CvrpEnv>::of(&experiment("cvrp", folder.path())).unwrap();
    let drawn = source.draw(1, 50, 6).unwrap();
    for problem in &drawn {
        let features = problem.features();
        assert_eq!(features[..3], [0.0, 1.0, 0.0]);
        let mut seen: Vec<f32> = features[3..].chunks(3).map(|node| node[0]).collect();
        // Place i lies at i / 9 and wants i / 9 of a vehicle.
        assert!(features[3..].chunks(3).all(|node| (node[0] - node[2]).abs() < 1e-6));
        seen.sort_by(f32::total_cmp);
        seen.dedup();
        assert_eq!(seen.len(), 6, "each node once");
    }
    let again: Vec<Vec<f32>> = source.draw(1, 3, 6).unwrap().iter().map(Problem::features).collect();
    assert_eq!(again, drawn[..3].iter().map(Problem::features).collect::<Vec<_>>());
}

#[test]
fn folders_that_cannot_serve_say_why() {
    let message = |folder: &Path| Source::<CvrpEnv>::of(&experiment("cvrp", folder)).unwrap_err().to_string();
    let folder = tempfile::tempdir().unwrap();
    assert!(message(folder.path()).contains("holds no instances"));
    assert!(message(&folder.path().join("none")).contains("none"));
    write(folder.path(), "a.csv", "cvrp", 5);
    assert!(message(folder.path()).contains("has 5 nodes; expected at least 6"), "{}", message(folder.path()));
    write(folder.path(), "a.csv", "tsp", 9);
    let found = message(folder.path());
    assert!(found.contains("is an instance of `tsp`; expected instances of `cvrp`"), "{found}");
    fs::write(folder.path().join("a.csv"), "x,y\n1,z\n").unwrap();
    assert!(message(folder.path()).contains("a.csv:2"));
}
