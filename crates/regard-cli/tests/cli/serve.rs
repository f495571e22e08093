//! `regard serve`: every endpoint, every way to call it wrongly, and its end.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{command, regard};

/// A service that ends with the test.
struct Service {
    process: Child,
    address: SocketAddr,
    _out: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The parts of an error, after checking its status.
    fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        let error = self.json()["error"].clone();
        assert!(error["what"].as_str().is_some_and(|what| !what.is_empty()), "{self:?}");
        error
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), arguments)
    }

    fn in_folder(folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let all: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(arguments).copied().collect();
        let errors = std::fs::File::create(folder.path().join("log.txt")).unwrap();
        let mut process = command(folder.path(), &all).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let log = || std::fs::read_to_string(folder.path().join("log.txt")).unwrap();
        let url = match line.starts_with('{') {
            true => serde_json::from_str::<Value>(&line).unwrap()["url"].as_str().unwrap().to_owned(),
            false => line.trim().to_owned(),
        };
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix('/'));
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line} {}", log()));
        Self { process, address, _out: out, folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log.txt")).unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends a request and reads the answer.
    fn send(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A service that refuses a body may close before all of it was sent.
        let _ = stream.write_all(self.head(head, body.len()).as_bytes()).and_then(|()| stream.write_all(body));
        answer(&mut stream)
    }

    fn head(&self, head: &str, length: usize) -> String {
        let host = self.address;
        format!("{head}Host: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\n"), b"")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json\r\n");
        self.send(&head, body.to_string().as_bytes())
    }

    fn post_file(&self, path: &str, body: &[u8]) -> Answer {
        self.send(&format!("POST {path} HTTP/1.1\r\nContent-Type: text/csv\r\n"), body)
    }

    fn terminate(&self) {
        let process = self.process.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    }

    /// Waits for the end of the process.
    fn end(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the service does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads an answer to the end of the connection.
fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer { status, headers: headers.to_owned(), body: body.to_owned() }
}

fn example(name: &str) -> String {
    std::fs::read_to_string(example_path(name)).unwrap()
}

fn example_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn file(name: &str) -> Value {
    json!({ "name": name, "content": example(name) })
}

/// An answer without what differs from call to call.
fn steady(mut value: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.remove("seconds");
                object.values_mut().for_each(clean);
            }
            Value::Array(list) => list.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut value);
    value
}

/// The JSON of a command that is run in a folder with the examples.
fn told(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["capitals.csv", "deliveries.csv", "molecules.csv", "towns.csv", "bags.csv", "station.csv", "loaves.csv"]
    {
        std::fs::copy(example_path(name), folder.path().join(name)).unwrap();
    }
    let all: Vec<&str> = arguments.iter().chain(&["--json"]).copied().collect();
    regard(folder.path(), &all).done().json()
}

