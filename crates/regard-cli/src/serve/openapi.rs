//! `GET /openapi.json`: the interface, from the types of the answers and the arguments of the commands.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::answer::{ATTENTION, DELETE_EDGES, EXPLAIN, FORECAST, PREDICT, PredictAnswer, SOLVE, SolveAnswer};
use super::error::ErrorBody;
use super::options::schemas;
use super::reading::{GRAPHS, OF_MODEL, PLACES, ReadAnswer, SERIES};
use super::router::{ExamplesAnswer, ModelsAnswer, RunsAnswer, Session};
use super::{Service, runs};
use crate::args::{AttentionArgs, ExplainFileArgs, ForecastArgs, PredictArgs, ShowArgs, SolveArgs};
use crate::commands::forecast::ForecastResult;

/// The document.
pub(super) fn document(service: &Service) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for post in posts() {
        let answer = (post.answer)(&mut generator);
        paths.insert(post.path.to_owned(), json!({ "post": post.operation(answer) }));
    }
    for get in gets(&mut generator) {
        paths.insert(get.path.to_owned(), json!({ "get": get.operation() }));
    }
    let error = generator.subschema_for::<ErrorBody>();
    let mut components: Map<String, Value> = generator.take_definitions(true);
    components.insert("Error".to_owned(), json!(error));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "regard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Attention models on structured data: routes, sets, graphs and time series. Every answer is that of \
                            the command of the same name with --json; `notes` are what the command writes to standard error.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": components },
    });
    if service.access.has_token() {
        document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
        document["security"] = json!([{ "token": [] }]);
    }
    document
}

/// A schema of a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Value;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    json!(generator.subschema_for::<T>())
}

/// The schema of a type with `notes`.
fn noted<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let schema = generator.subschema_for::<T>();
    json!({ "allOf": [schema, { "type": "object", "required": ["notes"], "properties": { "notes": texts() } }] })
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// The trace of `regard explain`.
fn trace(_: &mut SchemaGenerator) -> Value {
    json!({
        "type": "object",
        "required": ["schema", "model", "input", "steps", "notes"],
        "properties": {
            "schema": { "const": regard::explain::SCHEMA },
            "model": { "type": "string" },
            "input": { "type": "string" },
            "layout": { "type": "object" },
            "steps": { "type": "array", "items": { "type": "object", "required": ["name", "formula", "axes", "shape", "values"] } },
            "parameters": { "type": "array" },
            "notes": texts(),
        },
    })
}

/// An endpoint that computes.
struct Post {
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    body: Body,
    answer: SchemaOf,
}

/// The body of an endpoint that computes.
enum Body {
    /// A file with options.
    File { options: Map<String, Value>, model: Model },
    /// The input of an attention layer, with options in the query.
    Attention(Map<String, Value>),
}

/// The name of a model in a body.
#[derive(Clone, Copy, PartialEq)]
enum Model {
    Optional,
    Required,
}

