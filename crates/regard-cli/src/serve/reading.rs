//! `POST /v1/read`: what is read from a file, for a page that draws and edits it.

use std::collections::HashMap;
use std::path::Path;

use axum::http::StatusCode;
use clap::Args;
use regard::data::file::read_text;
use regard::data::graphs::Graphs;
use regard::data::graphs::formats::{Recognised, read as read_graphs, recognise};
use regard::data::series::Panel;
use regard::data::sets::formats::{ReadOptions, read as read_sets};
use regard::data::sets::{Bags, FeatureNames};
use regard::data::table::Cells;
use regard::graphs::{Spectrum, layout};
use regard::routing::formats;
use regard::routing::formats::csv::{self, ColumnKind, CsvColumn};
use regard::routing::{Instance, Problem, ProblemVisitor, SolverInstance, registry};
use regard::series::experiment::SeriesData;
use regard::series::source::read_panel;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Service;
use super::answer::{arguments, note_unused_files};
use super::error::ApiError;
use super::models::ServedNetwork;
use super::options::CommandOptions;
use super::question::Question;
use crate::args::{ForecastArgs, PredictArgs, ShowArgs};
use crate::commands::explain::kind_of_file;
use crate::commands::{graphs as graph_commands, read_instance, sets as set_commands};
use crate::failure::Failure;
use crate::report::{Printer, plain};

/// Tables of places, as `regard data show` reads them.
pub(super) const PLACES: CommandOptions = CommandOptions {
    name: "read places",
    allowed: &[
        "column",
        "decimal",
        "depot",
        "duplicates",
        "skip_bad",
        "capacity",
        "max_length",
        "required_prize",
        "distances",
    ],
    of_files: &["distances"],
    has_model: false,
};

/// Graphs, as `regard data show` reads them.
pub(super) const GRAPHS: CommandOptions = CommandOptions {
    name: "read graphs",
    allowed: &["smiles", "id", "targets", "edges", "skip_bad"],
    of_files: &["edges"],
    has_model: false,
};

/// Sets and graphs with the columns of a model, as `regard predict` reads them.
pub(super) const OF_MODEL: CommandOptions = CommandOptions {
    name: "read for a model",
    allowed: &["group_by", "smiles", "id", "edges", "skip_bad", "decimal"],
    of_files: &["edges"],
    has_model: true,
};

/// Series, as `regard forecast` reads them.
pub(super) const SERIES: CommandOptions = CommandOptions {
    name: "read series",
    allowed: &["date", "date_format", "frequency", "duplicates", "id", "target", "covariates", "decimal"],
    of_files: &[],
    has_model: false,
};

/// A graph of more nodes gets no places and no eigenvectors.
const MOST_DRAWN: usize = 300;
/// A file of more graphs gets no eigenvectors.
const MOST_SPECTRA: usize = 200;

/// The families by name.
const FAMILIES: [&str; 4] = ["routes", "sets", "graphs", "series"];

/// A file that is to be read.
pub(super) struct Reading {
    family: Option<&'static str>,
    model: Option<String>,
}

/// The content of a file.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum ReadAnswer {
    /// An instance of a routing problem.
    Routes(Box<ReadRoutes>),
    /// Sets of rows.
    Sets {
        /// Names of the features.
        columns: Vec<String>,
        sets: Vec<ReadSet>,
        notes: Vec<String>,
    },
    /// Graphs.
    Graphs { graphs: Vec<ReadGraph>, notes: Vec<String> },
    /// Time series.
    Series {
        /// Distance of the time stamps, such as `day`.
        frequency: String,
        /// Time stamps of a season.
        season: usize,
        series: Vec<ReadSeries>,
        notes: Vec<String>,
    },
}

/// An instance of a routing problem.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadRoutes {
    name: String,
    file: String,
    n: usize,
    problem: &'static str,
    /// The problem in words.
    title: &'static str,
    /// If true, the value of a solution is a prize, the more the better.
    maximises: bool,
    metric: &'static str,
    unit: &'static str,
    /// If true, x is the longitude and y the latitude, in degrees.
    geographic: bool,
    /// If true, x and y were computed from distances.
    scaled_coordinates: bool,
    /// If true, the first node is a depot.
    depot: bool,
    /// Numbers of the instance beside its nodes, such as `capacity`.
    facts: Map<String, Value>,
    best_known: Option<f64>,
    /// Columns of a table of this problem beside the places.
    columns: Vec<ReadColumn>,
    /// Numbers of a table of this problem that belong to no node. A table has each as a comment, `# name: value`.
    options: Vec<ReadOption>,
    /// `id`, `label` where there is one, `x`, `y`, and the values of `columns` by name: a number, the id of a node, or null
    /// for an empty field.
    nodes: Vec<Map<String, Value>>,
    notes: Vec<String>,
}

