//! `regard train`, `eval` and `forecast` on time series.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{command, regard};

/// The settings of a small network.
const SMALL: [&str; 20] = [
    "--set",
    "data.path=waves.csv",
    "--set",
    "task.horizon=6",
    "--set",
    "model.look_back=24",
    "--set",
    "model.patch_len=6",
    "--set",
    "model.stride=3",
    "--set",
    "model.width=8",
    "--set",
    "model.heads=2",
    "--set",
    "model.feedforward_width=16",
    "--set",
    "model.layers=1",
    "--set",
    "train.epochs=2",
];

/// Months of two waves.
fn waves(folder: &Path, rows: usize) {
    let mut text = "month,up,down\n".to_owned();
    for month in 0..rows {
        let wave = (TAU * month as f64 / 12.0).sin();
        writeln!(text, "{}-{:02},{:.3},{:.3}", 1990 + month / 12, 1 + month % 12, 10.0 + wave, 5.0 - wave).unwrap();
    }
    fs::write(folder.join("waves.csv"), text).unwrap();
}

fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 240);
    let train = [&["train", "series/forecast", "--out", "run", "--json"][..], &SMALL].concat();
    let json = regard(folder.path(), &train).done().json();
    assert_eq!(json["ended"].as_str(), Some("complete"));
    folder
}

