use super::*;

fn said(result: Result<Panel>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn changed_series_keep_what_is_known_beside_them() {
    let one = Series::new("a", 3, vec![1.0, 2.0]).with_covariates(vec![vec![5.0, 6.0].into()]).with_statics(vec![7.0]);
    let panel = Panel::with_names(Clock::steps(), vec![one], vec!["x".into()], vec!["y".into()]).unwrap();
    let panel = panel.with_labels(Some(Labels::Numbers(vec![9.0]))).unwrap();
    let other = panel.changed(|one| one.with_values(vec![-one.values()[0]])).unwrap();
    let one = &other.series()[0];
    assert_eq!((one.name(), one.start(), one.values()), ("a", 3, &[-1.0][..]));
    assert_eq!((&one.covariates()[0][..], one.statics()), (&[5.0, 6.0][..], &[7.0][..]));
    assert_eq!((other.covariates(), other.statics()), (panel.covariates(), panel.statics()));
    assert!(other.labels().is_some());
    assert!(panel.changed(|one| one.with_values(vec![0.0; 3])).is_err(), "the covariate ends before");
}

#[test]
fn what_does_not_fit_is_refused() {
    let one = || Series::new("a", 0, vec![1.0, 2.0]);
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let clock = Clock::steps;
    assert_eq!(said(Panel::new(clock(), vec![])), "panel: has no series, expected at least one");
    assert_eq!(said(Panel::new(clock(), vec![one(), one()])), "series `a`: occurs twice");
    let infinite = Series::new("a", 0, vec![f32::INFINITY]);
    assert_eq!(said(Panel::new(clock(), vec![infinite])), "series `a`: has a value that is infinite");
    assert_eq!(
        said(Panel::with_names(clock(), vec![one()], named(&["x"]), vec![])),
        "series `a`: has 0 covariates and 0 static features, expected 1 and 0"
    );
    let short = one().with_covariates(vec![vec![1.0].into()]);
    assert_eq!(
        said(Panel::with_names(clock(), vec![short], named(&["x"]), vec![])),
        "series `a`: has 1 values of `x`, expected at least 2"
    );
    let panel = Panel::new(clock(), vec![one()]).unwrap();
    assert_eq!(
        said(panel.clone().with_labels(Some(Labels::Numbers(vec![])))),
        "labels: are 0, expected one for each of 1 series"
    );
    assert_eq!(said(panel.select(&named(&["A"]))), "series `A`: is not in the file; there is `a`");
    assert_eq!(panel.select(&named(&["a"])).unwrap().names().collect::<Vec<_>>(), ["a"]);
}
