//! numpy's legacy generator against numpy.

use regard_data::random::NumpyLegacy;
use regard_testing::Golden;
use serde_json::Value;

/// Draws as the name of a tensor says: `uniform_*`, or `randint_LOW_HIGH`.
fn check(random: &mut NumpyLegacy, name: &str, expected: &[[u8; 8]], place: &str) {
    let range: Vec<i64> = name.split('_').filter_map(|part| part.parse().ok()).collect();
    for (at, bytes) in expected.iter().enumerate() {
        if let ([low, high], true) = (&range[..], name.starts_with("randint")) {
            assert_eq!(random.randint(*low, *high), i64::from_le_bytes(*bytes), "{place} {name} {at}");
        } else {
            let drawn = random.uniform().to_bits();
            assert_eq!(drawn, f64::from_le_bytes(*bytes).to_bits(), "{place} {name} {at}");
        }
    }
}

#[test]
fn golden_numpy_rng() {
    let Some(golden) = Golden::open_shared() else { return };
    for case in golden.cases("kool/numpy_rng") {
        let order = case.config["order"].as_array().unwrap();
        for seed in case.config["seeds"].as_array().unwrap() {
            let mut random = NumpyLegacy::new(u32::try_from(seed.as_u64().unwrap()).unwrap());
            for name in order.iter().map(|n| n.as_str().unwrap()) {
                let expected = case.bytes::<8>(&format!("output.seed{seed}.{name}"));
                check(&mut random, name, &expected, &case.name);
            }
        }
    }
}

/// Our own draws from numpy, made by `golden/numpy_legacy.py`.
#[test]
fn golden_numpy_own_draws() {
    let runs: Value = serde_json::from_str(include_str!("data/numpy_legacy.json")).unwrap();
    for run in runs["runs"].as_array().unwrap() {
        let seed = u32::try_from(run["seed"].as_u64().unwrap()).unwrap();
        let mut random = NumpyLegacy::new(seed);
        for draw in run["draws"].as_array().unwrap() {
            let values = draw["values"].as_array().unwrap().iter().map(|v| v.as_str().unwrap());
            if draw["kind"] == "uniform" {
                for hex in values {
                    let bits = u64::from_str_radix(hex, 16).unwrap();
                    assert_eq!(random.uniform().to_bits(), bits, "seed {seed}");
                }
            } else {
                let bound = |key: &str| draw[key].as_str().unwrap().parse::<i64>().unwrap();
                for decimal in values {
                    let drawn = random.randint(bound("low"), bound("high"));
                    assert_eq!(drawn.to_string(), decimal, "seed {seed} {draw}");
                }
            }
        }
    }
}
