//! A request as it was sent: files with their names, the model, options.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use regard::data::file::{MemoryFile, MemoryFiles};
use serde_json::{Map, Value};

use super::error::ApiError;
use super::options::Options;

/// Bytes to which compressed files may unpack, for each byte that a body may have.
const UNPACKED: u64 = 16;

/// Largest number of files beside the first.
const MOST_FILES: usize = 16;

/// A request as it was sent.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// Name of the first file.
    pub(super) name: String,
    pub(super) files: MemoryFiles,
    /// Names of all files.
    pub(super) names: Vec<String>,
    /// Bytes of all files.
    pub(super) bytes: usize,
    /// Name of the model.
    pub(super) model: Option<String>,
    /// Options of the service itself.
    pub(super) own: BTreeMap<&'static str, Value>,
    /// Options of the command.
    pub(super) options: Given,
}

/// Options as they were given.
#[derive(Debug, Clone)]
pub(super) enum Given {
    /// In JSON.
    Typed(Options),
    /// In the query of the address.
    Query(Vec<(String, String)>),
}

impl Given {
    /// Names of the options that have a value.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Typed(options) => {
                options.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str()).collect()
            }
            Self::Query(pairs) => pairs.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The same options without some.
    pub(super) fn without(&self, others: &[&str]) -> Self {
        let keeps = |name: &str| !others.contains(&name);
        match self {
            Self::Typed(options) => {
                let kept = options.iter().filter(|(name, _)| keeps(name));
                Self::Typed(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            Self::Query(pairs) => Self::Query(pairs.iter().filter(|(name, _)| keeps(name)).cloned().collect()),
        }
    }
}

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An object with files, model and options.
    Json,
    /// The file as it is; everything else stands in the query.
    File,
}

impl Form {
    /// The form of a body of this media type.
    ///
    /// # Errors
    /// 415 for forms of web pages with several parts, which are no file.
    pub(super) fn of(content_type: Option<&str>) -> Result<Self, ApiError> {
        let media = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match media.as_str() {
            "application/json" => Ok(Self::Json),
            media if media.starts_with("multipart/") => {
                Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the media type `{media}` is not read"))
                    .at("header Content-Type")
                    .expected("application/json, or any other type with the file as the body")
                    .hint("curl --data-binary @deliveries.csv 'ADDRESS/v1/solve?name=deliveries.csv'"))
            }
            _ => Ok(Self::File),
        }
    }
}

