//! Options of a request: the arguments of the command, so that defaults, checks and messages are the same.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use clap::{ArgAction, Args, Command, FromArgMatches};
use regard::data::names::nearest;
use regard::explain::attribution::AttributionMethod;
use regard::routing::formats::csv::ColumnRole;
use serde_json::{Map, Value, json};

use super::error::ApiError;

/// Options of a request by their names: long flags with `_` for `-`.
pub(super) type Options = BTreeMap<String, Value>;

/// A command with the options that a request may give; none of them names a file of this machine, threads or a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandOptions {
    /// Name of the command.
    pub(super) name: &'static str,
    /// Options that a request may give.
    pub(super) allowed: &'static [&'static str],
    /// Options among these that name one of the files that were sent.
    pub(super) of_files: &'static [&'static str],
    /// If true, the command takes a model by `--model`.
    pub(super) has_model: bool,
}

/// Arguments of a command with the global ones that a request may give.
#[derive(Debug, Args)]
pub(super) struct Request<A: Args> {
    #[command(flatten)]
    pub(super) args: A,
    /// Seed of all random numbers [default: 1234]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

thread_local! {
    /// Commands by name, which are expensive to build.
    static COMMANDS: RefCell<HashMap<&'static str, Command>> = RefCell::new(HashMap::new());
}

/// The arguments for a file of this name, where the command takes one, with a model and the options of a request.
///
/// # Errors
/// An [`ApiError`] of an option that is unknown, or has a value that the command would refuse.
pub(super) fn parse<A: Args>(
    command: &CommandOptions,
    file: Option<&str>,
    model: Option<&str>,
    options: &Options,
) -> Result<Request<A>, ApiError> {
    with_command::<A, _>(command, |built| {
        let mut words = vec![command.name.to_owned()];
        words.extend(model.filter(|_| command.has_model).map(|model| format!("--model={model}")));
        for (name, value) in options {
            push(&mut words, built, command, name, value)?;
        }
        words.extend(file.into_iter().flat_map(|file| ["--".to_owned(), file.to_owned()]));
        let matches = built.try_get_matches_from_mut(words)?;
        Ok(Request::from_arg_matches(&matches)?)
    })
}

fn build<A: Args>(name: &'static str) -> Command {
    let mut command = Request::<A>::augment_args(Command::new(name).disable_help_flag(true));
    command.build();
    command
}

/// The kind of values of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Flag,
    Integer,
    Number,
    Text,
}

impl Kind {
    fn of(arg: &clap::Arg) -> Self {
        let kind = arg.get_value_parser().type_id();
        let is = |known: [TypeId; 2]| known.iter().any(|known| kind == *known);
        match arg.get_action() {
            ArgAction::SetTrue => Self::Flag,
            _ if is([TypeId::of::<usize>(), TypeId::of::<u64>()]) => Self::Integer,
            _ if is([TypeId::of::<f64>(), TypeId::of::<f32>()]) => Self::Number,
            _ => Self::Text,
        }
    }

    /// The values in words.
    fn expected(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Text => "a text or a number",
        }
    }

    /// A value as a word of a command line.
    fn word(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Text, Value::String(text)) => Some(text.clone()),
            (Self::Integer, Value::Number(number)) => match number.as_f64() {
                // In JSON, 7.0 is the integer 7.
                Some(float) if number.is_f64() && float.fract() == 0.0 => Some(format!("{float}")),
                _ => Some(number.to_string()),
            },
            (Self::Number | Self::Text, Value::Number(number)) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The value of a text in a query.
    fn value(self, text: &str) -> Option<Value> {
        match self {
            Self::Flag => text.parse().ok().map(Value::Bool),
            Self::Integer | Self::Number => text.parse::<serde_json::Number>().ok().map(Value::Number),
            Self::Text => Some(Value::String(text.to_owned())),
        }
    }
}

