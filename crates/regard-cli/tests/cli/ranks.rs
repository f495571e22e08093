//! `mpirun … regard train`: the same network on any number of ranks.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::program::{Said, command, regard, said};

/// If true, the program and this machine have MPI; says so where they have not.
fn has_mpi() -> bool {
    let mpirun = || Command::new("mpirun").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let why = match cfg!(feature = "mpi") {
        false => "the program is built without the feature `mpi`",
        true if mpirun().is_ok_and(|status| status.success()) => return true,
        true => "there is no mpirun",
    };
    regard_testing::skipped(why);
    false
}

/// The program on ranks; each writes the number of its process into `pid.RANK`.
fn on_ranks(folder: &Path, ranks: usize, arguments: &[&str]) -> Command {
    let program = command(folder, arguments);
    let script = r#"echo $$ > pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@""#;
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["-n", &ranks.to_string(), "--oversubscribe", "sh", "-c", script]).arg(program.get_program());
    mpirun.args(program.get_args()).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    // More ranks than cores: one thread each, and waiting ranks make room.
    mpirun.env("RAYON_NUM_THREADS", "1").env("OMPI_MCA_mpi_yield_when_idle", "1").env("NO_COLOR", "1");
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    mpirun
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    format!("data.path={}", path.display())
}

/// A small training of each family, with the settings after the name.
fn families() -> [(&'static str, Vec<String>); 5] {
    let sets = |all: &[&str]| all.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>();
    let network = ["model.width=16", "model.heads=2", "train.batch_size=24", "train.log_steps=2", "train.shards=8"];
    let with = |more: &[&str]| sets(&[&network[..], more].concat());
    let routes =
        ["data.nodes=7", "model.layers=1", "model.feedforward_width=16", "train.epoch_size=144", "eval.instances=30"];
    let kool = ["train.preset=kool-2019", "train.baseline_instances=40", "train.baseline_warmup_epochs=1"];
    [
        ("routes/tsp20", with(&routes)),
        // Batch norm, an exponential baseline at first, then that of the rollout.
        ("routes/tsp20-kool", with(&[&routes[..], &kool].concat())),
        ("sets/max", with(&["train.steps_per_epoch=6"])),
        ("graphs/molecules", with(&[&example("molecules.csv"), "data.target=boiling_point_c", "eval.blend=false"])),
        (
            "series/forecast",
            with(&[&example("station.csv"), "model.look_back=48", "task.horizon=8", "train.steps_per_epoch=6"]),
        ),
    ]
}

fn arguments<'a>(name: &'a str, sets: &'a [String], out: &'a str) -> Vec<&'a str> {
    let sets = sets.iter().flat_map(|set| ["--set", set.as_str()]);
    ["train", name, "--out", out, "--steps", "14", "--seed", "7", "-q"].into_iter().chain(sets).collect()
}

fn files(folder: &Path, run: &str) -> [Vec<u8>; 2] {
    ["model.safetensors", "metrics.jsonl"].map(|name| fs::read(folder.join(run).join(name)).unwrap())
}

#[test]
fn any_number_of_ranks_trains_the_same_network() {
    if !has_mpi() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, sets) in families() {
        regard(folder.path(), &arguments(name, &sets, "alone")).done();
        for ranks in [1, 2, 4, 8] {
            let out = format!("ranks{ranks}");
            said(on_ranks(folder.path(), ranks, &arguments(name, &sets, &out)).output().unwrap()).done();
            assert!(files(folder.path(), &out) == files(folder.path(), "alone"), "{name} on {ranks} ranks");
            fs::remove_dir_all(folder.path().join(out)).unwrap();
        }
        fs::remove_dir_all(folder.path().join("alone")).unwrap();
    }
}

/// Waits for the ranks until they end. Open MPI's launcher now and then stays when they are gone (`PMIX ERROR:
/// UNREACHABLE`): it is not what is tested, and is ended then.
fn end_of(mut mpirun: Child, folder: &Path, ranks: usize, limit: Duration, what: &str) -> Said {
    let begun = Instant::now();
    while mpirun.try_wait().unwrap().is_none() {
        if begun.elapsed() > limit {
            let running: Vec<_> = (0..ranks).filter(|&rank| is_running(folder, rank)).collect();
            mpirun.kill().unwrap();
            let said = said(mpirun.wait_with_output().unwrap());
            assert!(running.is_empty(), "{what}: ranks {running:?} did not end: {said:?}");
            return said;
        }
        sleep(Duration::from_millis(20));
    }
    let ended = said(mpirun.wait_with_output().unwrap());
    assert!(ended.code.is_some(), "{what}: {ended:?}");
    ended
}

fn process_of(folder: &Path, rank: usize) -> String {
    fs::read_to_string(folder.join(format!("pid.{rank}"))).unwrap().trim().to_owned()
}

fn is_running(folder: &Path, rank: usize) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &process_of(folder, rank)]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout);
    // A process that ended and is not yet waited for.
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no {}", path.display());
        sleep(Duration::from_millis(5));
    }
}

/// A training that takes a while, with many checkpoints.
fn long<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let sets = [
        "data.nodes=10",
        "model.width=16",
        "model.heads=2",
        "model.layers=2",
        "train.batch_size=64",
        "train.epoch_size=640",
        "train.checkpoint_minutes=0.0005",
        "eval.instances=40",
    ];
    let sets = sets.into_iter().flat_map(|set| ["--set", set]);
    ["train", "routes/tsp20", "--out", out, "--steps", "120", "--seed", "7", "-q"]
        .into_iter()
        .chain(sets)
        .chain(more.iter().copied())
        .collect()
}

