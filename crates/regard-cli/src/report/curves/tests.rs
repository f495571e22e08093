use kuva::backend::svg::SvgBackend;

use super::*;

/// The records of a run as a folder holds them.
fn run(lines: &[String]) -> (tempfile::TempDir, Metrics) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("metrics.jsonl"), lines.join("\n")).unwrap();
    let metrics = Metrics::read(folder.path()).unwrap();
    (folder, metrics)
}

fn step(step: u64, cost: f64) -> String {
    let instances = 64 * step;
    let rest = r#""baseline":4.0,"grad_norm":0.6,"learning_rate":0.0001"#;
    format!(r#"{{"kind":"step","step":{step},"instances":{instances},"cost":{cost},{rest}}}"#)
}

fn valid(step: u64, cost: f64, updated: bool) -> String {
    let instances = 64 * step;
    let rest = format!(r#""cost":{cost},"baseline_updated":{updated}"#);
    format!(r#"{{"kind":"valid","step":{step},"instances":{instances},{rest}}}"#)
}

fn svg(title: &str, lines: &[String]) -> String {
    let (_folder, metrics) = run(lines);
    let svg = SvgBackend::new().render_scene(&scene(title, &metrics));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    svg
}

#[test]
fn the_picture_says_what_it_shows() {
    let mut lines: Vec<String> = (1..=200).map(|i| step(10 * i, 4.0 + 1.0 / i as f64)).collect();
    lines.push(valid(2000, 3.871, true));
    let svg = svg("<a & b>", &lines);
    assert!(svg.contains("&lt;a &amp; b&gt;"), "{svg}");
    for text in ["2,000 steps", "128,000 instances", "last validation 3.871", "gradient norm", "learning rate"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.contains("instances seen, thousands") && svg.contains("validation, new baseline"), "{svg}");
}

#[test]
fn a_run_that_has_hardly_begun_is_drawn() {
    for lines in [vec![step(1, 9.0)], vec![valid(0, 9.0, false)], vec![step(1, 9.0), step(2, 9.0)]] {
        assert!(svg("run", &lines).contains("cost"));
    }
    let failed = step(1, 9.0).replace("9", "null").replace("0.6", "null");
    assert!(!svg("run", &[failed]).contains("gradient norm"));
}

#[test]
fn long_runs_stay_small_pictures() {
    let lines: Vec<String> = (1..=30_000).map(|i| step(i, 4.0 + (i % 13) as f64 / 10.0)).collect();
    assert!(svg("run", &lines).len() < 200_000);
}

#[test]
fn the_result_names_the_last_validation() {
    let (folder, metrics) = run(&[step(50, 4.0), valid(50, 3.9, true), step(100, 3.8), valid(100, 3.85, false)]);
    let path = folder.path().join("curves.svg");
    draw(&path, "run", &metrics).unwrap();
    let drawn = Drawn::new(&path, &metrics);
    assert!(drawn.plain().ends_with("curves.svg: 100 steps, last validation 3.8500"), "{}", drawn.plain());
    let json = serde_json::to_value(&drawn).unwrap();
    assert_eq!((&json["steps"], &json["last_valid_cost"]), (&100.into(), &3.85.into()));
    assert!(path.is_file());
}
