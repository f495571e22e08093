use std::fs;
use std::path::Path;

use super::*;
use crate::graphs::GraphExperiment;
use crate::routes::RouteExperiment;
use crate::routes::experiment::{EvalSettings, Sizes, TrainSettings};
use crate::routes::model::AttentionModelConfig;
use crate::routes::model::Norm;
use crate::series::SeriesExperiment;
use crate::sets::SetExperiment;

fn parse(text: &str) -> Result<RouteExperiment> {
    RouteExperiment::parse(text, Path::new("e.toml"), &[])
}

fn set(sets: &[&str]) -> Result<RouteExperiment> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    RouteExperiment::parse("", Path::new("e.toml"), &sets)
}

#[test]
fn every_built_in_experiment_is_valid_and_says_what_it_is() {
    for (name, text) in built_in().iter().filter(|(name, _)| name.starts_with("routes/")).copied() {
        let experiment = RouteExperiment::load(name, &[]).unwrap();
        experiment.validate().unwrap();
        assert!(description(text).ends_with('.'), "{name}: {}", description(text));
        let preset = match name {
            name if name.contains("kool") => "kool-2019",
            name if name.contains("pomo") => "pomo-2020",
            name if name.contains("/tsp") => "regard-tsp",
            _ => "regard-cvrp",
        };
        assert!(name.contains(&format!("/{}", experiment.task.problem)), "{name}");
        assert_eq!(experiment.train.preset.as_deref(), Some(preset), "{name}");
        let problem = experiment.task.problem.clone();
        let expected = AttentionModelConfig { problem, ..AttentionModelConfig::preset(preset).unwrap() };
        assert_eq!(experiment.model, expected, "{name}");
        let nodes: String = name.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(experiment.data.nodes.high(), nodes.parse().unwrap_or(100), "{name}");
    }
}

#[test]
fn every_other_built_in_experiment_is_valid_and_stands_in_the_folder_of_its_family() {
    type Load = fn(&str) -> Result<()>;
    let families: [(&str, &str, usize, Load); 3] = [
        ("sets", "sets/", 10, |name| SetExperiment::load(name, &[]).map(drop)),
        ("graphs", "graphs/", 8, |name| GraphExperiment::load(name, &[]).map(drop)),
        ("series", "series/", 9, |name| SeriesExperiment::load(name, &[]).map(drop)),
    ];
    for (kind, folder, count, load) in families {
        let of = built_in().iter().filter(|(name, text)| family(text, Path::new(name)).unwrap() == kind);
        let names: Vec<&str> = of.map(|(name, _)| *name).collect();
        for name in &names {
            assert!(name.starts_with(folder), "{name}");
            load(name).unwrap();
        }
        assert_eq!(names.len(), count, "{folder}");
    }
}

#[test]
fn every_file_of_the_folder_is_built_in() {
    for family in ["routes", "sets", "graphs", "series"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(family);
        let toml = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|extension| extension == "toml");
        let files = fs::read_dir(folder).unwrap().filter(|entry| toml(entry.as_ref().unwrap())).count();
        assert_eq!(files, built_in().iter().filter(|(name, _)| name.split('/').next() == Some(family)).count());
    }
}

#[test]
fn nothing_written_is_our_preset() {
    let experiment = parse("").unwrap();
    assert_eq!(experiment.train, TrainSettings::regard_tsp());
    assert_eq!(experiment.model, AttentionModelConfig::regard_tsp());
    assert_eq!(experiment.eval, EvalSettings::default());
    assert_eq!(experiment.data.nodes, Sizes::One(20));
    assert_eq!(experiment.steps_per_epoch(), 1562);
    assert_eq!(set(&["train.epoch_size=5"]).unwrap().steps_per_epoch(), 1);
}

#[test]
fn the_model_follows_the_preset_of_training_unless_it_has_one() {
    let kool = parse("[train]\npreset = 'kool-2019'\n[model]\nlayers = 2").unwrap();
    assert_eq!(kool.train, TrainSettings::kool_2019());
    assert_eq!(kool.model, AttentionModelConfig { layers: 2, ..AttentionModelConfig::kool_2019() });
    let both = parse("[train]\npreset = 'kool-2019'\nlearning_rate = 1\n[model]\npreset = 'regard-tsp'").unwrap();
    assert_eq!((both.train.learning_rate, both.model.norm), (1.0, Norm::Instance));
    let model = parse("[model]\npreset = 'kool-2019'").unwrap();
    assert_eq!((model.train, model.model), (TrainSettings::regard_tsp(), AttentionModelConfig::kool_2019()));
}