#[test]
fn answers_are_those_of_the_command_line() {
    let service = Service::start(&[]);
    let without_notes = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut value = answer.json();
        assert!(value.as_object_mut().unwrap().remove("notes").is_some_and(|notes| notes.is_array()));
        steady(value)
    };
    for name in ["capitals.csv", "deliveries.csv"] {
        let answer = service.post("/v1/solve", &json!({ "file": file(name), "seed": 7, "decode": "sample:64" }));
        assert_eq!(without_notes(&answer), steady(told(&["solve", name, "--seed", "7", "--decode", "sample:64"])));
    }
    let answer =
        service.post_file("/v1/solve?name=capitals.csv&stage_solutions=true", example("capitals.csv").as_bytes());
    assert_eq!(without_notes(&answer), steady(told(&["solve", "capitals.csv", "--stage-solutions"])));

    for (name, model, options, words) in [
        ("molecules.csv", "regard-solubility", json!({ "levels": [80] }), vec!["--levels", "80"]),
        ("molecules.csv", "regard-solubility", json!({ "only": "network" }), vec!["--only", "network"]),
        (
            "bags.csv",
            "regard-max",
            json!({ "group_by": "bag", "importance": true }),
            vec!["--group-by", "bag", "--importance"],
        ),
        (
            "towns.csv",
            "regard-clusters",
            json!({ "group_by": "town", "rescale": true }),
            vec!["--group-by", "town", "--rescale"],
        ),
    ] {
        let mut body = json!({ "file": file(name), "model": model });
        body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let answer = service.post("/v1/predict", &body);
        let expected = told(&[&["predict", "--model", model, name][..], &words].concat());
        assert_eq!(without_notes(&answer), json!({ "predictions": expected }), "{name}");
    }
    let body =
        json!({ "file": file("bags.csv"), "model": "regard-max", "group_by": "bag", "attribution": "leave-one-out" });
    let expected =
        told(&["predict", "--model", "regard-max", "bags.csv", "--group-by", "bag", "--attribution", "leave-one-out"]);
    assert_eq!(without_notes(&service.post("/v1/predict", &body)), json!({ "attributions": expected }));

    let body = json!({ "file": file("station.csv"), "model": "regard-etth1", "horizon": 24 });
    let expected = told(&["forecast", "--model", "regard-etth1", "station.csv", "--horizon", "24"]);
    assert_eq!(without_notes(&service.post("/v1/forecast", &body)), steady(expected));

    let body = json!({ "file": file("capitals.csv"), "filter": "decode.3.probability" });
    let expected = told(&["explain", "capitals.csv", "--filter", "decode.3.probability"]);
    assert_eq!(without_notes(&service.post("/v1/explain", &body)), expected);
    let body =
        json!({ "file": file("molecules.csv"), "model": "regard-solubility", "layer": 0, "head": 1, "example": "5" });
    let expected = told(&[
        "explain",
        "molecules.csv",
        "--model",
        "regard-solubility",
        "--layer",
        "0",
        "--head",
        "1",
        "--example",
        "5",
    ]);
    assert_eq!(without_notes(&service.post("/v1/explain", &body)), expected);
    let answer = service.send("POST /v1/explain/attention HTTP/1.1\r\n", b"");
    assert_eq!(without_notes(&answer), told(&["explain", "attention"]));
}