fn posts() -> [Post; 6] {
    let with = |mut options: Map<String, Value>, name: &str, schema: Value| {
        options.insert(name.to_owned(), schema);
        options
    };
    let deletion = json!({
        "type": ["array", "null"],
        "items": {
            "type": "array", "minItems": 2, "maxItems": 2,
            "items": { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 },
        },
        "description": "Graphs: undirected edges that are taken away from the graph `example`, else from the first; two nodes \
                        each, numbered from 0",
    });
    let example = json!({ "type": ["string", "null"], "description": "Graphs: the graph that `delete_edges` changes" });
    let of_predict = with(schemas::<PredictArgs>(&PREDICT), "example", example);
    let endings: Vec<&str> = regard::routing::formats::solution::ENDINGS.to_vec();
    let formats = json!({
        "type": ["array", "null"],
        "items": { "type": "string", "enum": endings },
        "description": "Formats of files with the solution, which the answer has under `files`",
    });
    let family = json!({
        "type": ["string", "null"],
        "enum": ["routes", "sets", "graphs", "series", null],
        "description": "The family that the file is read as [default: that of the model, else as its content seems]",
    });
    // Which options apply follows from the family.
    let mut reading = schemas::<ShowArgs>(&PLACES);
    reading.extend(schemas::<ShowArgs>(&GRAPHS));
    reading.extend(schemas::<PredictArgs>(&OF_MODEL));
    reading
        .extend(schemas::<ForecastArgs>(&SERIES).into_iter().filter(|(name, _)| name != "duplicates" && name != "id"));
    [
        Post {
            path: "/v1/solve",
            id: "solve",
            summary: "Solve a routing problem, as `regard solve FILE`",
            body: Body::File {
                options: with(schemas::<SolveArgs>(&SOLVE), "formats", formats),
                model: Model::Optional,
            },
            answer: schema_of::<SolveAnswer<'static>>,
        },
        Post {
            path: "/v1/predict",
            id: "predict",
            summary: "Predict for sets, graphs or series, as `regard predict FILE --model MODEL`",
            body: Body::File { options: with(of_predict, DELETE_EDGES, deletion.clone()), model: Model::Required },
            answer: schema_of::<PredictAnswer>,
        },
        Post {
            path: "/v1/forecast",
            id: "forecast",
            summary: "Forecast a table of time series, as `regard forecast FILE`; with `attribution` the answer is that of /v1/predict",
            body: Body::File { options: schemas::<ForecastArgs>(&FORECAST), model: Model::Optional },
            answer: |generator| json!({ "anyOf": [noted::<ForecastResult<'static>>(generator), schema_of::<PredictAnswer>(generator)] }),
        },
        Post {
            path: "/v1/explain",
            id: "explain",
            summary: "Explain what a model computes for a file, as `regard explain FILE`",
            body: Body::File {
                options: with(schemas::<ExplainFileArgs>(&EXPLAIN), DELETE_EDGES, deletion),
                model: Model::Optional,
            },
            answer: trace,
        },
        Post {
            path: "/v1/explain/attention",
            id: "explainAttention",
            summary: "Every number of an attention layer, as `regard explain attention --input BODY`; without a body the example worked by hand",
            body: Body::Attention(schemas::<AttentionArgs>(&ATTENTION)),
            answer: trace,
        },
        Post {
            path: "/v1/read",
            id: "read",
            summary: "What is read from a file: nodes, rows, atoms and bonds, or values",
            body: Body::File { options: with(reading, "family", family), model: Model::Optional },
            answer: schema_of::<ReadAnswer>,
        },
    ]
}

/// The schema of a file in JSON.
fn file() -> Value {
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": 255,
        "pattern": "^(?!\\.{1,2}$)[^/\\\\:\\u0000-\\u001f\\u007f-\\u009f]+$",
        "description": "Name of the file; its ending says what it holds. It has no folder.",
    });
    let of = |content: &str, schema: Value| {
        json!({
            "type": "object", "required": ["name", content], "additionalProperties": false,
            "properties": { "name": name, content: schema },
        })
    };
    let text = json!({ "type": "string", "description": "The text of the file" });
    let bytes = json!({ "type": "string", "pattern": "^([A-Za-z0-9+/]{4})*$", "description": "The bytes of the file in base64" });
    json!({ "oneOf": [of("content", text), of("base64", bytes)] })
}

impl Post {
    fn operation(&self, answer: Value) -> Value {
        let mut operation = json!({
            "operationId": self.id,
            "summary": self.summary,
            "responses": responses(answer, &[400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 503, 504]),
        });
        match &self.body {
            Body::File { options, model } => {
                let mut properties = options.clone();
                properties.insert("file".into(), file());
                properties
                    .insert("files".into(), json!({ "type": ["array", "null"], "items": file(), "maxItems": 16 }));
                let mut required = vec!["file"];
                let kind = if *model == Model::Required {
                    required.push("model");
                    json!("string")
                } else {
                    json!(["string", "null"])
                };
                properties
                    .insert("model".into(), json!({ "type": kind, "description": "Name of a model of /v1/models" }));
                operation["requestBody"] = json!({
                    "required": true,
                    "content": { "application/json": { "schema": {
                        "type": "object", "required": required, "properties": properties, "additionalProperties": false,
                    } } },
                });
            }
            Body::Attention(options) => {
                let parameter = |(name, schema): (&String, &Value)| {
                    let mut schema = schema.clone();
                    // A query has no null.
                    if let Some(kinds) =
                        schema.get("type").and_then(Value::as_array).and_then(|kinds| kinds.first()).cloned()
                    {
                        schema["type"] = kinds;
                    }
                    json!({ "name": name, "in": "query", "schema": schema })
                };
                operation["parameters"] = options.iter().map(parameter).collect();
                operation["requestBody"] =
                    json!({ "required": false, "content": { "application/json": { "schema": { "type": "object" } } } });
            }
        }
        operation
    }
}

/// Answers by status: the schema of the good one, and the errors there may be.
fn responses(answer: Value, errors: &[u16]) -> Value {
    let mut all = Map::new();
    all.insert(
        "200".into(),
        json!({ "description": "The answer", "content": { "application/json": { "schema": answer } } }),
    );
    for status in errors {
        let mut response = json!({
            "description": meaning(*status),
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
        });
        if [429, 503].contains(status) {
            response["headers"] = json!({ "Retry-After": { "schema": { "type": "integer" } } });
        }
        all.insert(status.to_string(), response);
    }
    Value::Object(all)
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request or an option is malformed",
        401 => "The token is missing or wrong",
        403 => "The page or the address that the request came from may not call",
        404 => "There is no such model or run",
        408 => "The request came too slowly",
        413 => "The body is too large",
        415 => "The media type is not read",
        422 => "The file, the model and the options do not go together",
        429 => "Too many requests wait",
        503 => "The service is ending",
        504 => "The computation took too long",
        _ => "The computation failed",
    }
}