#[test]
fn the_number_of_starts_follows_the_baseline() {
    for (baseline, starts) in [("none", 1), ("exponential", 1), ("critic", 1), ("rollout", 1), ("shared", 0)] {
        for preset in ["kool-2019", "regard-tsp"] {
            let sets = [format!("train.preset={preset}"), format!("train.baseline={baseline}")];
            let train = RouteExperiment::parse("", Path::new("e.toml"), &sets).unwrap().train;
            assert_eq!((train.baseline.name(), train.num_starts), (baseline, starts));
        }
    }
    assert_eq!(set(&["train.num_starts=8", "train.baseline=shared"]).unwrap().train.num_starts, 8);
}

#[test]
fn assignments_overrule_the_file() {
    let sets = [
        "train.learning_rate=1e-3".to_owned(),
        "train.epochs = 7".into(),
        "train.epochs=8".into(),
        "data.nodes=[20, 50]".into(),
        "model.norm=batch".into(),
        "train.preset='kool-2019'".into(),
        "eval.decode=sample:16".into(),
    ];
    let text = "[train]\nlearning_rate = 0.5\nbatch_size = 3\n";
    let experiment = RouteExperiment::parse(text, Path::new("e.toml"), &sets).unwrap();
    let train = TrainSettings { learning_rate: 1e-3, epochs: 8, batch_size: 3, ..TrainSettings::kool_2019() };
    assert_eq!(experiment.train, train);
    assert_eq!(experiment.data.nodes, Sizes::Between([20, 50]));
    assert_eq!((experiment.data.nodes.low(), experiment.data.nodes.high()), (20, 50));
    assert_eq!((experiment.model.norm, experiment.eval.decode.as_str()), (Norm::Batch, "sample:16"));
}

#[test]
fn a_written_experiment_reads_back() {
    let odd = set(&[
        "train.learning_rate=0.1234567891234",
        "train.seed=9223372036854775807",
        "model.tanh_clipping=0.1",
        "train.baseline=critic",
        "data.nodes=[3,4]",
    ]);
    let routes = built_in().iter().filter(|(name, _)| name.starts_with("routes/"));
    let built_in = routes.map(|(_, text)| parse(text));
    for experiment in built_in.chain([odd]) {
        let experiment = experiment.unwrap();
        let text = experiment.to_toml().unwrap();
        assert_eq!(parse(&text).unwrap(), experiment, "{text}");
        assert_eq!(toml::from_str::<RouteExperiment>(&text).unwrap(), experiment);
    }
    let mut wrong = parse("").unwrap();
    wrong.train.seed = u64::MAX;
    assert!(wrong.to_toml().is_err());
}

#[test]
fn settings_of_config_json_are_read_if_they_agree() {
    let agree = "[model]\nkind = 'attention-model'\nformat = 1\nproblem = 'tsp'";
    assert_eq!(parse(agree).unwrap(), parse("").unwrap());
    for (line, key) in
        [("kind = 'x'", "model.kind"), ("format = 2", "model.format"), ("problem = 'jssp'", "task.problem")]
    {
        let error = parse(&format!("[model]\n{line}")).unwrap_err();
        assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
    }
    let error = parse("[task]\nproblem = 'tsp'\n[model]\nproblem = 'op'").unwrap_err();
    let said = "e.toml: `model.problem`: line 4: is `op`, but `task.problem` is `tsp`; leave one out";
    assert_eq!(error.to_string(), said);
}

#[test]
fn malformed_text_names_the_line() {
    for (text, line) in [
        ("[train]\nlearning_rate = \n", 2),
        ("\n\n[train\nlearning_rate = 1", 3),
        ("[train]\r\nlearning_rate = 1\r\nlearning_rate = 2\r\n", 3),
        ("[data]\n# ä\nnodes = [20, 100\n[train]\n", 4),
        ("[train]\nlearning_rate = 1\n[eval]\n[train]\n", 4),
    ] {
        let error = parse(text).unwrap_err();
        let Error::Parse { path, line: found, reason, .. } = &error else { panic!("{error:?}") };
        assert_eq!((path.as_path(), *found), (Path::new("e.toml"), line), "{text:?}: {error}");
        assert!(!reason.is_empty() && !reason.contains('\n'), "{error}");
    }
}

