//! Every TSPLIB file of the shared data, its optimal tours, and how near local search comes to them.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use regard_routing::local_search::{LocalSearchOptions, improve};
use regard_routing::problems::tsp::Tsp;
use regard_routing::{Instance, formats};

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found.sort();
    found
}

/// Rows of `best_known.csv`, read by position of the header rather than by the reader under test.
fn listed(folder: &Path) -> Vec<(String, usize, f64)> {
    let text = std::fs::read_to_string(folder.join("best_known.csv")).unwrap();
    let mut rows = text.lines().map(|l| l.split(',').map(str::trim).collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let (name, dimension, bks) = (column("name"), column("dimension"), column("bks"));
    rows.filter(|row| row.len() == header.len())
        .map(|row| (row[name].to_owned(), row[dimension].parse().unwrap(), row[bks].parse().unwrap()))
        .collect()
}

#[test]
fn every_file_is_read_and_has_its_size_and_best_known_cost() {
    let Some(folder) = regard_testing::shared("data/routes/tsplib") else {
        return;
    };
    let table = listed(&folder);
    let all = files(&folder, ".tsp");
    assert!(!all.is_empty());
    for path in all {
        let read = formats::read_instance(&path).unwrap();
        let instance = read.sites();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (_, dimension, bks) = table.iter().find(|row| row.0 == stem).unwrap();
        assert_eq!((instance.len(), instance.best_known()), (*dimension, Some(*bks)), "{stem}");
        let identity: Vec<usize> = (0..instance.len()).collect();
        assert!(instance.tour_length(&identity) >= *bks, "{stem}");
        let square = instance.unit_square();
        assert_eq!(square.len(), instance.len());
        assert!(square.iter().flatten().all(|v| (0.0..=1.0).contains(v)), "{stem}");
        assert!(square.iter().flatten().any(|v| *v == 1.0), "{stem}");
    }
}

#[test]
fn every_optimal_tour_costs_its_best_known_value() {
    let Some(folder) = regard_testing::shared("data/routes/tsplib") else {
        return;
    };
    let tours = files(&folder.join("opt_tour"), ".tour");
    assert!(!tours.is_empty());
    for path in tours {
        let name = path.file_name().unwrap().to_str().unwrap();
        let stem = name.split('.').next().unwrap();
        let instance = formats::read_instance(folder.join(format!("{stem}.tsp"))).unwrap();
        let tour = formats::tour::read(&path, instance.sites()).unwrap();
        instance.check(&tour).unwrap();
        assert_eq!(Some(instance.value(&tour)), instance.best_known(), "{name}");
    }
}

#[test]
fn every_file_survives_being_written() {
    let Some(folder) = regard_testing::shared("data/routes/tsplib") else {
        return;
    };
    for path in files(&folder, ".tsp") {
        let instance: Instance = formats::read_instance(&path).unwrap();
        let text = instance.render("tsp").unwrap();
        let again: Tsp = formats::tsplib::parse(&text, &path).unwrap();
        let (again, instance) = (again.sites(), instance.sites());
        assert_eq!(again.ids(), instance.ids());
        let identity: Vec<usize> = (0..instance.len()).collect();
        assert_eq!(again.tour_length(&identity), instance.tour_length(&identity), "{}", path.display());
    }
}

#[test]
fn local_search_comes_within_half_a_percent_of_small_instances() {
    let Some(folder) = regard_testing::shared("data/routes/tsplib") else {
        return;
    };
    let options = LocalSearchOptions { perturbations_per_node: 10, ..LocalSearchOptions::default() };
    let mut gaps = vec![];
    for path in files(&folder, ".tsp") {
        let instance = formats::read_instance(&path).unwrap();
        let sites = instance.sites();
        let Some(best) = sites.best_known().filter(|_| sites.len() <= 200) else { continue };
        let mut tour: Vec<usize> = (0..sites.len()).collect();
        tour.shuffle(&mut Pcg64Mcg::seed_from_u64(7));
        let improvement = improve(sites, &mut tour, &options);
        instance.check(&tour).unwrap();
        assert!(improvement.after >= best, "{}: better than the best known", sites.name());
        gaps.push(improvement.after / best - 1.0);
    }
    if gaps.is_empty() {
        return regard_testing::skipped("no file of up to 200 places");
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!(mean <= 0.005, "mean gap {mean}");
}