/// A column of a table of places.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadColumn {
    name: &'static str,
    kind: ReadColumnKind,
}

/// The values of a column.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReadColumnKind {
    /// An amount, which every row but the depot's has.
    Amount,
    /// A time; a field may be empty.
    Time,
    /// The id of another row; a field may be empty.
    Node,
}

/// A number of an instance that belongs to no node.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadOption {
    name: &'static str,
    /// Its text in a table; null where it has no value.
    value: Option<String>,
    /// If true, requests may give it by this name.
    requested: bool,
}

/// A set of rows.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadSet {
    id: String,
    /// Values by row and column; null where one is missing.
    rows: Vec<Vec<Option<f32>>>,
    /// The line of its file that each row stands on; empty where rows have none.
    lines: Vec<usize>,
}

/// A graph.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadGraph {
    id: String,
    /// Its SMILES, where it is a molecule of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    smiles: Option<String>,
    /// `label`, and `x` and `y` where the graph is small enough to be drawn.
    nodes: Vec<ReadNode>,
    /// Source, target and kind; an edge of both directions stands once.
    edges: Vec<(usize, usize, String)>,
    /// Eigenvectors of the normalised Laplacian, for small graphs of small files.
    #[serde(skip_serializing_if = "Option::is_none")]
    laplacian: Option<Laplacian>,
}

/// Eigenvalues of the normalised Laplacian from the second on, and their eigenvectors.
#[derive(Serialize, JsonSchema)]
struct Laplacian {
    values: Vec<f32>,
    /// The component of each eigenvector, for each node.
    vectors: Vec<Vec<f32>>,
}

/// A node of a graph.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadNode {
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<f64>,
}

/// A time series.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadSeries {
    id: String,
    stamps: Vec<String>,
    /// Values; null where one is missing.
    values: Vec<Option<f32>>,
}

impl Reading {
    /// The reading that a request asks for.
    pub(super) fn of(service: &Service, question: &Question) -> Result<Self, ApiError> {
        let given = match question.own.get("family") {
            None | Some(Value::Null) => None,
            // In a query every option of the service is a list.
            Some(Value::Array(list)) if list.len() == 1 => Some(&list[0]),
            Some(value) => Some(value),
        };
        let family =
            match given {
                None => None,
                Some(value) => {
                    let known = FAMILIES.into_iter().find(|known| value.as_str() == Some(*known));
                    Some(known.ok_or_else(|| {
                        ApiError::bad_request("is no family").at("family").expected(FAMILIES.join(", "))
                    })?)
                }
            };
        let Some(name) = &question.model else { return Ok(Self { family, model: None }) };
        let of_model = service.models.get(name)?.entry.family;
        if family.is_some_and(|family| family != of_model) {
            return Err(ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("the model `{name}` is one on {of_model}"),
            )
            .at("family"));
        }
        Ok(Self { family: Some(of_model), model: Some(name.clone()) })
    }

    /// Reads the file.
    pub(super) fn compute(&self, service: &Service, question: &Question) -> Result<Vec<u8>, ApiError> {
        let printer = Printer::keeping();
        let file = Path::new(&question.name);
        let family = self.family.unwrap_or_else(|| family_of(file));
        let options = match family {
            "routes" => PLACES.of_files,
            "graphs" => GRAPHS.of_files,
            _ => &[],
        };
        note_unused_files(options, question, &printer);
        let answer = match family {
            "sets" => sets(service, self.model.as_deref(), question, printer)?,
            "graphs" => graphs(service, self.model.as_deref(), question, printer)?,
            "series" => series(service, self.model.as_deref(), question, printer)?,
            _ => routes(question, printer)?,
        };
        serde_json::to_vec(&answer).map_err(|error| anyhow::Error::from(error).into())
    }
}

/// The family that a file seems to be of; routes where nothing shows it, whose error then says what is expected.
fn family_of(file: &Path) -> &'static str {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    if ending != csv::ENDING && formats::is_instance_file(file) {
        return "routes";
    }
    match (recognise(file), kind_of_file(file)) {
        (Some(Recognised::Molecules(_)), _) => "graphs",
        (_, Some("time series")) => "series",
        (_, Some(kind)) => FAMILIES.into_iter().find(|known| *known == kind).unwrap_or("routes"),
        (Some(Recognised::Graphs), None) => "graphs",
        (None, None) => "routes",
    }
}

