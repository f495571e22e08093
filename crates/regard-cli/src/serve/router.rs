//! Endpoints, and what every request goes through.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, http};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use regard::data::cancel::CancellationToken;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;

use super::answer::{DELETE_EDGES, Task};
use super::error::ApiError;
use super::models::ModelEntry;
use super::question::{self, Form, Question};
use super::work::{Job, Reply};
use super::{Service, access, examples, openapi, page, runs};

/// Time in which the body of a request must come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Bytes of a body that is too large which are read and dropped, so that the client reads the answer.
const DROPPED: usize = 64 << 20;
/// Time for that.
const DROP_TIME: Duration = Duration::from_secs(2);
/// A larger body is not parsed between connections but on a thread of its own.
const LARGE: usize = 256 << 10;

/// The endpoints.
pub(super) fn router(service: Arc<Service>) -> Router {
    let closed = Router::new()
        .route("/v1/solve", post(solve))
        .route("/v1/predict", post(predict))
        .route("/v1/forecast", post(forecast))
        .route("/v1/explain", post(explain))
        .route("/v1/explain/attention", post(attention))
        .route("/v1/read", post(read))
        .route("/v1/models", get(models))
        .route("/v1/examples", get(all_examples))
        .route("/v1/runs", get(all_runs))
        .route("/v1/runs/{name}/metrics", get(run_metrics))
        .route("/metrics", get(measurements))
        .route("/openapi.json", get(interface))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&service), with_token));
    Router::new()
        .route("/", get(index))
        .route("/assets/{*name}", get(asset))
        .route("/v1/session", get(session))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .merge(closed)
        .fallback(|| async {
            ApiError::new(StatusCode::NOT_FOUND, "there is nothing at this address").hint("see /openapi.json")
        })
        .method_not_allowed_fallback(|method: Method| async move {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("the method {method} does not apply here"))
                .hint("the header Allow has those that do; see /openapi.json")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&service), around))
        .with_state(service)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], self.body()).into_response();
        let headers = response.headers_mut();
        headers.extend(self.retry_after.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds))));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Surrounds every request: its origin is checked, the answer gets its headers, and a line is logged.
async fn around(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let endpoint = matched.unwrap_or_else(|| "other".to_owned());
    let origin = service.access.allowed(request.headers());
    let mut response = match service.access.check_origin(request.headers()) {
        Err(error) => error.into_response(),
        Ok(()) if method == Method::OPTIONS && origin.is_some() => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
    };
    access::secure(response.headers_mut());
    if let Some(origin) = origin {
        access::cross_origin(response.headers_mut(), origin, &method);
    }
    if service.is_draining() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (status, seconds) = (u64::from(response.status().as_u16()), begun.elapsed());
    service.metrics.answered(&endpoint, status, seconds);
    let computed = response.extensions().get::<Computed>().copied().unwrap_or_default();
    let Computed { received, waited, batch } = computed;
    tracing::info!(
        %method,
        endpoint,
        status,
        seconds = seconds.as_secs_f64(),
        waited = waited.as_secs_f64(),
        batch,
        received,
        "request"
    );
    response
}

/// Measures of a request that was computed, for the log.
#[derive(Debug, Clone, Copy, Default)]
struct Computed {
    received: usize,
    waited: Duration,
    batch: usize,
}

async fn with_token(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    match service.access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// An answer in JSON.
fn answer(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthy() -> Response {
    answer(&json!({ "status": "ok" }))
}

async fn ready(State(service): State<Arc<Service>>) -> Response {
    match service.is_draining() {
        false => answer(&json!({ "status": "ready" })),
        true => draining().into_response(),
    }
}

fn draining() -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the service is ending").retry_after(5)
}

/// The answer to `GET /v1/session`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Session {
    version: &'static str,
    /// If true, requests need a token.
    token: bool,
}

async fn session(State(service): State<Arc<Service>>) -> Response {
    answer(&Session { version: env!("CARGO_PKG_VERSION"), token: service.access.has_token() })
}

/// The answer to `GET /v1/models`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelsAnswer<'a> {
    models: Vec<&'a ModelEntry>,
    limits: RequestLimits,
}

/// Limits of a request.
#[derive(Serialize, JsonSchema)]
struct RequestLimits {
    /// Bytes of a body.
    body: usize,
    /// Seconds to the answer.
    seconds: f64,
}

async fn models(State(service): State<Arc<Service>>) -> Response {
    let limits = RequestLimits { body: service.max_body, seconds: service.request_time.as_secs_f64() };
    answer(&ModelsAnswer { models: service.models.entries().collect(), limits })
}