#[test]
fn requests_together_get_the_same_bits_as_alone() {
    let service = Service::start(&["--batch-wait", "20ms", "--workers", "2"]);
    let molecules = example("molecules.csv");
    let (header, rows) = molecules.split_once('\n').unwrap();
    let bodies: Vec<Value> = rows
        .lines()
        .map(|row| json!({ "file": { "name": "one.csv", "content": format!("{header}\n{row}\n") }, "model": "regard-solubility" }))
        .collect();
    let alone: Vec<String> = bodies.iter().map(|body| service.post("/v1/predict", body).body).collect();
    let together: Vec<String> = thread::scope(|scope| {
        let service = &service;
        let send = |body| scope.spawn(move || service.post("/v1/predict", body).body);
        let all: Vec<_> = bodies.iter().map(send).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    let metrics = service.get("/metrics").body;
    let count = |name: &str| -> f64 {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    // Some shared a pass: the sizes of all batches sum to more than their number.
    assert!(count("regard_batch_requests_sum") > count("regard_batch_requests_count"), "{metrics}");
    assert_eq!(count("regard_queue_requests"), 0.0);
}

#[test]
fn a_forecast_without_a_time_fits_into_the_time_of_a_request() {
    let service = Service::start(&["--request-time", "15s"]);
    let loaves = example("loaves.csv");
    let answer = service.post_file("/v1/forecast?name=loaves.csv&horizon=7", loaves.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = json!({ "file": file("loaves.csv"), "horizon": 7, "time": null });
    assert_eq!(service.post("/v1/forecast", &body).status, 200);
    let error = service.post_file("/v1/forecast?name=loaves.csv&horizon=7&time=40s", loaves.as_bytes()).error(422);
    assert_eq!(error["where"], "option time");
}

#[test]
fn files_that_no_option_names_are_noted() {
    let service = Service::start(&[]);
    let roads = json!({ "name": "roads.csv", "content": "0,1,2\n1,0,3\n2,3,0\n" });
    let best = json!({ "name": "best_known.csv", "content": "name,cost\nplaces,6\n" });
    let places = json!({ "name": "places.csv", "content": "id,x,y\na,0,0\nb,0,1\nc,1,0\n" });
    let notes = |path: &str, body: Value| {
        let answer = service.post(path, &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let notes = answer.json()["notes"].clone();
        let notes: Vec<String> = serde_json::from_value(notes).unwrap();
        notes.into_iter().filter(|note| note.contains("is not used")).collect::<Vec<_>>()
    };
    let files = json!([roads, best]);
    let unused = |options: &str| vec![format!("the file `roads.csv` is not used{options}")];
    let both = unused("; name it in the option `warm_start` or `distances`");
    assert_eq!(notes("/v1/solve", json!({ "file": places, "files": files })), both);
    let named = json!({ "file": places, "files": files, "distances": "roads.csv" });
    assert!(notes("/v1/solve", named).is_empty());
    let distances = unused("; name it in the option `distances`");
    assert_eq!(notes("/v1/read", json!({ "file": places, "files": files })), distances);
    let explained = unused("; name it in the option `distances` or `future`");
    assert_eq!(notes("/v1/explain", json!({ "file": places, "files": files })), explained);
    let nodes = json!({ "name": "nodes.csv", "content": "id,x\n1,2\n2,3\n" });
    let edges = json!({ "name": "edges.csv", "content": "source,target\n1,2\n" });
    let graph = json!({ "file": nodes, "files": [edges, roads], "family": "graphs" });
    assert_eq!(notes("/v1/read", graph), unused("; name it in the option `edges`"));
    for (name, model, options) in
        [("bags.csv", "regard-max", ""), ("molecules.csv", "regard-solubility", "; name it in the option `edges`")]
    {
        let mut body = json!({ "file": file(name), "files": [roads], "model": model });
        if name == "bags.csv" {
            body["group_by"] = json!("bag");
        }
        assert_eq!(notes("/v1/predict", body), unused(options), "{name}");
    }
    let body = json!({ "file": file("station.csv"), "files": [roads], "model": "regard-etth1", "horizon": 24 });
    assert_eq!(notes("/v1/forecast", body), unused("; name it in the option `future`"));
}

#[test]
fn solutions_come_in_every_format() {
    let service = Service::start(&[]);
    let body = json!({ "file": file("deliveries.csv"), "decode": "greedy", "formats": ["sol", "csv", "geojson", "gpx", "json"] });
    let files = service.post("/v1/solve", &body).json()["files"].clone();
    for (ending, begin) in [("sol", "Route #1:"), ("csv", "route,"), ("geojson", "{"), ("gpx", "<?xml"), ("json", "{")]
    {
        assert!(files[ending].as_str().unwrap().starts_with(begin), "{ending}: {files}");
    }
    let body = json!({ "file": file("deliveries.csv"), "decode": "greedy", "formats": ["tour"] });
    assert!(service.post("/v1/solve", &body).error(422)["what"].as_str().unwrap().contains("write .sol"));
    service.post("/v1/solve", &json!({ "file": file("capitals.csv"), "formats": ["png"] })).error(400);
    // A solution that was sent along is where the search starts.
    let tour = service.post("/v1/solve", &json!({ "file": file("capitals.csv"), "formats": ["tour"] })).json()["files"]
        ["tour"]
        .clone();
    let body = json!({ "file": file("capitals.csv"), "files": [{ "name": "start.tour", "content": tour }], "warm_start": "start.tour" });
    assert_eq!(service.post("/v1/solve", &body).json()["stages"][0]["by"], "start");
    let body = json!({ "file": file("capitals.csv"), "warm_start": "/etc/hostname" });
    assert!(service.post("/v1/solve", &body).error(422)["what"].as_str().unwrap().contains("was not sent"));
}

#[test]
fn files_are_read_for_the_page() {
    let service = Service::start(&[]);
    let read = |body: Value| service.post("/v1/read", &body);
    let routes = read(json!({ "file": file("deliveries.csv") })).json();
    assert_eq!(
        (&routes["kind"], &routes["geographic"], &routes["depot"]),
        (&json!("routes"), &json!(true), &json!(true))
    );
    assert_eq!(
        (&routes["facts"]["capacity"], &routes["nodes"][0]["x"], &routes["nodes"][0]["demand"]),
        (&json!(40.0), &json!(4.3517), &json!(0.0))
    );
    let table =
        |content: &str| read(json!({ "file": { "name": "t.csv", "content": content }, "family": "routes" })).json();
    let pickups = table("id,x,y,pickup\nhub,0,0,\nshop,3,0,\nbar,0,1,shop\n");
    assert_eq!(pickups["columns"], json!([{ "name": "pickup", "kind": "node" }]));
    assert_eq!((&pickups["nodes"][1]["pickup"], &pickups["nodes"][2]["pickup"]), (&json!(null), &json!("shop")));
    let windows =
        table("# capacity: 9\n# vehicles: 2\n# speed: 30\nid,x,y,demand,due\nhub,0,0,,\na,3,0,2,50\nb,0,1,1,\n");
    assert_eq!((&windows["problem"], &windows["nodes"][2]["due"]), (&json!("cvrptw"), &json!(null)));
    assert_eq!(
        windows["options"],
        json!([
            { "name": "capacity", "value": "9", "requested": true },
            { "name": "vehicles", "value": "2", "requested": false },
            { "name": "speed", "value": "30", "requested": false },
            { "name": "service_time", "value": null, "requested": false },
        ])
    );
    let sets = read(json!({ "file": file("bags.csv"), "model": "regard-max", "group_by": "bag" })).json();
    assert_eq!((&sets["kind"], &sets["sets"][0]["rows"][0][0]), (&json!("sets"), &json!(17.0)));
    let sets = read(json!({ "file": file("towns.csv"), "family": "sets", "group_by": "town" })).json();
    assert_eq!(sets["sets"].as_array().unwrap().len(), 3);
    let graphs = read(json!({ "file": file("molecules.csv") })).json();
    let first = &graphs["graphs"][0];
    assert_eq!(graphs["kind"], "graphs");
    assert!(first["smiles"].is_string(), "{first}");
    let other = &graphs["graphs"][4];
    assert_eq!(other["laplacian"]["vectors"].as_array().unwrap().len(), other["nodes"].as_array().unwrap().len());
    let body = json!({ "file": file("molecules.csv"), "model": "regard-solubility", "filter": "positions.laplacian", "example": "5" });
    let steps = service.post("/v1/explain", &body).json()["steps"].clone();
    let of = |name: &str| steps.as_array().unwrap().iter().find(|step| step["name"] == name).unwrap()["values"].clone();
    assert_eq!(other["laplacian"]["vectors"], of("positions.laplacian.vectors"));
    assert_eq!(other["laplacian"]["values"], of("positions.laplacian.eigenvalues"));
    assert!(first["nodes"][0]["label"].is_string() && first["nodes"][0]["x"].is_number(), "{first}");
    let series = read(json!({ "file": file("loaves.csv") })).json();
    assert_eq!((&series["kind"], &series["series"][0]["id"]), (&json!("series"), &json!("market")));
    let of_model = read(json!({ "file": file("station.csv"), "model": "regard-etth1" })).json();
    assert_eq!(of_model["series"].as_array().unwrap().len(), 7);
    read(json!({ "file": file("loaves.csv"), "model": "regard-etth1", "family": "sets" })).error(422);
    read(json!({ "file": file("loaves.csv"), "family": "songs" })).error(400);
}

#[test]
fn everything_else_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("runs/mine");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("experiment.toml"), "[task]\nfamily = \"routes\"\n").unwrap();
    std::fs::write(run.join("metrics.jsonl"), "{\"kind\":\"step\",\"step\":1}\n{\"kind\":\"step\",\"step\":2}\n")
        .unwrap();
    let service = Service::in_folder(folder, &["--runs", "runs"]);
    let models = service.get("/v1/models").json();
    let of =
        |name: &str| models["models"].as_array().unwrap().iter().find(|model| model["name"] == name).cloned().unwrap();
    assert_eq!((&of("regard-tsp")["problem"], &of("regard-tsp")["default"]), (&json!("tsp"), &json!(true)));
    assert_eq!(
        (&of("regard-solubility")["family"], &of("regard-etth1")["family"]),
        (&json!("graphs"), &json!("series"))
    );
    assert_eq!(models["limits"]["body"], 8 << 20);
    for example in service.get("/v1/examples").json()["examples"].as_array().unwrap() {
        let mut body = json!({ "file": { "name": example["name"], "content": example["content"] } });
        body["model"] = example["model"].clone();
        body.as_object_mut().unwrap().extend(example["options"].as_object().unwrap().clone());
        let path = match example["family"].as_str().unwrap() {
            "routes" => "/v1/solve",
            "series" => continue,
            _ => "/v1/predict",
        };
        assert_eq!(service.post(path, &body).status, 200, "{}", example["name"]);
    }
    assert_eq!(service.get("/v1/runs").json()["runs"][0]["name"], "mine");
    let lines = service.get("/v1/runs/mine/metrics?from=1").json();
    assert_eq!(lines, json!({ "lines": [{ "kind": "step", "step": 2 }], "next": 2 }));
    service.get("/v1/runs/..%2Fmine/metrics").error(404);
    service.get("/v1/runs/mine/metrics?from=x").error(400);
    assert_eq!(service.get("/v1/session").json()["token"], false);
    assert_eq!((service.get("/healthz").status, service.get("/readyz").status), (200, 200));
    let document = service.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in ["/v1/solve", "/v1/predict", "/v1/forecast", "/v1/explain", "/v1/explain/attention", "/v1/read"] {
        assert!(document["paths"][path]["post"].is_object(), "{path}");
    }
    let page = service.get("/");
    assert!(page.status == 200 && page.body.contains("<html"), "{page:?}");
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'self'"));
    assert_eq!(
        (page.header("x-content-type-options"), page.header("x-frame-options")),
        (Some("nosniff"), Some("DENY"))
    );
    let tag = page.header("etag").unwrap();
    assert_eq!(service.send(&format!("GET / HTTP/1.1\r\nIf-None-Match: {tag}\r\n"), b"").status, 304);
    let log = service.log();
    assert!(log.contains("endpoint=\"/v1/solve\"") && !log.contains("Aldermere"), "{log}");
}

#[test]
fn wrong_requests_are_answered_with_what_is_expected() {
    let service = Service::start(&["--max-body", "64KiB", "--request-time", "10s"]);
    let solve = |body: Value| service.post("/v1/solve", &body);
    service.send("POST /v1/solve HTTP/1.1\r\nContent-Type: application/json\r\n", b"{").error(400);
    service.send("POST /v1/solve HTTP/1.1\r\nContent-Type: application/json\r\n", b"").error(400);
    service.send("POST /v1/solve HTTP/1.1\r\nContent-Type: application/json\r\n", b"\xff\xfe\x00").error(400);
    let deep = format!("{{\"file\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let error =
        service.send("POST /v1/solve HTTP/1.1\r\nContent-Type: application/json\r\n", deep.as_bytes()).error(400);
    assert!(error["what"].as_str().unwrap().contains("recursion limit"), "{error}");
    for name in ["/etc/passwd", "../capitals.csv", "a/b.csv", "..", "", "c:\\x.csv", "a\u{0}b"] {
        let error = solve(json!({ "file": { "name": name, "content": "id,x,y\n1,2,3\n" } })).error(400);
        assert_eq!(error["where"], "file.name", "{error}");
    }
    for (body, status, place) in [
        (json!({ "file": file("capitals.csv"), "time": "soon" }), 400, Value::Null),
        (json!({ "file": file("capitals.csv"), "time": "1m" }), 422, json!("option time")),
        (json!({ "file": file("capitals.csv"), "time": ["1s"] }), 400, json!("option time")),
        (json!({ "file": file("capitals.csv"), "out": "x.tour" }), 400, Value::Null),
        (json!({ "file": file("capitals.csv"), "model": "models/regard-tsp" }), 404, json!("model")),
        (json!({ "file": file("capitals.csv"), "model": "regard-cvrp" }), 422, Value::Null),
        (json!({ "file": file("capitals.csv"), "model": "regard-max" }), 422, Value::Null),
        (
            json!({ "file": { "name": "a.csv", "content": "id,x,y\n1,2,three\n" } }),
            422,
            json!("a.csv, line 2, field y"),
        ),
        (json!({ "file": { "name": "a.csv", "content": "" } }), 422, json!("a.csv")),
        (json!({ "file": file("capitals.csv"), "temperature": 2.0 }), 422, Value::Null),
        (json!({ "file": file("capitals.csv"), "decode": "beam:999999" }), 422, Value::Null),
    ] {
        let error = solve(body.clone()).error(status);
        assert_eq!(error["where"], place, "{body}: {error}");
    }
    service.post("/v1/predict", &json!({ "file": file("bags.csv") })).error(400);
    let error = service.post("/v1/predict", &json!({ "file": file("bags.csv"), "model": "regard-mx" })).error(404);
    assert_eq!(error["hint"], "did you mean `regard-max`?");
    service.post("/v1/predict", &json!({ "file": file("bags.csv"), "model": "regard-tsp" })).error(422);
    service.post("/v1/forecast", &json!({ "file": file("loaves.csv"), "horizon": 7, "time": "40s" })).error(422);
    service.post("/v1/forecast", &json!({ "file": file("loaves.csv"), "time": "5s" })).error(422);
    // Graphs look for edges beside them: not on the disk of the service.
    let error = service
        .post("/v1/read", &json!({ "file": { "name": "nodes.csv", "content": "id,x\n1,2\n" }, "family": "graphs" }))
        .error(422);
    assert!(error["what"].as_str().unwrap().contains("was not sent along"), "{error}");
    service.post("/v1/explain/attention", &json!({ "x": "words" })).error(422);
    service.get("/v1/solve").error(405);
    service.get("/nothing").error(404);
    service.get("/assets/../Cargo.toml").error(404);
    service.send("POST /v1/solve?name=a.csv HTTP/1.1\r\nContent-Type: multipart/form-data\r\n", b"x").error(415);
    service.post_file("/v1/solve", b"id,x,y\n").error(400);
    service.post_file("/v1/solve?name=a.csv&capacity=many", b"id,x,y\n").error(400);
    let large = vec![b'1'; 100_000];
    assert!(
        service.post_file("/v1/solve?name=a.csv", &large).error(413)["hint"].as_str().unwrap().contains("--max-body")
    );
    // Without a length the body is cut where it becomes too large.
    let mut stream = service.connect();
    let head = format!(
        "POST /v1/solve?name=a.csv HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        service.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..10 {
        let _ = stream.write_all(format!("2710\r\n{}\r\n", "1".repeat(10_000)).as_bytes());
    }
    assert_eq!(answer(&mut stream).status, 413);
    // A small file that unpacks to a large one.
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0];
    service.post_file("/v1/solve?name=a.csv.gz", &bomb).error(422);
    for host in ["example.org", "evil.localhost.example"] {
        let mut stream = service.connect();
        stream
            .write_all(format!("GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        answer(&mut stream).error(403);
    }
    service
        .send("POST /v1/solve HTTP/1.1\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\n", b"x")
        .error(403);
    // After all that it still answers.
    assert_eq!(solve(json!({ "file": file("capitals.csv"), "decode": "greedy", "no_improve": true })).status, 200);
}

#[test]
fn connections_that_hang_are_closed_and_harm_nobody() {
    let service = Service::start(&["--connections", "8", "--queue", "64"]);
    let begun = Instant::now();
    let mut slow: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = service.connect();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    // The head of a request is there, its body never comes.
    let mut half = service.connect();
    half.write_all(service.head("POST /v1/solve?name=a.csv HTTP/1.1\r\n", 100).as_bytes()).unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(service.get("/healthz").status, 200, "others are answered meanwhile");
    for stream in &mut slow {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut bytes = Vec::new();
    let _ = half.read_to_end(&mut bytes);
    assert_eq!(service.get("/healthz").status, 200);
}

#[test]
fn a_computation_ends_when_its_client_goes_or_its_time_is_over() {
    let service = Service::start(&["--workers", "1", "--request-time", "3s"]);
    // Bounded search through so many places takes much longer than three seconds.
    let rows: String =
        (0..30_000_i64).map(|at| format!("{at},{},{}\n", (at * 7919) % 10_007, (at * 104_729) % 9973)).collect();
    let large = format!("id,x,y\n{rows}");
    let error = service.post_file("/v1/solve?name=large.csv", large.as_bytes()).error(504);
    assert!(error["hint"].as_str().unwrap().contains("--request-time"));
    {
        let mut stream = service.connect();
        stream.write_all(service.head("POST /v1/solve?name=large.csv HTTP/1.1\r\n", large.len()).as_bytes()).unwrap();
        stream.write_all(large.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(500));
    }
    // The only worker is free again.
    let body = json!({ "file": file("capitals.csv"), "decode": "greedy", "no_improve": true });
    let begun = Instant::now();
    assert_eq!(service.post("/v1/solve", &body).status, 200, "{:?}", begun.elapsed());
    assert!(service.get("/metrics").body.contains("regard_gone_total 1"));
}

#[test]
fn too_many_requests_are_told_when_to_come_again() {
    let service = Service::start(&["--workers", "1", "--queue", "2"]);
    let (done, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let answer = service.post("/v1/solve", &json!({ "file": file("capitals.csv"), "time": "500ms" }));
                match answer.status {
                    200 => done.fetch_add(1, Ordering::Relaxed),
                    429 => {
                        assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
                        answer.error(429);
                        refused.fetch_add(1, Ordering::Relaxed)
                    }
                    status => panic!("{status} {answer:?}"),
                };
            });
        }
    });
    let (done, refused) = (done.into_inner(), refused.into_inner());
    assert!(done >= 2 && refused >= 1 && done + refused == 12, "{done} {refused}");
}

#[cfg(unix)]
#[test]
fn a_signal_under_load_loses_no_accepted_request() {
    let mut service = Service::start(&["--workers", "2", "--queue", "64"]);
    let (sent, answers) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let body = json!({ "file": file("capitals.csv"), "time": "300ms" });
                sent.fetch_add(1, Ordering::Relaxed);
                let answer = service.post("/v1/solve", &body);
                answers.lock().unwrap().push(answer);
            });
        }
        // A client that is killed meanwhile changes nothing.
        let mut killed = service.connect();
        killed.write_all(service.head("POST /v1/solve?name=a.csv HTTP/1.1\r\n", 10).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(700));
        drop(killed);
        service.terminate();
        thread::sleep(Duration::from_millis(100));
        // While the accepted requests are computed, new ones are told that the service ends.
        service.get("/readyz").error(503);
        service.post("/v1/solve", &json!({ "file": file("capitals.csv") })).error(503);
        assert_eq!(service.get("/healthz").status, 200);
    });
    let answers = answers.into_inner().unwrap();
    assert_eq!(answers.len(), sent.into_inner());
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.json()["checked"] == true), "{answers:?}");
    assert_eq!(service.end(), Some(0));
}