#[test]
fn mistakes_say_where_they_are_and_what_was_expected() {
    let shared = "[train]\nbaseline = 'shared'\nnum_starts";
    for (text, said) in [
        ("[trian]", "`trian`: line 1: is not a section (did you mean `train`?); sections: `task`, `data`"),
        ("\nlearning_rate = 1", "`learning_rate`: line 2: is not a section (it belongs in [train]); sections"),
        ("train = 3", "`train`: line 1: is of type integer; expected a section that begins with [tr"),
        ("[[train]]", "`train`: line 1: is of type array; expected a section that begins with ["),
        (
            "[train]\nbatch_size=1\nlerning_rate = 1",
            "`train.lerning_rate`: line 3: is not a setting (did you mean `learning_rate`?); settings of [",
        ),
        ("[train]\nnodes = 1", "`train.nodes`: line 2: is not a setting (it belongs in [data]); settings of [train]"),
        (
            "train.x.y = 1",
            "`train.x`: line 1: is not a setting; settings of [train]: `preset`, `init_from`, `baseline`",
        ),
        ("data.seed = 1", "`data.seed`: line 1: is not a setting (it belongs in [train] or [eval]); settings of"),
        ("[model]\nwidht = 8", "`model.widht`: line 2: is not a setting (did you mean `width`?)"),
        ("[train]\nlearning_rate = 'fast'", "`train.learning_rate`: line 2: is \"fast\"; expected a number"),
        ("[train]\nlearning_rate = nan", "`train.learning_rate`: line 2: is NaN; expected a number above 0"),
        ("[train]\nlearning_rate = inf", "`train.learning_rate`: line 2: is inf; expected a number above 0"),
        ("[train]\nbatch_size = -3", "`train.batch_size`: line 2: is -3; expected an integer that is not negative"),
        ("[train]\nbatch_size = 3.5", "`train.batch_size`: line 2: is 3.5; expected an integer that is not negative"),
        ("[train]\nbatch_size = 0", "`train.batch_size`: line 2: is 0; expected 1 to 65536"),
        ("[train]\nbaseline = 'rolout'", "`train.baseline`: line 2: is \"rolout\" (did you mean `rollout`?); expected"),
        ("[train]\nbaseline = 3", "`train.baseline`: line 2: is 3; expected one of `none`, `exponential`, `critic`"),
        ("[train]\npreset = 'kool'", "`train.preset`: line 2: `kool` is not a preset; presets: `regard-tsp`"),
        ("[model]\npreset = 'kool2019'", "`model.preset`: line 2: `kool2019` is not a preset (did you mean"),
        (
            "[train]\npreset = 1",
            "`train.preset`: line 2: is 1; expected one of `regard-tsp`, `regard-cvrp`, `pomo-2020`, `kool-2019`",
        ),
        ("[train]\nbaseline_decay = 1", "`train.baseline_decay`: line 2: is 1; expected a number above 0 and below 1"),
        (
            "[train]\nbaseline_significance = 0",
            "`train.baseline_significance`: line 2: is 0; expected a number above 0 and below 1",
        ),
        ("[train]\nema_decay = 1", "`train.ema_decay`: line 2: is 1; expected a number below 1, or 0"),
        (
            "[train]\nlearning_rate_decay = 1.1",
            "`train.learning_rate_decay`: line 2: is 1.1; expected a number above 0, at most 1",
        ),
        (
            "[train]\nmax_grad_norm = -1",
            "`train.max_grad_norm`: line 2: is -1; expected a number above 0, or 0 for no cl",
        ),
        ("[train]\nlog_steps = 0", "`train.log_steps`: line 2: is 0; expected 1 to"),
        (
            "[train]\nbaseline = 'critic'\nnum_starts = 2",
            "`train.num_starts`: line 3: is 2, with the baseline `critic`; expec",
        ),
        (
            &format!("{shared} = 1"),
            "`train.num_starts`: line 3: is 1, with the baseline `shared`; expected 0 (one from",
        ),
        (
            &format!("{shared} = 21"),
            "`train.num_starts`: line 3: is 21; expected at most 20, the number of nodes of an instance",
        ),
        ("[data]\nnodes = 1", "`data.nodes`: line 2: is 1; expected 2 to 10000"),
        ("[data]\nnodes = [9, 8]", "`data.nodes`: line 2: is [9, 8]; expected the lowest number of nodes before"),
        ("[data]\nnodes = [9, 8, 7]", "`data.nodes`: line 2: is [9, 8, 7]; expected a number of nodes such as 20, or"),
        ("[data]\nnodes = 'many'", "`data.nodes`: line 2: is \"many\"; expected a number of nodes such as 20, or"),
        ("[data]\ndistribution = 'x'", "`data.distribution`: line 2: is \"x\"; expected one of `uniform`,"),
        ("[model]\nheads = 7", "`model.heads`: line 2: 7 heads do not divide width 128"),
        ("[model]\nwidth = 7", "`model.heads`: is 8; expected 1 to 7"),
        ("[task]\nproblem = 'tps'", "`task.problem`: line 2: `tps` is not supported (did you mean `tsp`?); problems:"),
        ("[task]\nproblem = 3", "`task.problem`: line 2: is 3; expected a string in quotes"),
        ("[eval]\naugment = 4", "`eval.augment`: line 2: is 4; expected 1, or 8"),
        ("[eval]\ndecode = 'best'", "`eval.decode`: line 2: `best` is not a decoding method, expected greedy"),
        ("[eval]\ninstances = 0", "`eval.instances`: line 2: is 0; expected 1 to"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("e.toml: {said}")), "{text:?}: {error}");
    }
}

