//! Any bytes are a set of instances or refused; what is read is whole and within its bounds.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::routes::formats::kool::{self, KoolSet};

fuzz_target!(|bytes: &[u8]| {
    let Ok(set) = kool::parse(bytes, Path::new("fuzz.pkl")) else {
        return;
    };
    assert!(!set.is_empty());
    match set {
        KoolSet::Tsp(set) => set.iter().for_each(|points| in_square(points)),
        KoolSet::Cvrp(set) => {
            for instance in set {
                in_square(&instance.points);
                assert_eq!(instance.demands.len(), instance.points.len());
                assert!(instance.demands.iter().all(|d| *d <= instance.capacity));
            }
        }
        KoolSet::Orienteering(set) => {
            for instance in set {
                in_square(&instance.points);
                amounts(&instance.prizes, &instance.points);
                assert!(instance.max_length.is_finite());
            }
        }
        KoolSet::PrizeCollecting(set) => {
            for instance in set {
                in_square(&instance.points);
                amounts(&instance.penalties, &instance.points);
                amounts(&instance.prizes, &instance.points);
                amounts(&instance.real_prizes, &instance.points);
            }
        }
    }
});

fn in_square(points: &[[f32; 2]]) {
    assert!(!points.is_empty());
    assert!(points.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
}

fn amounts(values: &[f32], points: &[[f32; 2]]) {
    assert_eq!(values.len(), points.len());
    assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0));
}