/// The error of a value of another kind.
fn wrong(name: &str, found: &str, expected: &str) -> ApiError {
    ApiError::bad_request(format!("is {found}")).at(format!("option {name}")).expected(expected)
}

/// The options in the query of an address; a name may be repeated where the option takes a list.
///
/// # Errors
/// An [`ApiError`] of an option that is unknown, repeated, or of another kind.
pub(super) fn of_query<A: Args>(command: &CommandOptions, pairs: &[(String, String)]) -> Result<Options, ApiError> {
    with_command::<A, _>(command, |built| {
        let mut options = Options::new();
        for (name, text) in pairs {
            let arg = find(built, command, name).ok_or_else(|| unknown(command, name))?;
            let kind = Kind::of(arg);
            let shown = || format!("`{}`", regard::data::shown(text));
            let value = kind.value(text).ok_or_else(|| wrong(name, &shown(), kind.expected()))?;
            let is_list = matches!(arg.get_action(), ArgAction::Append);
            match options.get_mut(name) {
                Some(Value::Array(list)) => list.push(value),
                Some(_) => return Err(ApiError::bad_request("is given twice").at(format!("option {name}"))),
                None => {
                    let value = if is_list { Value::Array(vec![value]) } else { value };
                    options.insert(name.clone(), value);
                }
            }
        }
        Ok(options)
    })
}

fn with_command<A: Args, T>(command: &CommandOptions, run: impl FnOnce(&mut Command) -> T) -> T {
    COMMANDS.with_borrow_mut(|commands| run(commands.entry(command.name).or_insert_with(|| build::<A>(command.name))))
}

fn find<'c>(built: &'c Command, command: &CommandOptions, name: &str) -> Option<&'c clap::Arg> {
    let flag = name.replace('_', "-");
    built.get_arguments().find(|arg| arg.get_long() == Some(flag.as_str())).filter(|_| command.allowed.contains(&name))
}

/// Appends the words of an option.
fn push(
    words: &mut Vec<String>,
    built: &Command,
    command: &CommandOptions,
    name: &str,
    value: &Value,
) -> Result<(), ApiError> {
    let Some(arg) = find(built, command, name) else { return Err(unknown(command, name)) };
    let (kind, flag) = (Kind::of(arg), name.replace('_', "-"));
    let mut one = |value: &Value, expected: &str| {
        let word = kind.word(value).ok_or_else(|| wrong(name, &brief(value), expected))?;
        words.push(format!("--{flag}={word}"));
        Ok(())
    };
    match (kind, arg.get_action(), value) {
        (_, _, Value::Null) => Ok(()),
        (Kind::Flag, _, Value::Bool(given)) => {
            words.extend(given.then(|| format!("--{flag}")));
            Ok(())
        }
        (_, ArgAction::Append, Value::Array(list)) => list.iter().try_for_each(|value| one(value, kind.expected())),
        (_, ArgAction::Append, other) => Err(wrong(name, &brief(other), "a list")),
        (_, _, other) => one(other, kind.expected()),
    }
}

/// A value for a message, cut.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => regard::data::shown(&other.to_string()),
    }
}