#[test]
fn mistakes_of_an_assignment_do_not_blame_the_file() {
    for (assignment, said) in [
        ("train.learning_rat=1", "`train.learning_rat`: is not a setting (did you mean `learning_rate`?)"),
        ("train.learning_rate=fast", "`train.learning_rate`: is \"fast\"; expected a number"),
        ("train.learning_rate=1\nbatch_size=3", "`train.learning_rate`: is \""),
        ("data.nodes=[20, 100", "`data.nodes`: is \"[20, 100\"; expected a number of nodes"),
        ("eval.augment=2", "`eval.augment`: is 2; expected 1, or 8"),
        ("tren.rate=1", "`tren`: is not a section (did you mean `train`?)"),
        ("train.learning_rate", "`--set train.learning_rate`: has no `=`; expected section.key=value"),
        ("rate=1", "`--set rate=1`: has no section and key; expected"),
        (".=1", "`--set .=1`: has no section and key; expected"),
        ("train.learning_rate=", "`--set train.learning_rate=`: has no value; expected"),
    ] {
        let error = set(&[assignment]).unwrap_err();
        assert!(error.to_string().starts_with(said), "{assignment:?}: {error}");
    }
    assert_eq!(set(&["train.learning_rate=0"]).unwrap_err().hint(), Some("the value was given with `--set`"));
}

#[test]
fn a_target_beside_the_targets_of_an_experiment_has_a_way_out() {
    let load = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        GraphExperiment::load("graphs/zinc", &sets)
    };
    let error = load(&["data.target=expt"]).unwrap_err();
    assert!(error.to_string().starts_with("`data.target`: and `data.targets` are both given"), "{error}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("--set 'data.targets=[\"expt\"]'"), "{hint}");
    assert_eq!(load(&["data.targets=[\"expt\"]"]).unwrap().data.target_columns(), ["expt"]);
    assert_eq!(load(&["data.target=\"\""]).unwrap().data.target_columns(), ["target"]);
}

#[test]
fn experiments_are_found_as_files_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine");
    fs::write(&file, "# Mine\n[train]\nepochs = 2").unwrap();
    let (text, path) = find(file.to_str().unwrap()).unwrap();
    assert_eq!((description(&text).as_str(), path), ("Mine", file.clone()));
    assert_eq!(RouteExperiment::load(file.to_str().unwrap(), &[]).unwrap().train.epochs, 2);
    for name in ["routes/tsp20", "routes/tsp20.toml"] {
        assert_eq!(find(name).unwrap().1, Path::new("routes/tsp20.toml"));
    }
    for (name, near) in [("tsp20", "routes/tsp20"), ("routes/tsp-mixd.toml", "routes/tsp-mixed")] {
        let error = find(name).unwrap_err();
        let said = format!("{name}: is neither a file nor a built-in experiment (did you mean `{near}`?)");
        assert_eq!(error.to_string(), said);
        assert_eq!(error.hint(), Some("`regard train --list` shows the built-in experiments"));
    }
    let error = find(folder.path().to_str().unwrap()).unwrap_err();
    assert!(error.to_string().ends_with("is neither a file nor a built-in experiment"), "{error}");
}