/// Arguments of a command that reads a file. Which options apply follows from the family of the file, so one of another
/// family is not unknown.
fn read_arguments<A: Args>(command: &CommandOptions, question: &Question) -> Result<A, ApiError> {
    let known = [PLACES, GRAPHS, OF_MODEL, SERIES];
    let of_others =
        |name: &&str| !command.allowed.contains(name) && known.iter().any(|other| other.allowed.contains(name));
    if let Some(name) = question.options.names().into_iter().find(of_others) {
        return Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("the option `{name}` does not apply to what the file holds"),
        )
        .expected(format!("some of {}", command.allowed.join(", ")))
        .hint("`family` says what the file is read as"));
    }
    // What is left of others is null.
    let names: Vec<&str> = known.iter().flat_map(|other| other.allowed.iter().copied()).collect();
    let others: Vec<&str> = names.into_iter().filter(|name| !command.allowed.contains(name)).collect();
    let options = question.options.without(&others);
    Ok(arguments::<A>(command, &Question { options, ..question.clone() })?.args)
}

fn routes(question: &Question, printer: Printer) -> Result<ReadAnswer, ApiError> {
    let args = read_arguments::<ShowArgs>(&PLACES, question)?;
    let instance = read_instance(&args.file, &args.table.options(), &printer)?;
    let sites = instance.sites();
    let degrees = |node: usize| match sites.metric().on_sphere() {
        true => Some(sites.metric().degrees(&sites.coordinates()[node])),
        false => sites.degrees(node),
    };
    let geographic = degrees(0).is_some();
    let place = |node: usize| match degrees(node) {
        Some([latitude, longitude]) => [if longitude > 180.0 { longitude - 360.0 } else { longitude }, latitude],
        None => sites.places()[node],
    };
    let Table { numbers, others, options } = table(&instance);
    let mut facts: Map<String, Value> =
        instance.facts().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    for (name, text) in &options {
        let value = text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number));
        facts.entry(*name).or_insert(value);
    }
    let spec = registry::spec(instance.problem());
    let files = spec.and_then(|spec| spec.files);
    let text_of = |name: &str| options.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
    let option =
        |name: &'static str| ReadOption { name, value: text_of(name), requested: PLACES.allowed.contains(&name) };
    let node = |node: usize| {
        let [x, y] = place(node);
        let mut object = Map::new();
        object.insert("id".into(), json!(sites.ids()[node]));
        object.extend(sites.label(node).map(|label| ("label".to_owned(), json!(label))));
        object.extend([("x".to_owned(), json!(x)), ("y".to_owned(), json!(y))]);
        object.extend(numbers.iter().map(|(name, values)| ((*name).to_owned(), json!(values[node]))));
        let id_of = |other: Option<usize>| json!(other.map(|other| &sites.ids()[other]));
        object.extend(others.iter().map(|(name, nodes)| ((*name).to_owned(), id_of(nodes[node]))));
        object
    };
    Ok(ReadAnswer::Routes(Box::new(ReadRoutes {
        name: sites.name().to_owned(),
        file: question.name.clone(),
        n: sites.len(),
        problem: instance.problem(),
        title: files.map_or(instance.problem(), |files| files.title),
        maximises: spec.is_some_and(|spec| spec.maximises),
        metric: sites.metric_name(),
        unit: sites.unit(),
        geographic,
        scaled_coordinates: plain::scaled(sites),
        depot: has_depot(&instance),
        facts,
        best_known: instance.best_known(),
        columns: files.map_or(&[][..], |files| files.csv).iter().map(ReadColumn::of).collect(),
        options: files.map_or(&[][..], |files| files.csv_options).iter().map(|known| option(known.name())).collect(),
        nodes: (0..sites.len()).map(node).collect(),
        notes: printer.into_notes(),
    })))
}

impl ReadColumn {
    fn of(column: &CsvColumn) -> Self {
        let kind = match column.kind {
            ColumnKind::Amount => ReadColumnKind::Amount,
            ColumnKind::Time => ReadColumnKind::Time,
            ColumnKind::Node => ReadColumnKind::Node,
        };
        Self { name: column.names[0], kind }
    }
}