fn signal(folder: &Path, rank: usize, name: &str) {
    let done = Command::new("kill").args([name, &process_of(folder, rank)]).status().unwrap();
    // A rank may end by itself a moment before the launcher does.
    assert!(done.success() || !is_running(folder, rank), "rank {rank}");
}

/// Kills of each family.
const KILLS: u64 = 2;

#[test]
fn ranks_that_die_end_the_others_and_another_number_goes_on() {
    if !has_mpi() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Another moment in each run of this test, printed where it fails.
    let mut random = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    for (name, sets) in families() {
        let often = [&sets[..], &["train.checkpoint_minutes=0.0003".to_owned()]].concat();
        let arguments = |out, more: &[&'static str]| {
            let words = arguments(name, &often, out).into_iter().map(|word| if word == "14" { "90" } else { word });
            words.chain(more.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
        };
        let run = |ranks: u64, out, more: &[&'static str]| {
            let arguments = arguments(out, more);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            on_ranks(folder, ranks as usize, &arguments)
        };
        said(run(2, "straight", &[]).output().unwrap()).done();
        let mut ranks = 4;
        for kill in 0..KILLS {
            let more: &[&str] = if kill == 0 { &[] } else { &["--resume"] };
            let mut child = run(ranks, "broken", more).stderr(Stdio::piped()).spawn().unwrap();
            wait_for(&folder.join("broken/model.safetensors"));
            let (killed, moment) = (below(ranks), below(400));
            sleep(Duration::from_millis(moment));
            let over = child.try_wait().unwrap().is_some();
            if !over {
                signal(folder, killed as usize, "-KILL");
            }
            // A rank that is killed after its last message is not missed.
            let what = format!("{name}: rank {killed} of {ranks} after {moment} ms");
            end_of(child, folder, ranks as usize, Duration::from_secs(20), &what);
            ranks = if ranks == 4 { 2 } else { 4 };
        }
        said(run([1, 8][below(2) as usize], "broken", &["--resume"]).output().unwrap()).done();
        assert!(files(folder, "broken") == files(folder, "straight"), "{name}, random state {random}");
        ["broken", "straight"].iter().for_each(|run| fs::remove_dir_all(folder.join(run)).unwrap());
    }
}

#[test]
fn folds_are_dealt_out_to_the_ranks() {
    if !has_mpi() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let settings = [&example("molecules.csv"), "data.target=boiling_point_c", "model.width=16", "model.heads=2"];
    let settings = settings.into_iter().chain(["train.epochs=3"]).flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["eval", "graphs/molecules", "--folds", "3", "--repeats", "2", "--json", "-q"]
        .into_iter()
        .chain(settings)
        .collect();
    let timeless = |said: Said| {
        let mut found = said.done().json();
        found.as_object_mut().unwrap().remove("seconds");
        found
    };
    let alone = timeless(regard(folder, &arguments));
    for ranks in [2, 4] {
        assert_eq!(timeless(said(on_ranks(folder, ranks, &arguments).output().unwrap())), alone, "{ranks} ranks");
    }
    let forecasts = ["eval", "series/forecast", "--set", &example("station.csv")];
    let refused = said(on_ranks(folder, 2, &forecasts).output().unwrap());
    assert!(refused.code == Some(2) && refused.err.contains("runs in one process"), "{refused:?}");
}

#[test]
fn ranks_that_do_not_fit_together_are_named() {
    if !has_mpi() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let three = said(on_ranks(folder, 3, &long("run", &[])).output().unwrap());
    let words = "`train.shards`: is 8, but there are 3 ranks; expected a multiple of 3";
    assert!(three.code == Some(2) && three.err.contains(words), "{three:?}");
    assert!(!folder.join("run").exists());

    let mut differing = on_ranks(folder, 1, &long("run", &[]));
    let other = on_ranks(folder, 1, &long("run", &["--set", "train.learning_rate=0.5"]));
    differing.arg(":").args(other.get_args());
    let said = said(differing.output().unwrap());
    assert!(said.code == Some(2), "{said:?}");
    assert!(said.err.contains("rank 1 (") && said.err.contains("settings `learning_rate = 0.5`"), "{said:?}");
    assert!(!folder.join("run").exists());
}

#[test]
fn a_silent_rank_is_named() {
    if !has_mpi() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let endless: Vec<&str> =
        long("run", &[]).into_iter().map(|word| if word == "120" { "1000000" } else { word }).collect();
    let mut mpirun = on_ranks(folder, 4, &endless);
    let child = mpirun.env("REGARD_RANK_TIMEOUT", "3").stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&folder.join("run/model.safetensors"));
    signal(folder, 3, "-STOP");
    let ended = end_of(child, folder, 4, Duration::from_secs(40), "a silent rank");
    assert!(ended.code == Some(2) && ended.err.contains("rank 3: no message for 3 s"), "{ended:?}");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // A program that has MPI, built beside this test, would train.
    let mut command = command(folder.path(), &["train", "routes/tsp20", "--steps", "1", "--time", "5s"]);
    let refused = said(command.env("OMPI_COMM_WORLD_SIZE", "2").output().unwrap());
    assert!(refused.code == Some(2) && refused.err.contains("built without MPI"), "{refused:?}");
}
