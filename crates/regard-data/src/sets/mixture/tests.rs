use super::*;

fn two() -> Mixture {
    Mixture::new(vec![0.25, 0.75], vec![-1.0, 0.0, 2.0, 1.0], vec![0.5, 1.0, 1.5, 0.25]).unwrap()
}

#[test]
fn the_likelihood_by_hand() {
    let normal = |x: f64, mean: f64, deviation: f64| {
        (-0.5 * ((x - mean) / deviation).powi(2)).exp() / (deviation * std::f64::consts::TAU.sqrt())
    };
    let (x, y) = (0.5, 0.75);
    let density = 0.25 * normal(x, -1.0, 0.5) * normal(y, 0.0, 1.0) + 0.75 * normal(x, 2.0, 1.5) * normal(y, 1.0, 0.25);
    let found = two().mean_log_likelihood(&[x, y], LogWeights::Exact);
    assert!((found - density.ln()).abs() < 1e-12, "{found}");
    assert!(two().mean_log_likelihood::<f64>(&[], LogWeights::Exact).is_nan());
    // Far points do not underflow.
    assert!(two().mean_log_likelihood(&[1e6, 1e6], LogWeights::Exact).is_finite());
}

#[test]
fn a_component_of_no_weight_takes_no_point() {
    let mixture = Mixture::isotropic(vec![0.0, 1.0], vec![0.0, 3.0], &[1.0, 1.0]).unwrap();
    assert_eq!(mixture.assign(&[0.0f32, 3.0], LogWeights::Exact), [1, 1]);
    let alone = Mixture::isotropic(vec![1.0], vec![3.0], &[1.0]).unwrap();
    let likelihood = |mixture: &Mixture| mixture.mean_log_likelihood(&[0.0], LogWeights::Exact);
    assert_eq!(likelihood(&mixture), likelihood(&alone));
    assert!(mixture.mean_log_likelihood(&[-30.0], LogWeights::Repository) > likelihood(&alone) - 600.0);
}

#[test]
fn points_on_one_place_do_not_collapse() {
    let points = [1.0f32; 20];
    for components in [1, 3, 30] {
        let fitted = Em { floor: 0.1, ..Em::default() }.fit(&points, 2, components, 5, 2).unwrap();
        assert!(fitted.mixture.deviations().iter().all(|d| *d >= 0.1), "{fitted:?}");
        assert!(fitted.mean_log_likelihood.is_finite());
    }
    let none = Em { floor: 0.0, ..Em::default() }.fit(&points, 2, 2, 5, 1).unwrap();
    assert!(!none.mean_log_likelihood.is_nan());
}

#[test]
fn the_empty_set_changes_nothing() {
    assert_eq!(Em::default().step::<f32>(&two(), &[]), two());
    assert!(Em::default().fit::<f32>(&[], 2, 2, 1, 1).unwrap_err().to_string().starts_with("clustering: 2 components"));
    assert_eq!(Em::default().refine::<f32>(&two(), &[], 5, 0.0).steps, 1);
}

#[test]
fn isotropic_steps_stay_isotropic() {
    let em = Em { covariance: Covariance::Isotropic, ..Em::default() };
    let next = em.step(&two(), &[0.0, 0.0, 1.0, 1.0, 2.0, 0.5]);
    assert!(next.deviations().chunks(2).all(|d| d[0] == d[1]), "{next:?}");
    assert!((next.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn what_is_no_mixture_is_refused() {
    for (weights, means, deviations) in [
        (vec![], vec![], vec![]),
        (vec![1.0], vec![], vec![]),
        (vec![0.5, 0.5], vec![0.0; 3], vec![1.0; 3]),
        (vec![1.0], vec![0.0], vec![0.0]),
        (vec![1.0], vec![f64::NAN], vec![1.0]),
        (vec![0.5], vec![0.0], vec![1.0]),
        (vec![1.5, -0.5], vec![0.0; 2], vec![1.0; 2]),
        (vec![f64::NAN], vec![0.0], vec![1.0]),
    ] {
        assert!(Mixture::new(weights.clone(), means, deviations).is_err(), "{weights:?}");
    }
}