/// The content of a table of an instance, beside places.
#[derive(Default)]
struct Table {
    /// Numbers of all nodes by the names of their columns; not finite where a table has an empty field.
    numbers: Vec<(&'static str, Vec<f64>)>,
    /// Other nodes that each node names, by the names of their columns.
    others: Vec<(&'static str, Vec<Option<usize>>)>,
    /// Numbers of the instance by the names of their options.
    options: Vec<(&'static str, String)>,
}

fn table(instance: &Instance) -> Table {
    struct Visit<'a>(&'a Instance);
    impl ProblemVisitor for Visit<'_> {
        type Output = Table;

        fn run<I: SolverInstance>(self) -> Table {
            let Some(instance) = self.0.downcast_ref::<I>() else { return Table::default() };
            let csv::Fields { options, columns, nodes } = instance.csv_fields();
            Table {
                numbers: columns.into_iter().map(|(name, values)| (name, values.to_vec())).collect(),
                others: nodes.into_iter().map(|(name, nodes)| (name, nodes.to_vec())).collect(),
                options,
            }
        }
    }
    registry::with_problem(instance.problem(), Visit(instance)).unwrap_or_default()
}

fn has_depot(instance: &Instance) -> bool {
    struct Depot;
    impl ProblemVisitor for Depot {
        type Output = bool;

        fn run<I: SolverInstance>(self) -> bool {
            I::Problem::DEPOT
        }
    }
    registry::with_problem(instance.problem(), Depot).unwrap_or(false)
}

fn sets(service: &Service, model: Option<&str>, question: &Question, printer: Printer) -> Result<ReadAnswer, ApiError> {
    let args = read_arguments::<PredictArgs>(&OF_MODEL, &named(question))?;
    let bags = match model.map(|name| service.models.get(name)).transpose()?.map(|model| &model.network) {
        Some(ServedNetwork::Sets(parts)) => {
            set_commands::read(&args, parts.get(None).map_err(anyhow::Error::from)?, &printer)?
        }
        _ => {
            let options = ReadOptions { group_by: args.group_by.clone(), ..ReadOptions::default() };
            let bags = read_sets(&args.file, &options).map_err(anyhow::Error::from)?;
            bags.notes().iter().for_each(|note| printer.note(note));
            bags
        }
    };
    let names = match bags.names() {
        FeatureNames::Named(names) => names.clone(),
        FeatureNames::Count(count) => (1..=*count).map(|at| at.to_string()).collect(),
    };
    let sets = (0..bags.len()).map(|at| set(&bags, at)).collect();
    Ok(ReadAnswer::Sets { columns: names, sets, notes: printer.into_notes() })
}

fn set(bags: &Bags, at: usize) -> ReadSet {
    let width = bags.width().max(1);
    let finite = |value: &f32| value.is_finite().then_some(*value);
    let rows = bags.offsets()[at]..bags.offsets()[at + 1];
    ReadSet {
        id: bags.ids()[at].clone(),
        rows: bags.bag(at).chunks(width).map(|row| row.iter().map(finite).collect()).collect(),
        lines: rows.filter_map(|row| bags.line(row)).collect(),
    }
}

/// The same request with a name for the model that `regard predict` requires.
fn named(question: &Question) -> Question {
    let model = question.model.clone().or_else(|| Some("none".to_owned()));
    Question { model, ..question.clone() }
}

fn graphs(
    service: &Service,
    model: Option<&str>,
    question: &Question,
    printer: Printer,
) -> Result<ReadAnswer, ApiError> {
    let file = Path::new(&question.name);
    let (graphs, column) = match model.map(|name| service.models.get(name)).transpose()?.map(|model| &model.network) {
        Some(ServedNetwork::Graphs(parts)) => {
            let args = read_arguments::<PredictArgs>(&OF_MODEL, question)?;
            let model = parts.get(None).map_err(anyhow::Error::from)?;
            let examples = graph_commands::read(&args, model, &printer)?;
            let of_training = model.experiment.as_ref().map(|experiment| experiment.data.smiles.clone());
            (Graphs::clone(&examples.graphs), args.smiles.or(of_training))
        }
        _ => {
            let args = read_arguments::<ShowArgs>(&GRAPHS, question)?;
            let options = args.graphs.options(recognise(&args.file), args.table.skips_bad());
            let graphs = read_graphs(&args.file, &options).map_err(anyhow::Error::from)?;
            graphs.notes().iter().for_each(|note| printer.note(note));
            (graphs, options.smiles)
        }
    };
    let texts = column.map(|column| by_line(file, &column)).unwrap_or_default();
    let smiles = |at: usize| graphs.line(at).and_then(|line| texts.get(&line).cloned());
    let drawn = |at: &usize| graphs.len() <= MOST_SPECTRA && graphs.nodes_of(*at).len() <= MOST_DRAWN;
    let spectrum = |at: usize| Some(at).filter(drawn).map(|at| laplacian(&graphs, at));
    let one = |at| ReadGraph { smiles: smiles(at), laplacian: spectrum(at), ..graph(&graphs, at) };
    let all = (0..graphs.len()).map(one).collect();
    Ok(ReadAnswer::Graphs { graphs: all, notes: printer.into_notes() })
}

fn laplacian(graphs: &Graphs, at: usize) -> Laplacian {
    let Spectrum { values, vectors } = Spectrum::of(graphs, at);
    let of_node = |node: usize| vectors[node * values.len()..(node + 1) * values.len()].to_vec();
    Laplacian { vectors: (0..graphs.nodes_of(at).len()).map(of_node).collect(), values }
}

/// The fields of a column by the lines of their rows; none for a file that is no table of text.
fn by_line(file: &Path, column: &str) -> HashMap<usize, String> {
    let cells = read_text(file).and_then(|text| Cells::of(&text, file));
    let Ok(Cells { header, rows, .. }) = cells else { return HashMap::new() };
    let Some(at) = header.iter().position(|name| name == column) else { return HashMap::new() };
    rows.into_iter().filter_map(|(line, fields)| Some((line, fields.get(at)?.clone()))).collect()
}

fn graph(graphs: &Graphs, at: usize) -> ReadGraph {
    let nodes = graphs.nodes_of(at);
    let (of_nodes, of_edges) = (graphs.node_features(), graphs.edge_features());
    let label = |node: usize| match of_nodes.types() {
        Some(types) => of_nodes.type_names()[types[node] as usize].clone(),
        None => graphs.node_name(node),
    };
    let kind = |edge: usize| match of_edges.types() {
        Some(types) => of_edges.type_names()[types[edge] as usize].clone(),
        None => String::new(),
    };
    let directed = nodes.clone().flat_map(|node| {
        let start = graphs.in_offsets()[node];
        graphs.sources_of(node).iter().enumerate().map(move |(place, &source)| (source as usize, node, start + place))
    });
    let directed: Vec<(usize, usize, usize)> =
        directed.map(|(source, node, edge)| (source, node - nodes.start, edge)).collect();
    let has_reverse =
        |source: usize, target: usize| graphs.sources_of(nodes.start + source).binary_search(&(target as u32)).is_ok();
    let once = directed.iter().filter(|(source, target, _)| source <= target || !has_reverse(*source, *target));
    let pairs: Vec<[usize; 2]> = directed.iter().map(|(source, target, _)| [*source, *target]).collect();
    let places = if nodes.len() <= MOST_DRAWN { layout(nodes.len(), &pairs) } else { vec![] };
    ReadGraph {
        id: graphs.ids()[at].clone(),
        smiles: None,
        laplacian: None,
        edges: once.map(|(source, target, edge)| (*source, *target, kind(*edge))).collect(),
        nodes: nodes
            .clone()
            .map(|node| {
                let place = places.get(node - nodes.start);
                ReadNode { label: label(node), x: place.map(|[x, _]| *x), y: place.map(|[_, y]| *y) }
            })
            .collect(),
    }
}

fn series(
    service: &Service,
    model: Option<&str>,
    question: &Question,
    printer: Printer,
) -> Result<ReadAnswer, ApiError> {
    let args = read_arguments::<ForecastArgs>(&SERIES, question)?;
    let (panel, report) = match model.map(|name| service.models.get(name)).transpose()?.map(|model| &model.network) {
        Some(ServedNetwork::Series(parts)) => {
            let model = parts.get(None).map_err(anyhow::Error::from)?;
            let read = model.read(&args.file, &args.columns(model.columns())).map_err(anyhow::Error::from)?;
            (read.own, read.report)
        }
        _ => {
            let read = read_panel(&args.file, &args.columns(SeriesData::default())).map_err(anyhow::Error::from)?;
            (read.panel, read.report)
        }
    };
    report.to_string().lines().for_each(|line| printer.note(line));
    let all = (0..panel.len()).map(|at| one_series(&panel, at)).collect::<anyhow::Result<Vec<_>>>()?;
    let clock = panel.clock();
    let (frequency, season) = (clock.frequency().to_string(), clock.season());
    Ok(ReadAnswer::Series { frequency, season, series: all, notes: printer.into_notes() })
}

fn one_series(panel: &Panel, at: usize) -> anyhow::Result<ReadSeries> {
    let one = &panel.series()[at];
    let stamp = |row: usize| panel.stamp(at, row).map_err(|error| Failure::new(error.to_string()).into());
    Ok(ReadSeries {
        id: one.name().to_owned(),
        stamps: (0..one.len()).map(stamp).collect::<anyhow::Result<_>>()?,
        values: one.values().iter().map(|value| value.is_finite().then_some(*value)).collect(),
    })
}