#[test]
fn the_description_is_the_first_comment() {
    assert_eq!(description("# Some words \n[train]"), "Some words");
    let two = "# Trains as Kool et al. 2019 did,\n# in two lines. Another sentence.\n\n# Not this";
    assert_eq!(description(two), "Trains as Kool et al. 2019 did, in two lines.");
    assert_eq!(description("[train]\n# Not this"), "");
    assert_eq!(description(""), "");
}

/// A setting of a section.
fn found<'a>(sections: &'a [Section], section: &str, key: &str) -> &'a Setting {
    let section = sections.iter().find(|one| one.name == section).unwrap();
    section.settings.iter().find(|setting| setting.key == key).unwrap()
}

#[test]
fn settings_are_described_with_the_values_of_the_experiment() {
    let (text, path) = find("routes/tsp20-kool").unwrap();
    let sections = RouteExperiment::settings(&text, &path, &["train.batch_size=8".into()]).unwrap();
    assert_eq!(
        sections.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
        ["task", "data", "model", "train", "eval"]
    );
    let batch = found(&sections, "train", "batch_size");
    assert_eq!((batch.kind.as_str(), batch.range.as_deref(), batch.given), ("integer", Some("1 to 65536"), true));
    assert_eq!(batch.default, Some(8.into()));
    let baseline = found(&sections, "train", "baseline");
    assert_eq!((baseline.default.clone(), baseline.given), (Some("rollout".into()), false));
    assert_eq!(baseline.words[0], Word { word: "none".into(), meaning: "No baseline.".into() });
    let rate = found(&sections, "train", "learning_rate");
    assert_eq!((rate.kind.as_str(), rate.range.as_deref()), ("number", Some("above 0")));
    assert_eq!(found(&sections, "train", "ema_decay").range.as_deref(), Some("0 to below 1"));
    assert_eq!(found(&sections, "data", "nodes").kind, "integer or [lowest, highest]");
    assert_eq!(found(&sections, "task", "problem").words.len(), crate::routes::model::PROBLEMS.len());
    let preset = found(&sections, "model", "preset");
    assert_eq!((preset.default.clone(), preset.given), (Some("kool-2019".into()), false));
    let (text, path) = find("sets/mil").unwrap();
    let sections = SetExperiment::settings(&text, &path, &[]).unwrap();
    assert_eq!(found(&sections, "model", "inputs").default, None);
    assert_eq!(found(&sections, "data", "features").kind, "list of strings");
    assert_eq!(found(&sections, "data", "standardise").kind, "true or false");
    let series = SeriesExperiment::settings("[model]\nwidht = 3", Path::new("e.toml"), &[]);
    assert!(series.unwrap_err().to_string().contains("did you mean `width`?"));
}

#[test]
fn every_setting_is_documented_and_lies_in_its_range() {
    type Describe = fn(&str, &Path, &[String]) -> Result<Vec<Section>>;
    let families: [Describe; 4] =
        [RouteExperiment::settings, SetExperiment::settings, GraphExperiment::settings, SeriesExperiment::settings];
    for describe in families {
        for section in describe("", Path::new("e.toml"), &[]).unwrap() {
            assert!(!section.meaning.is_empty(), "[{}]", section.name);
            for setting in &section.settings {
                let name = format!("{}.{}", setting.section, setting.key);
                assert!(
                    setting.meaning.ends_with('.') && !setting.meaning.contains("[`"),
                    "{name}: {}",
                    setting.meaning
                );
                assert!(!setting.kind.is_empty(), "{name}");
                let known = |value: &serde_json::Value| {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    setting.words.is_empty() || setting.words.iter().any(|word| word.word == value)
                };
                assert!(setting.default.as_ref().is_none_or(known), "{name}: {:?}", setting.default);
            }
        }
    }
}