/// The answer to `GET /v1/examples`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExamplesAnswer {
    examples: Vec<examples::Example>,
}

async fn all_examples() -> Response {
    answer(&ExamplesAnswer { examples: examples::all() })
}

/// The answer to `GET /v1/runs`.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunsAnswer {
    runs: Vec<runs::Run>,
}

async fn all_runs(State(service): State<Arc<Service>>) -> Response {
    let listed = tokio::task::spawn_blocking(move || runs::list(&service.runs)).await;
    answer(&RunsAnswer { runs: listed.unwrap_or_default() })
}

async fn run_metrics(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut from = 0;
    for (key, value) in pairs(query.as_deref()) {
        match (key.as_str(), value.parse::<usize>()) {
            ("from", Ok(line)) => from = line,
            ("from", Err(_)) => {
                return ApiError::bad_request("is no line")
                    .at("query, from")
                    .expected("a number from 0")
                    .into_response();
            }
            _ => {
                let shown = regard::data::shown(&key);
                return ApiError::bad_request(format!("`{shown}` is unknown here")).at("query").into_response();
            }
        }
    }
    let read = tokio::task::spawn_blocking(move || runs::metrics(&service.runs, &name, from)).await;
    match read {
        Ok(Ok(lines)) => answer(&lines),
        Ok(Err(error)) => error.into_response(),
        Err(_) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the run cannot be read").into_response(),
    }
}

async fn measurements(State(service): State<Arc<Service>>) -> Response {
    match service.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(error) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn interface(State(service): State<Arc<Service>>) -> Response {
    answer(&openapi::document(&service))
}

async fn index(headers: HeaderMap) -> Response {
    page_file(page::INDEX, &headers)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    page_file(&format!("assets/{name}"), &headers)
}

fn page_file(name: &str, headers: &HeaderMap) -> Response {
    page::file(name, headers)
        .unwrap_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "the page has no such file").into_response())
}

/// Names and values of a query.
fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    let query = query.unwrap_or_default();
    let uri = http::Uri::builder().path_and_query(format!("/?{query}")).build();
    let parsed = uri.ok().and_then(|uri| axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri).ok());
    parsed.map(|axum::extract::Query(pairs)| pairs).unwrap_or_default()
}

/// Prepares a request for computation.
type Prepare = fn(&Service, Question) -> Result<Task, ApiError>;

async fn solve(State(service): State<Arc<Service>>, request: Request) -> Response {
    posted(service, request, &["formats"], Task::solve).await
}

async fn predict(State(service): State<Arc<Service>>, request: Request) -> Response {
    let receiving = service.queue.receiving();
    let prepare: Prepare = Task::predict;
    respond(Arc::clone(&service), request, move |service, parts, body| {
        let task = prepare(&service, parts.question(body, &[DELETE_EDGES, "example"], service.max_body)?);
        // Whoever waits for this request finds it in the queue from here on.
        drop(receiving);
        task
    })
    .await
}

async fn forecast(State(service): State<Arc<Service>>, request: Request) -> Response {
    posted(service, request, &[], Task::forecast).await
}

async fn explain(State(service): State<Arc<Service>>, request: Request) -> Response {
    posted(service, request, &[DELETE_EDGES], Task::explain).await
}

async fn read(State(service): State<Arc<Service>>, request: Request) -> Response {
    posted(service, request, &["family"], Task::read).await
}

async fn attention(State(service): State<Arc<Service>>, request: Request) -> Response {
    respond(service, request, |service, parts, body| {
        let text = String::from_utf8(body.to_vec())
            .map_err(|_| ApiError::bad_request("the body is not UTF-8").expected("a JSON object"))?;
        let input = if text.trim().is_empty() {
            None
        } else {
            // The same errors as other endpoints for what is no JSON at all.
            question::object(&body)?;
            Some(text)
        };
        let question = question::read(
            Form::File,
            Bytes::new(),
            [("name".to_owned(), "attention.json".to_owned())].into_iter().chain(parts.query).collect(),
            &[],
            service.max_body,
        )?;
        Task::attention(question, input)
    })
    .await
}

async fn posted(service: Arc<Service>, request: Request, own: &'static [&'static str], prepare: Prepare) -> Response {
    respond(service, request, move |service, parts, body| {
        prepare(&service, parts.question(body, own, service.max_body)?)
    })
    .await
}

/// The head of a request, as far as it matters.
struct Parts {
    form: Result<Form, ApiError>,
    query: Vec<(String, String)>,
}

