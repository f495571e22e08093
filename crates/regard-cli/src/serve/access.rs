//! Who may call the service: a token, the pages of other origins, and the names under which it is reached.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use sha2::{Digest, Sha256};

use super::error::ApiError;

// The library has no constants for these.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Who may call the service.
pub(super) struct Access {
    /// Hash of the token, so that comparing it takes the same time wherever it differs.
    token: Option<[u8; 32]>,
    /// Origins of other pages that may call.
    origins: Vec<String>,
    /// If true, the service is reached from this machine alone.
    is_loopback: bool,
}

impl Access {
    pub(super) fn new(listen: SocketAddr, token: Option<&str>, origins: Vec<String>) -> Self {
        let token = token.map(|token| Sha256::digest(token.as_bytes()).into());
        Self { token, origins, is_loopback: listen.ip().is_loopback() }
    }

    /// If true, requests need a token.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Refuses a request that came under a foreign name, or from a foreign page.
    ///
    /// A page of another site reaches a service of this machine by its address or, with a name that it makes lead to
    /// 127.0.0.1, under its own name.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
        let host = text(header::HOST);
        if self.is_loopback && self.token.is_none() && host.is_some_and(|host| !is_loopback(host)) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "the name in the address is not one of this machine")
                .at("header Host")
                .expected("localhost or 127.0.0.1")
                .hint("a service for other machines needs --listen and --token-file"));
        }
        let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
        let own = origin.split_once("://").map(|(_, authority)| authority);
        if own.is_some_and(|own| Some(own) == host) || self.allowed(headers).is_some() {
            return Ok(());
        }
        Err(ApiError::new(StatusCode::FORBIDDEN, "a page of another origin may not call this service")
            .at("header Origin")
            .hint("regard serve --allow-origin ORIGIN allows it"))
    }

    /// The origin of the page that calls, where it is another one that is allowed.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.origins.contains(&text).then(|| origin.clone())
    }

    /// Refuses a request without the token, where there is one.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(expected) = self.token else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let scheme = given.filter(|given| given.len() > 7 && given[..7].eq_ignore_ascii_case(b"bearer "));
        match scheme.map(|given| <[u8; 32]>::from(Sha256::digest(&given[7..]))) {
            Some(found) if found == expected => Ok(()),
            found => Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                if found.is_some() { "the token is wrong" } else { "the token is missing" },
            )
            .at("header Authorization")
            .expected("Bearer TOKEN")
            .hint("the token is the first line of the file of --token-file")),
        }
    }
}

/// If true, an authority (a host, perhaps with a port) means this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Headers of the answer to a page of an allowed origin.
pub(super) fn cross_origin(headers: &mut HeaderMap, origin: HeaderValue, method: &Method) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
    if *method == Method::OPTIONS {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers
            .insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
}

/// Headers of every answer: nothing of it is shown in a frame, guessed to be of another type, or loads from elsewhere.
pub(super) fn secure(headers: &mut HeaderMap) {
    const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        let open = Access::new(([127, 0, 0, 1], 80).into(), None, vec!["https://example.org".into()]);
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "regard.localhost"] {
            assert!(open.check_origin(&headers(&[(header::HOST, host)])).is_ok(), "{host}");
        }
        for host in ["example.org", "127.0.0.1.example.org", "10.0.0.1:80", "", "[::2]"] {
            let error = open.check_origin(&headers(&[(header::HOST, host)])).unwrap_err();
            assert_eq!(error.status, StatusCode::FORBIDDEN, "{host}");
        }
        let from = |origin| open.check_origin(&headers(&[(header::HOST, "localhost:80"), (header::ORIGIN, origin)]));
        assert!(from("http://localhost:80").is_ok() && from("https://example.org").is_ok());
        for origin in ["http://localhost:81", "https://evil.example", "null", "http://localhost:80.evil"] {
            assert!(from(origin).is_err(), "{origin}");
        }
    }

    #[test]
    fn the_token_is_checked() {
        let closed = Access::new(([0, 0, 0, 0], 80).into(), Some("0123456789abcdef"), vec![]);
        let with = |value| closed.check_token(&headers(&[(header::AUTHORIZATION, value)]));
        assert!(with("Bearer 0123456789abcdef").is_ok() && with("bearer 0123456789abcdef").is_ok());
        for wrong in ["Bearer 0123456789abcdeg", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer", "Bearer "] {
            assert_eq!(with(wrong).unwrap_err().status, StatusCode::UNAUTHORIZED, "{wrong}");
        }
        assert!(closed.check_token(&HeaderMap::new()).is_err());
        assert!(closed.check_origin(&headers(&[(header::HOST, "example.org")])).is_ok());
    }
}