/// An endpoint that is looked up.
struct Get {
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: Value,
    responses: Value,
}

fn gets(generator: &mut SchemaGenerator) -> Vec<Get> {
    let errors = [401, 403];
    let status = json!({ "type": "object", "required": ["status"], "properties": { "status": { "type": "string" } } });
    let mut ready = responses(status.clone(), &[403, 503]);
    ready["503"]["description"] = json!("The service is ending");
    let text = json!({
        "200": { "description": "OpenMetrics", "content": { "application/openmetrics-text": { "schema": { "type": "string" } } } },
        "401": responses(json!({}), &[401])["401"],
        "403": responses(json!({}), &[403])["403"],
    });
    let run = json!([
        { "name": "name", "in": "path", "required": true, "schema": { "type": "string" }, "description": "Name of a run" },
        { "name": "from", "in": "query", "schema": { "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 },
          "description": "The first line that is wanted" },
    ]);
    let get = |path, id, summary, parameters, responses| Get { path, id, summary, parameters, responses };
    let none = || json!([]);
    vec![
        get(
            "/v1/models",
            "models",
            "The models that are served",
            none(),
            responses(schema_of::<ModelsAnswer<'static>>(generator), &errors),
        ),
        get(
            "/v1/examples",
            "examples",
            "Examples that are built in",
            none(),
            responses(schema_of::<ExamplesAnswer>(generator), &errors),
        ),
        get("/v1/runs", "runs", "Training runs", none(), responses(schema_of::<RunsAnswer>(generator), &errors)),
        get(
            "/v1/runs/{name}/metrics",
            "runMetrics",
            "Metrics of a run, line by line",
            run,
            responses(schema_of::<runs::Lines>(generator), &[400, 401, 403, 404]),
        ),
        get(
            "/v1/session",
            "session",
            "Version of the program, and whether requests need a token",
            none(),
            responses(schema_of::<Session>(generator), &[403]),
        ),
        get("/healthz", "health", "If answered, the service runs", none(), responses(status, &[403])),
        get("/readyz", "readiness", "200 where the service takes requests", none(), ready),
        get("/metrics", "metrics", "Measurements for Prometheus", none(), text),
        get("/openapi.json", "interface", "This document", none(), responses(json!({ "type": "object" }), &errors)),
    ]
}

impl Get {
    fn operation(&self) -> Value {
        json!({
            "operationId": self.id,
            "summary": self.summary,
            "parameters": self.parameters,
            "responses": self.responses,
        })
    }
}