#[test]
fn other_machines_and_pages_need_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let refused = regard(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert!(refused.code == Some(2) && refused.err.contains("--token-file"), "{refused:?}");
    std::fs::write(folder.path().join("short.txt"), "secret\n").unwrap();
    let refused = regard(folder.path(), &["serve", "--token-file", "short.txt"]);
    assert!(refused.code == Some(2) && refused.err.contains("at least 16"), "{refused:?}");
    std::fs::create_dir_all(folder.path().join("broken")).unwrap();
    std::fs::write(folder.path().join("broken/config.json"), "{\"kind\": \"set-transformer\"").unwrap();
    std::fs::write(folder.path().join("broken/model.safetensors"), "").unwrap();
    let refused = regard(folder.path(), &["serve", "--models", "broken", "--listen", "127.0.0.1:0"]);
    assert!(refused.code == Some(2) && refused.err.contains("--models broken"), "{refused:?}");

    let token = folder.path().join("token.txt");
    std::fs::write(&token, "0123456789abcdef0123\n").unwrap();
    // A file that others can read is said, on a line that is no line of the log.
    #[cfg(unix)]
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let service =
        Service::in_folder(folder, &["--token-file", "token.txt", "--allow-origin", "https://example.org", "--json"]);
    assert_eq!(service.get("/v1/session").json()["token"], true);
    assert_eq!((service.get("/healthz").status, service.get("/").status), (200, 200));
    for path in ["/v1/models", "/metrics", "/openapi.json", "/v1/runs"] {
        assert_eq!(service.get(path).header("www-authenticate"), Some("Bearer"), "{path}");
        service.get(path).error(401);
        let wrong = format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef0124\r\n");
        service.send(&wrong, b"").error(401);
        let right = format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef0123\r\n");
        assert_eq!(service.send(&right, b"").status, 200, "{path}");
    }
    service.post("/v1/solve", &json!({ "file": file("capitals.csv") })).error(401);
    let preflight = service.send(
        "OPTIONS /v1/solve HTTP/1.1\r\nOrigin: https://example.org\r\nAccess-Control-Request-Method: POST\r\n",
        b"",
    );
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("https://example.org")));
    let foreign = service.send("GET /v1/session HTTP/1.1\r\nOrigin: https://evil.example\r\n", b"");
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (403, None));
    let log = service.log();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}