#[test]
fn a_model_is_trained_measured_and_asked() {
    let folder = trained();
    let on_file = regard(folder.path(), &["eval", "--model", "run", "--data", "waves.csv", "--json"]).done();
    assert!(on_file.err.contains("waves.csv: errors are those of its test rows"), "{on_file:?}");
    let refused = regard(folder.path(), &["eval", "--model", "run", "--data", "waves.csv", "--capacity", "5"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("--capacity applies only to models for routes"),
        "{refused:?}"
    );
    let json = regard(folder.path(), &["eval", "--model", "run", "--training-data", "--json"]).done().json();
    assert_eq!(on_file.json()["mse"], json["mse"]);
    for key in ["mse", "mae", "mse_paper", "mae_paper"] {
        assert!(json[key].as_f64().is_some_and(|value| value > 0.0 || key.starts_with("paper")), "{key}: {json}");
    }
    for row in ["naive", "seasonal_naive", "mean"] {
        assert!(json[row]["mse"].as_f64().is_some_and(|value| value >= 0.0), "{row}: {json}");
    }
    assert_eq!(json["by_step"].as_array().map(Vec::len), Some(6));
    // A network of two epochs is far from two sine waves, which base forecasters find.
    let [network, base, blend] = ["network", "base", "blend"].map(|part| json["blend"][part]["mase"].as_f64().unwrap());
    assert!(base < 0.2 * network && blend <= base + 1e-9, "{json}");
    assert!(fs::read_to_string(folder.path().join("run/README.md")).unwrap().contains("--only network"));
    let plain = regard(folder.path(), &["eval", "--model", "run", "--training-data"]).done().out;
    assert!(plain.contains("seasonal naive (12)") && plain.contains("MASE"), "{plain}");

    let args = ["forecast", "--model", "run", "waves.csv", "--horizon", "6", "--levels", "80,95", "--json"];
    let json = regard(folder.path(), &args).done().json();
    let first = &json["forecast"][0];
    assert_eq!((first["unique_id"].as_str(), first["ds"].as_str()), (Some("up"), Some("2010-01")));
    assert_eq!(json["forecast"].as_array().map(Vec::len), Some(12));
    assert!(first["intervals"][1]["low"].as_f64() <= first["intervals"][0]["low"].as_f64(), "{first}");
    let weights: f64 = json["members"].as_array().unwrap().iter().map(|one| one["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-6, "{json}");
    let off = |json: &Value| -> f64 {
        let rows = json["forecast"].as_array().unwrap().iter();
        let of_up = rows.filter(|row| row["unique_id"] == "up").map(|row| row["forecast"].as_f64().unwrap());
        of_up.enumerate().map(|(at, value)| (value - 10.0 - (TAU * at as f64 / 12.0).sin()).abs()).sum::<f64>() / 6.0
    };
    let alone = |part: &str| regard(folder.path(), &[&args[..], &["--only", part]].concat()).done().json();
    let [network, base] = [alone("network"), alone("base")];
    assert!(off(&json) < 0.001 && off(&base) < 0.1 * off(&network), "{json} {network} {base}");
    assert_eq!(network["members"][0]["name"], "network");
    let args = ["forecast", "--model", "run", "waves.csv", "--wide", "--out", "next.csv", "--plot", "next.svg"];
    regard(folder.path(), &args).done();
    let table = fs::read_to_string(folder.path().join("next.csv")).unwrap();
    assert!(table.starts_with("date,up,down\n2010-01,") && table.lines().count() == 7, "{table}");
    assert!(fs::read_to_string(folder.path().join("next.svg")).unwrap().contains("<path"));
}

#[test]
fn gaps_are_filled_and_odd_values_stand_out() {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 240);
    let train = |task: &str| {
        let task_set = format!("task.kind={task}");
        let args = [&["train", "series/forecast", "--out", task][..], &SMALL, &["--set", &task_set]].concat();
        regard(folder.path(), &args).done();
    };
    let text = fs::read_to_string(folder.path().join("waves.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[101] = "1998-05,,5".into();
    lines[151] = "2002-07,40,5".into();
    fs::write(folder.path().join("holes.csv"), lines.join("\n") + "\n").unwrap();
    train("imputation");
    let filled = regard(folder.path(), &["predict", "--model", "imputation", "holes.csv"]).done().out;
    let rows: Vec<&str> = filled.lines().collect();
    assert_eq!((rows[0], rows.len(), rows[100]), ("date,up,down", 241, "1998-04,11,4"));
    let value: f64 = rows[101].split(',').nth(1).unwrap().parse().unwrap();
    assert!((5.0..15.0).contains(&value), "{}", rows[101]);
    train("anomaly");
    let json = regard(folder.path(), &["predict", "--model", "anomaly", "holes.csv", "--json"]).done().json();
    let rows = json.as_array().unwrap();
    let score = |row: &&serde_json::Value| row["score"].as_f64().unwrap_or(0.0);
    let most = rows.iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap();
    assert_eq!((most["unique_id"].as_str(), most["ds"].as_str()), (Some("up"), Some("2002-07")));
    let other = regard(folder.path(), &["predict", "--model", "anomaly", "holes.csv", "--importance"]);
    assert!(other.code == Some(2) && other.err.contains("--importance"), "{other:?}");
}

/// Series of three kinds: waves, steps and waves that are twice as fast; some are short, and one value in ten is
/// missing.
fn kinds(folder: &Path, name: &str, series: std::ops::Range<usize>, labelled: bool) {
    let mut text = if labelled { "unique_id,ds,y,kind\n" } else { "unique_id,ds,y\n" }.to_owned();
    for one in series {
        let kind = one % 3;
        let rows = if one % 5 == 0 { 20 } else { 40 };
        for step in 0..rows {
            let turn = TAU * (step + 7 * one) as f64 / if kind == 2 { 6.0 } else { 12.0 };
            let value = if kind == 1 { turn.sin().signum() } else { turn.sin() };
            let value = if (step + one) % 10 == 3 { String::new() } else { format!("{:.3}", 3.0 + value) };
            let label = if labelled { [",wave", ",block", ",fast"][kind] } else { "" };
            writeln!(text, "{one},{step},{value}{label}").unwrap();
        }
    }
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn whole_series_are_classified() {
    let folder = tempfile::tempdir().unwrap();
    kinds(folder.path(), "kinds.csv", 0..90, true);
    kinds(folder.path(), "asked.csv", 90..96, false);
    kinds(folder.path(), "more.csv", 100..130, true);
    let of = ["--set", "data.path=kinds.csv", "--set", "data.label=kind", "--set", "model.look_back=30"];
    let more = ["train.epochs=60", "train.learning_rate=0.003", "train.batch_size=8", "model.dropout=0.1"];
    let more: Vec<&str> = more.iter().flat_map(|set| ["--set", set]).collect();
    let small = [&of[..], &SMALL[6..18], &more].concat();
    let train = [&["train", "series/classify", "--out", "run", "--json"][..], &small].concat();
    assert_eq!(regard(folder.path(), &train).done().json()["ended"].as_str(), Some("complete"));
    for (file, least) in [(&["--training-data"][..], 0.6), (&["--data", "more.csv"], 0.8)] {
        let json = regard(folder.path(), &[&["eval", "--model", "run", "--json"][..], file].concat()).done().json();
        assert!(json["accuracy"].as_f64().is_some_and(|accuracy| accuracy > least), "{json}");
    }
    let table = regard(folder.path(), &["predict", "--model", "run", "asked.csv"]).done().out;
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!((rows[0], rows.len()), ("id,rows,prediction,p(block),p(fast),p(wave)", 7));
    assert!(rows[1].starts_with("90,20,wave,") && rows[3].starts_with("92,40,fast,"), "{table}");
    let json = regard(folder.path(), &["predict", "--model", "run", "asked.csv", "--json"]).done().json();
    assert_eq!(json[1]["prediction"].as_str(), Some("block"));
    let explained = regard(folder.path(), &["explain", "asked.csv", "--model", "run", "--example", "91", "--json"]);
    let trace = explained.done().json();
    assert_eq!(trace["input"].as_str(), Some("series 91"), "{trace}");
    let scores = trace["steps"].as_array().and_then(|steps| steps.last()).unwrap();
    assert_eq!((&scores["name"], &scores["axes"][0]["name"]), (&"network".into(), &"class".into()), "{scores}");
    assert_eq!(scores["axes"][0]["labels"], serde_json::json!(["block", "fast", "wave"]));
    let refused = regard(folder.path(), &["forecast", "asked.csv", "--model", "run", "--horizon", "3"]);
    assert!(refused.code == Some(2) && refused.err.contains("classification"), "{refused:?}");
    let refused = regard(folder.path(), &[&["eval", "series/classify", "--id", "kind"][..], &small].concat());
    let expected = "--id names a column of --data, not of the EXPERIMENT";
    assert!(refused.code == Some(2) && refused.err.contains(expected), "{refused:?}");
    let eval = [&["eval", "series/classify", "--folds", "3", "--json"][..], &small].concat();
    let json = regard(folder.path(), &eval).done().json();
    assert_eq!((json["series"].as_u64(), json["folds"].as_u64()), (Some(90), Some(3)));
    assert!(json["accuracy"].as_f64().is_some_and(|accuracy| accuracy > 0.6), "{json}");
    assert!((json["majority"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn series_without_classes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    kinds(folder.path(), "asked.csv", 0..6, false);
    kinds(folder.path(), "kinds.csv", 0..30, true);
    fs::write(folder.path().join("alike.csv"), "unique_id,ds,y,class\n1,1,5,a\n1,2,5,a\n2,1,5,a\n2,2,6,a\n").unwrap();
    fs::write(folder.path().join("odd.csv"), "unique_id,ds,y,class\n1,1,5,a\n1,2,5,b\n").unwrap();
    let path = "data.path=kinds.csv";
    for (sets, expected) in [
        (vec!["data.path=asked.csv"], "`class`"),
        (vec!["data.path=odd.csv"], "odd.csv:3: field `class`: found the label `b`, the series has `a` on line 2"),
        (vec!["data.path=alike.csv"], "`class` has one class, `a`; expected at least 2"),
        (vec!["data.path=alike.csv"], "alike.csv"),
        (vec![path, "data.label=kind", "data.split=rows"], "`data.split`"),
        (vec![path, "data.label=''"], "`data.label`: is empty; expected the column of classes"),
        (vec![path, "data.label=kind", "task.kind=forecast"], "is not used for forecast"),
    ] {
        let mut args = vec!["train", "series/classify", "--out", "run"];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let refused = regard(folder.path(), &args);
        assert!(refused.code == Some(2) && refused.err.contains(expected), "{sets:?}: {}", refused.err);
    }
}

#[test]
fn forecasts_are_back_tested() {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 240);
    let eval = |more: &[&str]| {
        let args = [&["eval", "series/forecast", "--windows", "3"][..], &SMALL, more].concat();
        regard(folder.path(), &args)
    };
    for more in [&["--json"][..], &["--json", "--refit"]] {
        let json = eval(more).done().json();
        let origins = json["origins"].as_array().unwrap();
        let from: Vec<_> = origins.iter().map(|origin| origin["from"].as_str().unwrap()).collect();
        assert_eq!(from, ["2008-07", "2009-01", "2009-07"]);
        assert!(origins.iter().all(|origin| origin["network"]["mase"].as_f64().is_some_and(f64::is_finite)), "{json}");
        let mase = |origin: &Value, part: &str| origin[part]["mase"].as_f64().unwrap();
        assert!(origins.iter().all(|origin| mase(origin, "blend") <= mase(origin, "network")), "{json}");
    }
    let json = eval(&["--json", "--step-size", "2"]).done().json();
    let from: Vec<_> =
        json["origins"].as_array().unwrap().iter().map(|origin| origin["from"].as_str().unwrap()).collect();
    assert_eq!((from, json["step_size"].as_u64()), (vec!["2009-03", "2009-05", "2009-07"], Some(2)));
    let folds = regard(folder.path(), &[&["eval", "series/forecast", "--folds", "3"][..], &SMALL].concat());
    assert!(folds.code == Some(2) && folds.err.contains("--windows"), "{}", folds.err);
    let without = eval(&["--json", "--set", "eval.blend=false"]).done().json();
    assert!(without["origins"][0].get("blend").is_none(), "{without}");
    let table = eval(&[]).done().out;
    assert!(table.contains("2009-07") && table.lines().last().unwrap().starts_with("mean"), "{table}");
    let many = regard(folder.path(), &[&["eval", "series/forecast", "--windows", "40"][..], &SMALL].concat());
    assert_eq!(many.code, Some(2));
    assert!(many.err.contains("--windows") && many.err.contains("240 rows"), "{}", many.err);
}

#[test]
fn a_file_is_forecast_without_a_model() {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 120);
    let args = ["forecast", "waves.csv", "--horizon", "6", "--time", "5s", "--levels", "90", "--json"];
    let json = regard(folder.path(), &[&args[..], &["--keep-backtest", "kept.csv"]].concat()).done().json();
    let kept = fs::read_to_string(folder.path().join("kept.csv")).unwrap();
    let lines: Vec<&str> = kept.lines().collect();
    assert_eq!((lines.len(), lines[0]), (13, "unique_id,ds,cutoff,y,forecast"));
    assert!(lines[1].starts_with("up,1999-07,1999-06,10,") && lines[12].starts_with("down,1999-12,1999-06,"), "{kept}");
    assert_eq!(json["forecast"][0]["ds"].as_str(), Some("2000-01"));
    for key in ["mase", "smape", "seasonal_naive_mase", "naive_mase"] {
        assert!(json["backtest"][key].as_f64().is_some_and(f64::is_finite), "{key}: {json}");
    }
    let pinball = &json["backtest"]["pinball"];
    let quantiles = pinball["quantiles"].as_array().unwrap();
    let of = |key: &str| quantiles.iter().map(|one| one[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert!(of("quantile").iter().zip([0.05, 0.5, 0.95]).all(|(found, level)| (found - level).abs() < 1e-9), "{json}");
    assert!((pinball["mean"].as_f64().unwrap() - of("loss").iter().sum::<f64>() / 3.0).abs() < 1e-9, "{json}");
    // The loss of the median is half of the mean absolute error, which the written back-test gives as well.
    let off: f64 = lines[1..]
        .iter()
        .map(|line| {
            let fields: Vec<f64> = line.split(',').skip(3).map(|field| field.parse().unwrap()).collect();
            (fields[0] - fields[1]).abs() / 12.0
        })
        .sum();
    assert!((of("loss")[1] - off / 2.0).abs() < 1e-4 * (1.0 + off), "{off}: {json}");
}

#[test]
fn tables_of_shops_are_read_as_people_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "Date,Store,Units\n".to_owned();
    for day in 0..90 {
        let (month, of_month) = (1 + day / 28, 1 + day % 28);
        // Every other day is written with a zero in front.
        let date =
            if day % 2 == 0 { format!("{month:02}/{of_month}/2021") } else { format!("{month}/{of_month:02}/2021") };
        for store in ["north", "south"] {
            writeln!(text, "{date},{store},{}", 20 + 5 * (day % 7) + usize::from(store == "south")).unwrap();
        }
    }
    text += "04/6/2021,north,99\n";
    fs::write(folder.path().join("units.csv"), &text).unwrap();
    let ask = ["forecast", "units.csv", "--horizon", "7", "--only", "base", "--json"];
    let twice = regard(folder.path(), &ask);
    assert!(twice.code == Some(2) && twice.err.contains("--duplicates mean"), "{twice:?}");
    let said = regard(folder.path(), &[&ask[..], &["--duplicates", "last"]].concat()).done();
    assert!(said.err.contains("`Store` names the series, `Units` has their values"), "{said:?}");
    assert!(said.err.contains("1 row of a stamp seen before, merged"), "{said:?}");
    assert_eq!(said.json()["forecast"][0]["ds"], "4/7/2021");
    let german = text.replace(',', ";").replace("Units", "Menge").replace("Date", "Datum").replace('\n', ",5\n");
    let german = german.replacen("Menge,5", "Menge", 1);
    fs::write(folder.path().join("mengen.csv"), german).unwrap();
    let half = [&["forecast", "mengen.csv"], &ask[2..], &["--duplicates", "last"]].concat();
    let half = regard(folder.path(), &half).done();
    assert!(half.err.contains("numbers have a decimal comma"), "{half:?}");
    let value = |json: &Value| json["forecast"][0]["forecast"].as_f64().unwrap();
    assert!((value(&half.json()) - value(&said.json()) - 0.5).abs() < 0.1, "{half:?}");
    let weekly = [&ask[..], &["--duplicates", "mean", "--frequency", "fortnight"]].concat();
    let unknown = regard(folder.path(), &weekly);
    assert!(unknown.code == Some(2) && unknown.err.contains("fortnight"), "{unknown:?}");
}

#[test]
fn faults_have_a_way_out() {
    let folder = trained();
    let fails = |args: &[&str]| {
        let said = regard(folder.path(), args);
        assert_eq!(said.code, Some(2), "{said:?}");
        said.err
    };
    let far = fails(&["forecast", "--model", "run", "waves.csv", "--horizon", "7"]);
    assert!(far.contains("--horizon") && far.contains("1 to 6") && far.contains("hint"), "{far}");
    let level = fails(&["forecast", "--model", "run", "waves.csv", "--levels", "99.9"]);
    assert!(level.contains("99.9") && level.contains("at most 95"), "{level}");
    let level = fails(&["forecast", "--model", "run", "waves.csv", "--levels", "80,98"]);
    assert!(level.contains("at least 49 validation windows") && level.contains("hint: give a lower level"), "{level}");
    let none = fails(&["forecast", "waves.csv"]);
    assert!(none.contains("--horizon"), "{none}");
    fs::write(folder.path().join("short.csv"), "month,up,down\n1990-01,1,2\n1990-02,1,2\n1990-03,1,2\n").unwrap();
    let short = fails(&["forecast", "short.csv", "--horizon", "6", "--only", "network"]);
    assert!(short.contains("short for") || short.contains("3 rows") || short.contains("no rows"), "{short}");
    let without = regard(folder.path(), &["forecast", "short.csv", "--horizon", "6"]);
    assert!(without.code == Some(0) && without.err.contains("network: "), "{without:?}");
    fs::write(folder.path().join("words.csv"), "month,up\n1990-01,1\n1990-02,two\n").unwrap();
    let words = fails(&["forecast", "words.csv", "--horizon", "6"]);
    assert!(words.contains("words.csv:3") && words.contains("`up`"), "{words}");
    fs::write(folder.path().join("dates.csv"), "month,up\n1990-01,1\n1990-02,2\nsoon,3\n").unwrap();
    let dates = fails(&["forecast", "dates.csv", "--horizon", "6"]);
    assert!(dates.contains("dates.csv:4"), "{dates}");
}

#[test]
fn the_shipped_model_of_a_transformer_sees_its_day_and_night() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n".to_owned();
    // Fourteen days of a load that comes and goes with the day.
    let load = |hour: usize| 7.0 + 5.0 * (TAU * hour as f64 / 24.0).sin();
    for hour in 0..336 {
        let (day, clock) = (1 + hour / 24, hour % 24);
        let x = load(hour);
        writeln!(text, "2018-05-{day:02} {clock:02}:00:00,{x},{},{x},{},3,1,15", x / 3.0, x / 9.0).unwrap();
    }
    fs::write(folder.path().join("load.csv"), text).unwrap();
    let model = format!("{}/../../models/regard-etth1", env!("CARGO_MANIFEST_DIR"));
    let args = ["forecast", "--model", &model, "load.csv", "--horizon", "96", "--levels", "80,95", "--json"];
    let json = regard(folder.path(), &args).done().json();
    let predicted = json["forecast"].as_array().unwrap();
    assert_eq!((predicted.len(), predicted[0]["ds"].as_str()), (7 * 96, Some("2018-05-15 00:00:00")));
    for (hour, row) in predicted[..96].iter().enumerate() {
        let value = row["forecast"].as_f64().unwrap();
        assert!((value - load(336 + hour)).abs() < 2.5, "{row} {}", load(336 + hour));
        let bounds = |at: usize| ["low", "high"].map(|end| row["intervals"][at][end].as_f64().unwrap());
        let ([low, high], [lowest, highest]) = (bounds(0), bounds(1));
        assert!(lowest <= low && low < value && value < high && high <= highest, "{row}");
    }
}

#[test]
fn many_series_are_forecast_within_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "day".to_owned();
    (0..10_000).for_each(|series| write!(text, ",s{series}").unwrap());
    for day in 0..60 {
        write!(text, "\n2021-{:02}-{:02}", 1 + day / 28, 1 + day % 28).unwrap();
        for series in 0..10_000 {
            let value = 20 + series % 7 + 5 * usize::from(day % 7 == series % 7) + (31 * day + 17 * series) % 3;
            write!(text, ",{value}").unwrap();
        }
    }
    fs::write(folder.path().join("many.csv"), text).unwrap();
    let ask = ["forecast", "many.csv", "--horizon", "7", "--levels", "80,95", "--time", "150ms", "--json"];
    let begun = std::time::Instant::now();
    let said = regard(folder.path(), &ask).done();
    // Reading the file and writing its forecasts are in it, on a machine that may be busy.
    assert!(begun.elapsed().as_secs_f64() < 30.0, "{:?}", begun.elapsed());
    assert!(said.err.contains("the time is too short (`--time` gives more)"), "{}", said.err);
    assert!(said.err.contains("have simple forecasts"), "{}", said.err);
    let json = said.json();
    for member in json["members"].as_array().unwrap() {
        let name = member["name"].as_str().unwrap();
        let simple = ["Naive", "Seasonal", "RandomWalkWithDrift", "WindowAverage"];
        assert!(simple.iter().any(|simple| name.starts_with(simple)), "{json}");
    }
    let rows = json["forecast"].as_array().unwrap();
    assert_eq!(rows.len(), 70_000);
    for row in rows {
        let value = row["forecast"].as_f64().unwrap();
        assert!((15.0..40.0).contains(&value) && row["intervals"][0]["low"].as_f64().unwrap() <= value, "{row}");
    }
}

/// Runs the program, and ends it by SIGTERM as soon as it waits for that.
#[cfg(target_os = "linux")]
pub(crate) fn terminated(folder: &Path, arguments: &[&str]) -> std::process::Output {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    const SIGTERM: u64 = 15;
    let child = command(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let caught = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask >> (SIGTERM - 1) & 1 == 1)
    };
    let begun = Instant::now();
    while !caught() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no handler of SIGTERM");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_forecast_answers_with_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "hour,load\n".to_owned();
    for hour in 0..3000 {
        let wave = (TAU * hour as f64 / 24.0).sin() + ((hour * 7919) % 31) as f64 / 31.0;
        writeln!(text, "2021-{:02}-{:02} {:02}:00,{wave:.3}", 1 + hour / 24 / 28, 1 + hour / 24 % 28, hour % 24)
            .unwrap();
    }
    fs::write(folder.path().join("load.csv"), text).unwrap();
    let said = terminated(folder.path(), &["forecast", "load.csv", "--horizon", "48", "--time", "10m", "--json"]);
    let err = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(0), "{err}");
    assert!(err.contains("stopping after the forecasters that are done"), "{err}");
    assert!(err.contains("it was interrupted"), "{err}");
    let json: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(json["forecast"].as_array().map(Vec::len), Some(48), "{json}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_back_test_without_a_window_has_nothing_to_show() {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 240);
    let long = ["--windows", "3", "--set", "train.epochs=1000000"];
    let said = terminated(folder.path(), &[&["eval", "series/forecast"][..], &SMALL, &long].concat());
    let err = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(2), "{err}");
    assert!(err.contains("stopped before the first window was done") && said.stdout.is_empty(), "{said:?}");
}

#[test]
fn models_of_every_task_are_measured_on_any_file_with_their_series() {
    let folder = trained();
    let eval = |model: &str, file: &str| regard(folder.path(), &["eval", "--model", model, "--data", file, "--json"]);
    // Too short to learn from, and long enough to be measured on.
    let rows = fs::read_to_string(folder.path().join("waves.csv")).unwrap();
    let short: Vec<&str> = rows.lines().take(41).collect();
    fs::write(folder.path().join("short.csv"), short.join("\n") + "\n").unwrap();
    let json = eval("run", "short.csv").done().json();
    assert!(json["mse"].as_f64().is_some_and(f64::is_finite) && json["windows"].as_u64() > Some(0), "{json}");
    fs::write(folder.path().join("other.csv"), rows.replace("up", "left")).unwrap();
    let other = eval("run", "other.csv");
    assert!(other.code == Some(2) && other.err.contains("series `up`: is not in the file"), "{other:?}");
    for task in ["imputation", "anomaly"] {
        let kind = format!("task.kind={task}");
        let train = [&["train", "series/forecast", "--out", task, "--set", &kind][..], &SMALL].concat();
        regard(folder.path(), &train).done();
        let json = eval(task, "waves.csv").done().json();
        assert!(json["huber"].as_f64().is_some_and(f64::is_finite), "{json}");
        assert!(json["data"].as_str().unwrap().contains("the test rows of waves.csv"), "{json}");
        let held_out = regard(folder.path(), &["eval", "--model", task, "--training-data", "--json"]).done().json();
        assert_eq!(held_out["huber"], json["huber"]);
    }
}

#[test]
fn a_future_in_other_units_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |steps: std::ops::Range<usize>, unit: usize| -> String {
        let row = |step: usize| format!("{step},{},{}\n", 10 + step % 5, (2 + step % 3) * unit);
        steps.map(row).collect()
    };
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("sales.csv", format!("step,sold,price\n{}", rows(0..60, 1)));
    let ask = |unit: usize| {
        write("plan.csv", format!("step,sold,price\n{}", rows(60..70, unit)));
        let options = ["--target", "sold", "--covariates", "price", "--future", "plan.csv", "--time", "2s"];
        regard(folder.path(), &[&["forecast", "sales.csv", "--horizon", "5"][..], &options].concat()).done()
    };
    let (same, cents) = (ask(1), ask(100));
    assert!(!same.err.contains("far outside"), "{same:?}");
    let note = "values far outside those of the past: `price` (400; 2 to 4 in the past); predictions from them";
    assert!(cents.err.contains(note), "{cents:?}");

    // A model knows the prices of its training.
    let settings =
        ["data.path=sales.csv", "data.columns=[\"sold\"]", "data.future_covariates=[\"price\"]", "task.horizon=5"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let train = ["train", "series/forecast", "--out", "run", "--set", "model.look_back=12"];
    regard(folder.path(), &train.into_iter().chain(SMALL).chain(settings).collect::<Vec<_>>()).done();
    let by_model = |unit: usize| {
        write("more.csv", format!("step,sold,price\n{}", rows(0..60, unit)));
        write("plan.csv", format!("step,sold,price\n{}", rows(60..70, unit)));
        regard(folder.path(), &["forecast", "--model", "run", "more.csv", "--future", "plan.csv"]).done()
    };
    let (same, cents) = (by_model(1), by_model(100));
    assert!(!same.err.contains("far outside"), "{same:?}");
    let note = "values far outside those of training: `price` (400; 2 to 4 in training); predictions from them";
    assert!(cents.err.contains(note), "{cents:?}");
}

#[test]
fn the_future_of_covariates_may_be_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (mut sales, mut plan) = ("step,sold,promo\n".to_owned(), "promo,step,weather\n".to_owned());
    for step in 0..75_usize {
        let promo = if step % 5 == 2 { "yes" } else { "no" };
        match step < 60 {
            true => writeln!(sales, "{step},{},{promo}", 10 + step % 5).unwrap(),
            false => writeln!(plan, "{promo},{step},dry").unwrap(),
        }
    }
    fs::write(folder.path().join("sales.csv"), sales).unwrap();
    fs::write(folder.path().join("plan.csv"), &plan).unwrap();
    let ask = |horizon: &'static str| {
        let options = ["--covariates", "promo", "--future", "plan.csv", "--time", "2s", "--only", "base", "--json"];
        regard(folder.path(), &[&["forecast", "sales.csv", "--horizon", horizon][..], &options].concat())
    };
    let found = ask("10").done();
    assert_eq!(found.json()["forecast"].as_array().map(Vec::len), Some(10), "{found:?}");
    for part in ["columns not read: weather", "15 rows of the future", "5 rows of a series lie beyond the horizon"] {
        assert!(found.err.contains(part), "{part}: {found:?}");
    }
    let short = ask("20");
    assert!(
        short.code == Some(2) && short.err.contains("has 15 rows") && short.err.contains("--horizon 15"),
        "{short:?}"
    );
    fs::write(folder.path().join("plan.csv"), plan.replace("yes,62,dry\n", "")).unwrap();
    let gap = ask("10");
    assert!(gap.code == Some(2) && gap.err.contains("plan.csv: has no row for `62`"), "{gap:?}");
    fs::write(folder.path().join("plan.csv"), plan.replace("yes,62,dry\n", ",62,dry\n")).unwrap();
    let empty = ask("10");
    assert!(empty.code == Some(2) && empty.err.contains("plan.csv:4: field `promo`: is empty"), "{empty:?}");
    let nothing = regard(folder.path(), &["forecast", "sales.csv", "--horizon", "5", "--covariates", "promo"]);
    let missing = "has 0 rows with future covariates for series";
    assert!(
        nothing.code == Some(2) && nothing.err.contains(missing) && nothing.err.contains("--future"),
        "{nothing:?}"
    );
    let without = regard(folder.path(), &["forecast", "sales.csv", "--horizon", "5", "--future", "plan.csv"]);
    assert!(without.code == Some(2) && without.err.contains("--covariates"), "{without:?}");

    fs::write(folder.path().join("plan.csv"), &plan).unwrap();
    let settings =
        ["data.path=sales.csv", "data.future_covariates=[\"promo\"]", "task.horizon=5", "model.look_back=12"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let train: Vec<&str> =
        ["train", "series/forecast", "--out", "sold"].into_iter().chain(SMALL).chain(settings).collect();
    regard(folder.path(), &train).done();
    let explain = ["explain", "sales.csv", "--model", "sold"];
    let (blind, seeing) = (explain.to_vec(), [&explain[..], &["--future", "plan.csv", "--json"]].concat());
    let blind = regard(folder.path(), &blind);
    assert!(blind.code == Some(2) && blind.err.contains(missing) && blind.err.contains("--future"), "{blind:?}");
    assert!(regard(folder.path(), &seeing).done().json()["steps"].is_array());
    fs::write(folder.path().join("places.csv"), "id,x,y\na,0,0\nb,3,4\nc,6,0\n").unwrap();
    let refused = regard(folder.path(), &["explain", "places.csv", "--future", "plan.csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("--future does not apply"), "{refused:?}");
}

#[test]
fn pretraining_says_which_patches_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    waves(folder.path(), 240);
    let settings = ["--set", "task.kind=pretraining", "--steps", "1", "--out", "run"];
    let train = |stride: &'static str| {
        let all = [&["train", "series/forecast"][..], &SMALL, &settings, &["--set", stride]].concat();
        regard(folder.path(), &all)
    };
    let refused = train("model.stride=2");
    assert!(refused.code == Some(2) && refused.err.contains("model.stride=6"), "{refused:?}");
    let all = ["--set", "model.end_padding=false", "--set", "model.stride=6"];
    let all = [&["train", "series/forecast"][..], &SMALL, &settings, &all].concat();
    regard(folder.path(), &all).done();
}

#[test]
fn a_series_of_the_m4_competition_is_forecast() {
    let folder = tempfile::tempdir().unwrap();
    let row = |name: &str, len: usize| {
        let values: Vec<String> =
            (0..40).map(|at| if at < len { format!("\"{}\"", 5 + at % 4) } else { String::new() }).collect();
        format!("\"{name}\",{}\n", values.join(","))
    };
    let header: Vec<String> = (1..=41).map(|at| format!("\"V{at}\"")).collect();
    fs::write(folder.path().join("m4.csv"), format!("{}\n{}{}", header.join(","), row("Q1", 40), row("Q2", 28)))
        .unwrap();
    let asked = ["forecast", "m4.csv", "--horizon", "4", "--time", "2s", "--only", "base", "--json"];
    let found = regard(folder.path(), &asked).done();
    assert!(found.err.contains("M4 competition") && found.err.contains("season of 4"), "{found:?}");
    let json = found.json();
    assert_eq!((json["season"].as_u64(), json["forecast"][4]["unique_id"].as_str()), (Some(4), Some("Q2")), "{json}");
    let given = regard(folder.path(), &[&asked[..], &["--season", "3"]].concat()).done();
    assert_eq!(given.json()["season"], 3, "{given:?}");
    assert_eq!(json["forecast"][4]["ds"].as_str(), Some("28"), "{json}");
}