impl Parts {
    fn question(self, body: Bytes, own: &[&'static str], max_body: usize) -> Result<Question, ApiError> {
        question::read(self.form?, body, self.query, own, max_body)
    }
}

/// Counts a request from its head to its answer.
struct InFlight(Arc<Service>);

impl InFlight {
    fn new(service: &Arc<Service>) -> Self {
        service.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(service))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Cancels a computation when the client goes before its answer.
struct Client {
    token: CancellationToken,
    service: Arc<Service>,
    answered: bool,
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.answered {
            self.token.cancel();
            self.service.metrics.gone.inc();
        }
    }
}

/// Receives a request, prepares it, lets a worker compute it, and answers.
async fn respond(
    service: Arc<Service>,
    request: Request,
    prepare: impl FnOnce(Arc<Service>, Parts, Bytes) -> Result<Task, ApiError> + Send + 'static,
) -> Response {
    if service.is_draining() {
        return draining().into_response();
    }
    let _in_flight = InFlight::new(&service);
    match computed(&service, request, prepare).await {
        Ok((body, about)) => {
            let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
            response.extensions_mut().insert(about);
            response
        }
        Err(error) => error.into_response(),
    }
}

async fn computed(
    service: &Arc<Service>,
    request: Request,
    prepare: impl FnOnce(Arc<Service>, Parts, Bytes) -> Result<Task, ApiError> + Send + 'static,
) -> Result<(Vec<u8>, Computed), ApiError> {
    let (head, body) = request.into_parts();
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let parts = Parts { form: Form::of(text(header::CONTENT_TYPE)), query: pairs(head.uri.query()) };
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    let (body, permit) = receive(service, length, body).await?;
    let received = body.len();
    service.metrics.received(received);
    let own = Arc::clone(service);
    let task = match received > LARGE {
        false => prepare(own, parts, body)?,
        true => tokio::task::spawn_blocking(move || prepare(own, parts, body))
            .await
            .map_err(|_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the request cannot be parsed"))??,
    };
    let token = CancellationToken::default();
    let mut client = Client { token: token.clone(), service: Arc::clone(service), answered: false };
    let (reply, answered) = oneshot::channel();
    if let Err(error) = service.queue.push(Job { task, token, reply, queued: Instant::now() }) {
        client.answered = true;
        return Err(error);
    }
    let found = timeout(service.request_time, answered).await;
    drop(permit);
    let Reply { answer, waited, batch } = match found {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) => {
            client.answered = true;
            return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the computation ended without an answer"));
        }
        Err(_) => {
            client.token.cancel();
            client.answered = true;
            let seconds = service.request_time.as_secs_f64();
            return Err(ApiError::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!("the request took longer than {}", crate::report::number::seconds(seconds)),
            )
            .hint("give less, a shorter `time`, or start the service with a longer --request-time"));
        }
    };
    client.answered = true;
    service.metrics.computed(waited, batch);
    Ok((answer?, Computed { received, waited, batch }))
}

/// Receives a body: within a time, and no more than the largest that is taken.
async fn receive(
    service: &Service,
    length: Option<u64>,
    body: Body,
) -> Result<(Bytes, OwnedSemaphorePermit), ApiError> {
    let most = service.max_body;
    let too_large = || {
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
            .expected(format!("at most {}", crate::report::number::bytes(most as u64)))
            .hint("send a part of the file, or start the service with a larger --max-body")
    };
    if length.is_some_and(|length| length > most as u64) {
        discard(body).await;
        return Err(too_large());
    }
    let size = length.unwrap_or(most as u64).div_ceil(1024).max(1);
    let permits = u32::try_from(size).unwrap_or(u32::MAX);
    let Ok(permit) = Arc::clone(&service.buffered).try_acquire_many_owned(permits) else {
        return Err(ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "the bodies of other requests fill the memory for them",
        )
        .hint("repeat the request after the time in the header Retry-After")
        .retry_after(1));
    };
    match timeout(BODY_TIME, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok((body.to_bytes(), permit)),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::bad_request("the body ended before its end")),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body did not come within {}", crate::report::number::seconds(BODY_TIME.as_secs_f64())),
        )),
    }
}

/// Reads a body and drops it: a client that is still sending would not see the answer.
async fn discard(body: Body) {
    let read = async {
        let (mut body, mut dropped) = (body, 0);
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, Bytes::len);
            if dropped > DROPPED {
                break;
            }
        }
    };
    let _ = timeout(DROP_TIME, read).await;
}
