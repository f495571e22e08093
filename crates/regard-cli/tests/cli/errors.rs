//! Everything that can be wrong with an input: a clear message, exit code 2, no panic.

use std::fs;
use std::path::Path;

use crate::files::{PENTAGON, folder, folder_with};
use crate::program::{Said, regard};

/// The run must fail with code 2, say every fragment on standard error and nothing on standard
/// output.
pub(crate) fn refused(said: &Said, fragments: &[&str]) {
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.out.is_empty(), "{said:?}");
    assert!(said.err.starts_with("error: "), "{said:?}");
    for fragment in fragments {
        assert!(said.err.contains(fragment), "`{fragment}` is not in {said:?}");
    }
}

fn pentagon(from: &str, to: &str) -> String {
    assert!(PENTAGON.contains(from));
    PENTAGON.replace(from, to)
}

#[test]
fn malformed_tsplib_files() {
    let table: &[(String, &[&str])] = &[
        (pentagon("5 59 -81\n", "5 59\n"), &["in.tsp:11", "1 coordinate"]),
        (pentagon("5 59 -81\n", "5 59 abc\n"), &["in.tsp:11", "abc"]),
        (pentagon("5 59 -81\n", "5 59 nan\n"), &["in.tsp:11", "nan"]),
        (pentagon("5 59 -81\n", "5 59 inf\n"), &["in.tsp:11", "inf"]),
        (pentagon("5 59 -81\n", "4 59 -81\n"), &["in.tsp:11", "4"]),
        (pentagon("5 59 -81\n", ""), &["in.tsp", "5"]),
        (pentagon("DIMENSION: 5", "DIMENSION: 1000000000"), &["in.tsp", "1000000000"]),
        (pentagon("DIMENSION: 5", "DIMENSION: 0"), &["in.tsp", "DIMENSION"]),
        (pentagon("DIMENSION: 5", "DIMENSION: five"), &["in.tsp:4", "five"]),
        (pentagon("DIMENSION: 5\n", ""), &["in.tsp", "DIMENSION"]),
        (pentagon("EUC_2D", "EUC_9D"), &["in.tsp:5", "EUC_9D"]),
        (pentagon("TYPE: TSP", "TYPE: CVRP"), &["in.tsp", "has no CAPACITY"]),
        (String::new(), &["in.tsp"]),
    ];
    for (text, fragments) in table {
        let folder = folder_with("in.tsp", text);
        refused(&regard(folder.path(), &["solve", "--model", "model", "in.tsp"]), fragments);
        refused(&regard(folder.path(), &["data", "check", "in.tsp"]), fragments);
    }
}

#[test]
fn malformed_csv_files() {
    let table: &[(&str, &[&str])] = &[
        ("", &["in.csv"]),
        ("id,x,y\n", &["in.csv"]),
        ("id,x,y\n1,0,0\n2,abc,1\n", &["in.csv:3", "abc"]),
        ("id,x,y\n1,0,0\n2,NaN,1\n", &["in.csv:3", "NaN"]),
        ("id,x,y\n1,0,0\n2,1\n", &["in.csv:3"]),
        ("id,latitude,longitude\na,95,10\nb,0,0\n", &["in.csv:2", "95"]),
        ("id,height\n1,2\n", &["in.csv", "--column x=NAME"]),
        ("x,y\n0,5,1,5\n", &["in.csv:2: has 4 fields, the header has 2", "hint: "]),
    ];
    for (text, fragments) in table {
        let folder = folder_with("in.csv", text);
        refused(&regard(folder.path(), &["solve", "--model", "model", "in.csv"]), fragments);
    }
}

#[test]
fn malformed_models() {
    let folder = folder_with("in.tsp", PENTAGON);
    let config = fs::read_to_string(folder.path().join("model/config.json")).unwrap();
    let weights = fs::read(folder.path().join("model/model.safetensors")).unwrap();
    let solve = || regard(folder.path(), &["solve", "in.tsp", "--model", "model"]);
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join("model").join(name), bytes).unwrap();

    refused(&regard(folder.path(), &["solve", "in.tsp", "--model", "none"]), &["none", "hint: "]);
    refused(&regard(folder.path(), &["solve", "in.tsp", "--model", "in.tsp"]), &["in.tsp"]);
    for (from, to, fragments) in [
        ("\"tsp\"", "\"jssp\"", &["problem", "jssp"][..]),
        ("attention-model", "patchtst", &["kind", "patchtst"]),
        ("\"heads\": 2", "\"heads\": 3", &["heads", "3"]),
        ("\"width\": 16", "\"width\": 1000000000", &["width"]),
        ("\"width\": 16", "\"width\": 32", &["describes another network"]),
        ("\"tanh_clipping\"", "\"tanh_cliping\"", &["tanh_cliping", "tanh_clipping"]),
        ("{", "[", &["config.json"]),
    ] {
        assert!(config.contains(from), "{from} is not in {config}");
        write("config.json", config.replacen(from, to, 1).as_bytes());
        refused(&solve(), fragments);
    }
    write("config.json", config.as_bytes());
    write("model.safetensors", &weights[..weights.len() / 2]);
    refused(&solve(), &["model.safetensors"]);
    write("model.safetensors", b"");
    refused(&solve(), &["model.safetensors"]);
    fs::remove_file(folder.path().join("model/model.safetensors")).unwrap();
    refused(&solve(), &["model.safetensors"]);
}

