//! Every CVRPLIB, XML100 and OPLib file of the shared data, and the published solutions.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use regard_routing::formats::{self, sol, tsplib};
use regard_routing::problems::cvrp::Cvrp;
use regard_routing::problems::op::Op;

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let inside = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        inside(folder).filter(|path| path.is_dir()).flat_map(|folder| inside(&folder).collect::<Vec<_>>()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Rows of a table by the column `name`, read without the reader under test.
fn listed(table: &Path, name: &str, columns: &[&str]) -> HashMap<String, Vec<f64>> {
    let text = std::fs::read_to_string(table).unwrap();
    let mut rows = text.lines().map(|l| l.split(',').map(str::trim).collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &&str| header.iter().position(|h| h == name).unwrap();
    let (name, columns) = (column(&name), columns.iter().map(column).collect::<Vec<_>>());
    rows.map(|row| (row[name].to_owned(), columns.iter().map(|&c| row[c].parse().unwrap()).collect())).collect()
}

fn cvrp(path: &Path) -> Cvrp {
    let instance = formats::read_instance(path).unwrap();
    let found = instance.downcast_ref::<Cvrp>();
    found.unwrap_or_else(|| panic!("{}: read as {}", path.display(), instance.problem())).clone()
}

/// One route per customer, which every instance without a limit allows.
fn one_by_one(instance: &Cvrp) -> Vec<Vec<usize>> {
    (1..instance.len()).map(|node| vec![node]).collect()
}

fn check_against(instance: &Cvrp, row: &[f64], name: &str) {
    let [customers, capacity, best] = row else { panic!("{name}: {row:?}") };
    assert_eq!((instance.customers() as f64, instance.capacity()), (*customers, *capacity), "{name}");
    let routes = one_by_one(instance);
    instance.check(&routes).unwrap();
    assert!(instance.cost(&routes) >= *best, "{name}");
    assert!(instance.sites().unit_square().iter().flatten().all(|v| (0.0..=1.0).contains(v)), "{name}");
    let again: Cvrp = tsplib::parse(&tsplib::render(instance).unwrap(), Path::new(name)).unwrap();
    assert_eq!((again.cost(&routes), again.demands()), (instance.cost(&routes), instance.demands()), "{name}");
    assert_eq!(again.sites().ids(), instance.sites().ids(), "{name}");
}

#[test]
fn every_cvrplib_file_has_its_customers_capacity_and_best_known_cost() {
    let Some(folder) = regard_testing::shared("data/routes/cvrplib") else {
        return;
    };
    let table = listed(&folder.join("best_known.csv"), "name", &["customers", "capacity", "bks"]);
    for path in files(&folder, ".vrp") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let instance = cvrp(&path);
        check_against(&instance, &table[name], name);
        assert_eq!(instance.best_known(), Some(table[name][2]), "{name}");
    }
}

#[test]
fn every_published_solution_obeys_the_rules_and_costs_its_best_known_value() {
    let Some(folder) = regard_testing::shared("data/routes/cvrplib") else {
        return;
    };
    let table = listed(&folder.join("best_known.csv"), "name", &["bks"]);
    for path in files(&folder, ".sol") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let instance = cvrp(&path.with_extension("vrp"));
        let solution = sol::read(&path, instance.sites()).unwrap();
        instance.check(&solution.routes).unwrap();
        let cost = instance.cost(&solution.routes);
        assert_eq!((cost, solution.stated_cost), (table[name][0], Some(cost)), "{name}");
        let text = sol::render(&solution.routes, cost);
        assert_eq!(sol::parse(&text, &path, instance.sites()).unwrap(), solution, "{name}");
        for mutated in mutations(&solution.routes) {
            assert!(instance.check(&mutated).is_err(), "{name}");
        }
    }
}

/// Solutions that break one rule each.
fn mutations(routes: &[Vec<usize>]) -> Vec<Vec<Vec<usize>>> {
    let changed = |change: fn(&mut Vec<Vec<usize>>)| {
        let mut routes = routes.to_vec();
        change(&mut routes);
        routes
    };
    vec![
        changed(|routes| drop(routes.pop())),
        changed(|routes| drop(routes[0].drain(..1))),
        changed(|routes| routes[0].push(0)),
        changed(|routes| routes[0][0] = routes[1][0]),
        changed(|routes| routes[0][0] = 1_000_000),
        changed(|routes| *routes = vec![routes.concat()]),
    ]
}

#[test]
fn every_xml100_file_has_its_customers_capacity_and_best_known_cost() {
    let Some(folder) = regard_testing::shared("data/routes/xml100") else {
        return;
    };
    let table = listed(&folder.join("best_known.csv"), "name", &["customers", "capacity", "bks"]);
    let archive = std::fs::File::open(folder.join("xml100.tar.gz")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let mut read = 0;
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if path.extension().is_none_or(|e| e != "vrp") {
            continue;
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        check_against(&tsplib::parse(&text, &path).unwrap(), &table[name], name);
        read += 1;
    }
    assert_eq!(read, table.len());
}

#[test]
fn every_oplib_file_has_its_size_limit_and_score() {
    let Some(folder) = regard_testing::shared("data/routes/oplib") else {
        return;
    };
    let table = listed(&folder.join("ea4op.csv"), "instance", &["dimension", "cost_limit", "ea4op_score"]);
    let all = files(&folder, ".oplib");
    assert_eq!(all.len(), table.len());
    for path in all {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let read = formats::read_instance(&path).unwrap();
        let instance: &Op = read.downcast_ref().unwrap();
        let [dimension, limit, score] = table[name][..] else { panic!("{name}") };
        assert_eq!((instance.len() as f64, instance.max_length()), (dimension, limit), "{name}");
        assert_eq!(instance.best_known(), Some(score), "{name}");
        assert!(instance.prizes().iter().sum::<f64>() >= score, "{name}");
        let all: Vec<usize> = (1..instance.len()).collect();
        assert!(instance.check(&all).is_err() && instance.check(&[]).is_ok(), "{name}");
        let again: Op = tsplib::parse(&tsplib::render(instance).unwrap(), &path).unwrap();
        assert_eq!((again.length(&all), again.prizes()), (instance.length(&all), instance.prizes()), "{name}");
    }
}