fn unknown(command: &CommandOptions, name: &str) -> ApiError {
    let shown = regard::data::shown(name);
    let error = ApiError::bad_request(format!("the option `{shown}` is unknown here"))
        .expected(format!("one of {}", command.allowed.join(", ")));
    match nearest(name, command.allowed.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// The JSON schema of the options of a command, from its arguments.
pub(super) fn schemas<A: Args>(command: &CommandOptions) -> Map<String, Value> {
    with_command::<A, _>(command, |built| {
        let of = |name: &&str| Some(((*name).to_owned(), schema(name, find(built, command, name)?)));
        command.allowed.iter().filter_map(of).collect()
    })
}

fn schema(name: &str, arg: &clap::Arg) -> Value {
    let mut found = match arg.get_action() {
        ArgAction::Append => json!({ "type": ["array", "null"], "items": single(name, arg) }),
        _ => nullable(single(name, arg)),
    };
    if let (Some(object), Some(help)) = (found.as_object_mut(), arg.get_help()) {
        object.insert("description".into(), json!(help.to_string()));
    }
    found
}

fn nullable(mut schema: Value) -> Value {
    if let Some(list) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        list.push(Value::Null);
    }
    if let Some(kind) = schema.get_mut("type") {
        let mut kinds = match kind.take() {
            Value::Array(kinds) => kinds,
            kind => vec![kind],
        };
        kinds.push(json!("null"));
        *kind = Value::Array(kinds);
    }
    schema
}

/// The schema of one value.
fn single(name: &str, arg: &clap::Arg) -> Value {
    let words: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let kind = Kind::of(arg);
    if kind == Kind::Flag {
        return json!({ "type": "boolean" });
    }
    if !words.is_empty() {
        return json!({ "type": "string", "enum": words });
    }
    let mut schema = match kind {
        Kind::Integer => json!({ "type": "integer", "minimum": 0, "maximum": MOST_INTEGER }),
        Kind::Number => json!({ "type": "number" }),
        _ => json!({ "type": "string" }),
    };
    let bounds = bounds(name);
    if let (Some(schema), Value::Object(bounds)) = (schema.as_object_mut(), bounds) {
        schema.extend(bounds);
    }
    schema
}

/// The largest integer that every JSON reader keeps.
const MOST_INTEGER: u64 = 9_007_199_254_740_991;

/// Bounds of the value of an option, which its parser does not tell.
fn bounds(name: &str) -> Value {
    const TIME: &str = "^[1-9][0-9]{0,3}(ms|s|m)$";
    match name {
        "augment" => json!({ "enum": [1, 8], "minimum": 1, "maximum": 8 }),
        "capacity" | "max_length" => json!({ "exclusiveMinimum": 0 }),
        "required_prize" | "best" => json!({ "minimum": 0 }),
        "horizon" => json!({ "minimum": 1 }),
        "temperature" => json!({ "minimum": 0.001, "maximum": 1e6 }),
        "top_p" => json!({ "minimum": 0.001, "maximum": 1 }),
        "time" => json!({ "pattern": TIME }),
        "decode" => json!({ "pattern": "^(greedy|multistart|(sample|multistart|beam):[1-9][0-9]{0,4})$" }),
        "column" => json!({ "pattern": format!("^({})=", ColumnRole::all_names().join("|")) }),
        "decimal" => json!({ "enum": ["point", "comma"] }),
        "only" => json!({ "enum": ["network", "base"] }),
        "attribution" => json!({ "enum": AttributionMethod::ALL.map(|(_, name)| name) }),
        "duplicates" => json!({ "enum": ["error", "mean", "last"] }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::SolveArgs;
    use crate::serve::answer::SOLVE;

    fn options(text: &str) -> Options {
        serde_json::from_str(text).unwrap()
    }

    fn refused(text: &str) -> ApiError {
        parse::<SolveArgs>(&SOLVE, Some("a.csv"), None, &options(text)).unwrap_err()
    }

    #[test]
    fn options_are_the_arguments_of_the_command() {
        let given = r#"{"time": "500ms", "capacity": 300, "column": ["demand=Weight", "x=X"], "skip_bad": true,
                        "no_improve": false, "seed": 7, "depot": null}"#;
        let found = parse::<SolveArgs>(&SOLVE, Some("-a.csv"), Some("regard-tsp"), &options(given)).unwrap();
        assert_eq!(found.seed, Some(7));
        let job = found.args.check(7).unwrap();
        assert_eq!(job.tasks[0].file, std::path::Path::new("-a.csv"));
        assert_eq!(job.model.as_deref(), Some(std::path::Path::new("regard-tsp")));
        assert_eq!((job.tasks[0].options.columns.len(), job.tasks[0].options.skip_bad), (2, true));
    }

    #[test]
    fn wrong_options_are_refused_with_what_is_expected() {
        let error = refused(r#"{"capasity": 3}"#);
        assert_eq!(error.report.hint.as_deref(), Some("did you mean `capacity`?"));
        for server in ["out", "plot", "model", "threads", "device", "json", "help", "version", "files"] {
            let error = refused(&format!(r#"{{"{server}": "x"}}"#));
            assert_eq!(error.report.what, format!("the option `{server}` is unknown here"));
        }
        assert_eq!(refused(r#"{"skip_bad": 1}"#).report.expected.as_deref(), Some("true or false"));
        assert_eq!(refused(r#"{"time": {}}"#).report.what, "is an object");
        assert_eq!(refused(r#"{"seed": "7"}"#).report.expected.as_deref(), Some("an integer"));
        assert_eq!(refused(r#"{"column": "id=x"}"#).report.expected.as_deref(), Some("a list"));
        assert_eq!(refused(r#"{"time": "soon"}"#).report.expected.as_deref(), Some("a time such as 500ms, 2s or 1m"));
        assert!(refused(r#"{"seed": -1}"#).report.what.contains("--seed"));
        assert!(refused(r#"{"time": "1s", "no_improve": true}"#).report.what.contains("cannot be used with"));
        // A value is never taken for a flag.
        assert!(refused(r#"{"decode": "--out=x"}"#).report.what.contains("--decode"));
    }

    #[test]
    fn every_option_has_a_schema() {
        let found = schemas::<SolveArgs>(&SOLVE);
        assert_eq!(found.len(), SOLVE.allowed.len(), "{found:?}");
        let kind = |name: &str| found[name]["type"][0].as_str();
        assert_eq!(
            (kind("skip_bad"), kind("capacity"), kind("seed")),
            (Some("boolean"), Some("number"), Some("integer"))
        );
        assert_eq!(found["column"]["items"]["type"], "string");
        assert_eq!(found["augment"]["enum"], json!([1, 8, null]));
    }

    #[test]
    fn the_schema_allows_the_roles_that_columns_have() {
        let found = schemas::<SolveArgs>(&SOLVE);
        let pattern = found["column"]["items"]["pattern"].as_str().unwrap();
        let roles: Vec<&str> = pattern.strip_prefix("^(").unwrap().strip_suffix(")=").unwrap().split('|').collect();
        for role in ["id", "latitude", "demand", "real_prize", "ready", "due", "service", "pickup"] {
            assert!(roles.contains(&role), "{role}: {pattern}");
        }
        for role in roles {
            let given = json!({ "column": [format!("{role}=a")] }).to_string();
            assert!(parse::<SolveArgs>(&SOLVE, Some("a.csv"), None, &options(&given)).is_ok(), "{role}");
        }
    }

    #[test]
    fn a_query_has_the_same_options() {
        let pairs = |text: &[(&str, &str)]| -> Vec<(String, String)> {
            text.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let query = |text: &[(&str, &str)]| of_query::<SolveArgs>(&SOLVE, &pairs(text));
        let found =
            query(&[("capacity", "300"), ("column", "a=b"), ("column", "c=d"), ("skip_bad", "true"), ("depot", "5")]);
        let expected = json!({"capacity": 300, "column": ["a=b", "c=d"], "skip_bad": true, "depot": "5"});
        assert_eq!(json!(found.unwrap()), expected);
        assert_eq!(query(&[("capacity", "many")]).unwrap_err().report.expected.as_deref(), Some("a number"));
        assert_eq!(query(&[("seed", "1"), ("seed", "2")]).unwrap_err().report.what, "is given twice");
        assert_eq!(query(&[("skip_bad", "yes")]).unwrap_err().report.expected.as_deref(), Some("true or false"));
        assert!(query(&[("plot", "x.svg")]).unwrap_err().report.what.contains("unknown"));
    }
}