#[test]
fn malformed_checkpoints() {
    let folder = folder();
    for (bytes, fragments) in [
        (&b""[..], &["w.pt"][..]),
        (b"not a checkpoint at all", &["w.pt"]),
        (b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.", &["w.pt"]),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff{", &["w.pt"]),
    ] {
        fs::write(folder.path().join("w.pt"), bytes).unwrap();
        let said = regard(folder.path(), &["model", "import", "kool", "w.pt", "--out", "new"]);
        refused(&said, fragments);
        assert!(!folder.path().join("new").exists());
    }
    refused(&regard(folder.path(), &["model", "import", "kool", "none.pt", "--out", "new"]), &["none.pt"]);
}

#[test]
fn wrong_arguments() {
    let folder = folder_with("in.tsp", PENTAGON);
    fs::write(folder.path().join("b.tsp"), PENTAGON).unwrap();
    fs::write(folder.path().join("a.tour"), "").unwrap();
    fs::write(folder.path().join("part.json"), "{\"tour\": [1, 2]}").unwrap();
    fs::write(folder.path().join("noise.npz"), "noise").unwrap();
    fs::create_dir(folder.path().join("none")).unwrap();
    fs::write(folder.path().join("places.csv"), "id,x,y\n1,0,0\n2,0,1\n3,1,1\n4,1,0\n").unwrap();
    for (arguments, fragments) in [
        ("solve in.tsp --decode gready", &["--decode", "gready", "sample:K"][..]),
        ("solve in.tsp --decode sample:0", &["--decode", "sample"]),
        ("solve in.tsp --decode beam:99999999999999999999", &["--decode", "beam"]),
        ("solve in.tsp --augment 3", &["--augment", "1 or 8"]),
        ("solve in.tsp --best -1", &["--best"]),
        ("solve in.tsp --best nan", &["--best", "at least 0"]),
        ("solve in.tsp --time never", &["--time", "2s"]),
        ("solve in.tsp --threads 0", &["--threads", "from 1 to 1024"]),
        ("solve in.tsp --device cuda", &["cuda", "not built", "hint: "]),
        ("solve in.tsp --device abacus", &["abacus", "unknown device"]),
        ("solve in.tsp --out in.tsp", &[".tour"]),
        ("solve in.tsp --plot in.gif", &[".svg or .png"]),
        ("solve in.tsp b.tsp --out one.tour", &["--out", "folder"]),
        ("solve in.tsp b.tsp --best 5", &["--best", "several files"]),
        ("solve in.tsp --model model --decode sample:9999999", &["--decode", "more than"]),
        ("solve in.tsp --temperature 0.5", &["--temperature applies only to sampling", "--decode sample:K"]),
        ("solve in.tsp --top-p 0.5 --decode beam:3", &["--top-p applies only to sampling"]),
        ("solve in.tsp --capacity 3", &["in.tsp: --capacity is for tables", "leave it out"]),
        ("solve in.tsp --column demand=Weight", &["--column is for tables"]),
        ("solve in.tsp --column demands=Weight", &["--column", "did you mean `demand`?"]),
        ("solve places.csv --capacity 3", &["--capacity does not apply", "`--column demand=NAME`"]),
        ("solve places.csv --required-prize 3", &["--required-prize does not apply", "`--column penalty=NAME`"]),
        ("solve places.csv --max-length 3", &["--max-length does not apply", "hint: "]),
        ("data check places.csv --capacity 3", &["--capacity does not apply"]),
        ("data show in.tsp --skip-bad", &["--skip-bad is for tables"]),
        ("data verify in.tsp a.tour --depot 1", &["--depot is for tables"]),
        ("solve in.tsp --out in.geojson", &["in.geojson", "latitude and longitude", ".csv"]),
        ("solve places.csv --out places.sol", &["write .tour or .csv"]),
        ("solve in.tsp b.tsp --warm-start a.tour", &["--warm-start", "several files"]),
        ("solve in.tsp --warm-start none.tour", &["none.tour"]),
        ("solve in.tsp --warm-start part.json", &["--warm-start part.json", "not a solution"]),
        ("solve in.tsp --warm-start a.tour --no-improve", &["--no-improve"]),
        ("bench paper --table kool --rows max", &["--rows does not apply to --table kool", "--table patchtst"]),
        ("bench paper --table patchtst --limit 5", &["--limit does not apply to --table patchtst", "--table kool"]),
        ("solve none.tsp --model model", &["none.tsp", "hint: "]),
        ("solve . --model model", &["error"]),
        ("solve", &["FILE"]),
        ("eval --model model", &["--paper-set"]),
        ("eval --model model --paper-set cvrp20", &["solves `tsp`", "cvrp"]),
        ("eval --model model --paper-set tsp0", &["tsp0"]),
        ("eval --model model --paper-set tsp20 --data in.tsp", &["--data"]),
        ("eval --model model --paper-set tsp20 --batch 0", &["--batch"]),
        ("data generate --problem jssp --n 5 --out x", &["--problem", "tsp"]),
        ("data generate --n 0 --out x", &["--n", "at least 1"]),
        ("data generate --n 5 --distribution hills --format csv --out x", &["CSV cannot hold", "write TSPLIB (.tsp)"]),
        ("data generate --n 1000000 --instances 1000000 --out x", &["more than", "hint: "]),
        ("data generate --n 5 --instances 2 --out x.csv", &["x.csv", "folder"]),
        ("data generate --n 5 --out x.cvs", &["--out x.cvs: expected a name that ends in .csv, ", "--out x.cvs/"]),
        ("explain in.tsp --model model --html x.foo", &["--html", "a name that ends in .html or .htm"]),
        ("solve in.tsp --time -1s", &["'-1s' for '--time <TIME>': expected a time"]),
        ("solve in.tsp --capacity -1", &["'-1' for '--capacity <VALUE>': expected a number above 0"]),
        ("solve in.tsp --max-length 0", &["'0' for '--max-length <VALUE>': expected a number above 0"]),
        ("solve in.tsp --temperature -1", &["'-1' for '--temperature <T>': expected a number above 0"]),
        ("solve in.tsp --seed -1", &["'-1' for '--seed <N>': expected an integer from 0 to 9223372036854775807"]),
        ("train x.toml --seed 9223372036854775808", &["--seed <N>", "from 0 to 9223372036854775807"]),
        ("explain in.tsp --step -1", &["'-1' for '--step <N>': expected an integer of at least 0"]),
        ("forecast x.csv --horizon -1", &["'-1' for '--horizon <H>': expected an integer of at least 1"]),
        ("forecast x.csv --season -7", &["'-7' for '--season <ROWS>': expected an integer of at least 0"]),
        ("forecast x.csv --levels foo", &["'foo' for '--levels <PERCENT>': expected percentages such as 80,95"]),
        ("eval sets/mil --folds 1", &["'1' for '--folds <K>': expected an integer from 2 to 10000"]),
        ("eval --model model --data noise.npz", &["noise.npz: is not an archive of numpy arrays (.npz, a zip file)"]),
        ("bench lib none", &["instance files end in .csv, .tsp, .atsp, "]),
        ("data check in.tsp --tour a.tour", &["a.tour"]),
        ("data check in.tsp b.tsp --solution a.tour", &["--solution", "several"]),
        ("explain attention --input none.json", &["none.json"]),
        ("frobnicate", &["frobnicate"]),
        ("completions cmd", &["cmd", "bash"]),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        refused(&regard(folder.path(), &arguments), fragments);
    }
}

#[test]
fn malformed_input_of_explain() {
    for (text, fragments) in [
        ("{", &["in.json:1", "not JSON"][..]),
        (r#"{"x": [[1, "a"]]}"#, &["in.json", "x[0][1]", "expected a number"]),
        (r#"{"x": [[1, 2]], "heads": 3}"#, &["heads", "width 2"]),
    ] {
        let folder = folder_with("in.json", text);
        refused(&regard(folder.path(), &["explain", "attention", "--input", "in.json"]), fragments);
    }
}

#[test]
fn how_an_error_looks() {
    let folder = folder_with("in.tsp", &pentagon("5 59 -81\n", "5 59\n"));
    let said = regard(folder.path(), &["solve", "in.tsp", "--model", "model"]);
    insta::assert_snapshot!("error_tsplib", said.to_string());
    let said = regard(Path::new("."), &["solve", "in.tsp", "--decode", "gready"]);
    insta::assert_snapshot!("error_decode", said.to_string());
}