/// Reads a request; `own` names the options of the service itself.
///
/// # Errors
/// An [`ApiError`] with what is malformed.
pub(super) fn read(
    form: Form,
    body: Bytes,
    query: Vec<(String, String)>,
    own: &[&'static str],
    max_body: usize,
) -> Result<Question, ApiError> {
    match form {
        Form::Json => {
            if let Some((name, _)) = query.first() {
                let shown = regard::data::shown(name);
                return Err(ApiError::bad_request(format!("the query has `{shown}`"))
                    .expected("options in the JSON object of the body"));
            }
            of_json(&body, own, max_body)
        }
        Form::File => of_file(body, query, own, max_body),
    }
}

/// The JSON object of a body.
///
/// # Errors
/// 400 for what is no JSON, is nested too deeply, or is no object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let what = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
        ApiError::bad_request(format!("the body is not JSON: {what}")).at(format!(
            "line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(ApiError::bad_request("the body is JSON of another kind").expected("an object { … }")),
    }
}

fn of_json(body: &[u8], own: &[&'static str], max_body: usize) -> Result<Question, ApiError> {
    let mut object = object(body)?;
    let Some(first) = object.remove("file") else {
        return Err(ApiError::bad_request("`file` is missing")
            .expected(r#"{"file": {"name": "deliveries.csv", "content": "…"}, …}"#));
    };
    let mut files = vec![file(first, "file")?];
    match object.remove("files") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.len() <= MOST_FILES => {
            for (at, one) in list.into_iter().enumerate() {
                files.push(file(one, &format!("files[{at}]"))?);
            }
        }
        Some(_) => {
            return Err(ApiError::bad_request("is no such list")
                .at("files")
                .expected(format!("at most {MOST_FILES} files, as `file` is one")));
        }
    }
    let model = match object.remove("model") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(ApiError::bad_request("is no text").at("model").expected("the name of a model")),
    };
    let own = own.iter().filter_map(|name| Some((*name, object.remove(*name)?))).collect();
    question(files, model, own, Given::Typed(object.into_iter().collect()), max_body)
}

/// A file in JSON.
fn file(value: Value, place: &str) -> Result<MemoryFile, ApiError> {
    let expected = || {
        ApiError::bad_request("is no file")
            .at(place)
            .expected(r#"{"name": "deliveries.csv", "content": "…"}, or "base64" for "content""#)
    };
    let Value::Object(mut fields) = value else { return Err(expected()) };
    let Some(Value::String(name)) = fields.remove("name") else { return Err(expected()) };
    let bytes = match (fields.remove("content"), fields.remove("base64")) {
        (Some(Value::String(text)), None) => text.into_bytes(),
        (None, Some(Value::String(text))) => STANDARD
            .decode(text.as_bytes())
            .map_err(|error| ApiError::bad_request(format!("is not base64: {error}")).at(format!("{place}.base64")))?,
        _ => return Err(expected()),
    };
    if let Some(other) = fields.keys().next() {
        let shown = regard::data::shown(other);
        return Err(ApiError::bad_request(format!("has the unknown key `{shown}`"))
            .at(place)
            .expected("name, and content or base64"));
    }
    named(&name, bytes, &format!("{place}.name"))
}

fn named(name: &str, bytes: Vec<u8>, place: &str) -> Result<MemoryFile, ApiError> {
    MemoryFile::new(name, bytes).map_err(|error| {
        let mut found = ApiError::from(anyhow::Error::new(error)).at(place);
        found.status = StatusCode::BAD_REQUEST;
        found
    })
}

fn of_file(
    body: Bytes,
    query: Vec<(String, String)>,
    own: &[&'static str],
    max_body: usize,
) -> Result<Question, ApiError> {
    let (mut name, mut model, mut of_service, mut options) = (None, None, BTreeMap::new(), Vec::new());
    for (key, value) in query {
        match key.as_str() {
            "name" => name = Some(value),
            "model" => model = Some(value),
            key if own.contains(&key) => {
                let key = own.iter().find(|own| **own == key).copied().unwrap_or_default();
                match of_service.get_mut(key) {
                    Some(Value::Array(list)) => list.push(Value::String(value)),
                    _ => {
                        of_service.insert(key, Value::Array(vec![Value::String(value)]));
                    }
                }
            }
            _ => options.push((key, value)),
        }
    }
    let Some(name) = name else {
        return Err(ApiError::bad_request("the name of the file is missing")
            .at("query")
            .expected("?name=deliveries.csv, whose ending says what the body is"));
    };
    let file = named(&name, body.to_vec(), "query, name")?;
    question(vec![file], model, of_service, Given::Query(options), max_body)
}

fn question(
    files: Vec<MemoryFile>,
    model: Option<String>,
    own: BTreeMap<&'static str, Value>,
    options: Given,
    max_body: usize,
) -> Result<Question, ApiError> {
    let names: Vec<String> = files.iter().map(|file| file.name().display().to_string()).collect();
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let what = format!("two files are called `{}`", regard::data::shown(twice.1));
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, what).at("files"));
    }
    let bytes = files.iter().map(|file| file.bytes().len()).sum();
    let files = MemoryFiles::new(files).unpacking_to(UNPACKED * max_body as u64);
    Ok(Question { name: names[0].clone(), files, names, bytes, model, own, options })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<Question, ApiError> {
        read(Form::Json, Bytes::copy_from_slice(text.as_bytes()), vec![], &["formats"], 1 << 20)
    }

    #[test]
    fn both_forms_are_read() {
        let text = r#"{"file": {"name": "a.csv", "content": "x"}, "files": [{"name": "b.bin", "base64": "AAE="}],
                       "model": "m", "formats": ["csv"], "seed": 7}"#;
        let found = json(text).unwrap();
        assert_eq!((found.name.as_str(), found.names.len(), found.bytes), ("a.csv", 2, 3));
        assert_eq!((found.model.as_deref(), &found.own["formats"]), (Some("m"), &serde_json::json!(["csv"])));
        assert!(matches!(&found.options, Given::Typed(options) if options.len() == 1 && options["seed"] == 7));
        let bytes = found.files.open(|| regard::data::file::read_bytes("b.bin")).unwrap();
        assert_eq!(bytes, [0, 1]);
        let query = [("name", "a.csv"), ("formats", "csv"), ("formats", "tour"), ("seed", "7")];
        let query = query.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let found = read(Form::File, Bytes::from_static(b"x"), query, &["formats"], 1 << 20).unwrap();
        assert_eq!(found.own["formats"], serde_json::json!(["csv", "tour"]));
        assert!(matches!(&found.options, Given::Query(options) if options.len() == 1));
    }

    #[test]
    fn malformed_requests_say_what_is_expected() {
        for (text, what) in [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("[]", "another kind"),
            ("{}", "`file` is missing"),
            (r#"{"file": 1}"#, "no file"),
            (r#"{"file": {"name": "a.csv"}}"#, "no file"),
            (r#"{"file": {"name": "a.csv", "content": 1}}"#, "no file"),
            (r#"{"file": {"name": "a.csv", "content": "", "base64": ""}}"#, "no file"),
            (r#"{"file": {"name": "a.csv", "base64": "?"}}"#, "not base64"),
            (r#"{"file": {"name": "a.csv", "content": "", "path": "b"}}"#, "unknown key `path`"),
            (r#"{"file": {"name": "../a.csv", "content": ""}}"#, "names a folder"),
            (r#"{"file": {"name": "a.csv", "content": ""}, "files": 7}"#, "no such list"),
            (r#"{"file": {"name": "a.csv", "content": ""}, "model": 7}"#, "no text"),
        ] {
            let error = json(text).unwrap_err();
            assert_eq!(error.status, StatusCode::BAD_REQUEST, "{text}");
            assert!(error.report.what.contains(what), "{text}: {}", error.report.what);
        }
        let twice = r#"{"file": {"name": "a.csv", "content": ""}, "files": [{"name": "a.csv", "content": ""}]}"#;
        assert_eq!(json(twice).unwrap_err().status, StatusCode::UNPROCESSABLE_ENTITY);
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let error = json(&format!(r#"{{"file": {deep}}}"#)).unwrap_err();
        assert!(error.report.what.contains("recursion limit"), "{}", error.report.what);
        assert!(Form::of(Some("multipart/form-data; boundary=x")).is_err());
        assert_eq!(Form::of(Some("Application/JSON; charset=utf-8")).unwrap(), Form::Json);
        assert_eq!(Form::of(None).unwrap(), Form::File);
    }
}
