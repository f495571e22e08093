//! The page, built into the program. Nothing of it is fetched from elsewhere.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

/// The built files of the page.
#[derive(RustEmbed)]
#[folder = "page/dist/"]
struct Files;

/// The first page.
pub(super) const INDEX: &str = "index.html";

/// A file of the page; `None` where there is none of this name.
pub(super) fn file(name: &str, headers: &HeaderMap) -> Option<Response> {
    let EmbeddedFile { data, metadata } = Files::get(name)?;
    let hash: String = metadata.sha256_hash()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{hash}\"");
    // The page asks each time whether it has changed: a new version of the program has another one.
    let about = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Some((StatusCode::NOT_MODIFIED, about).into_response());
    }
    let kind = [(header::CONTENT_TYPE, media_type(name))];
    Some((about, kind, Body::from(data)).into_response())
}

/// The media type of a file by its ending.
fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
