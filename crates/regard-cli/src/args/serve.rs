//! `regard serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;

/// Arguments of `regard serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The address to open in a browser goes to standard output, logs go to standard error: one line for each request, with \
nothing of what was sent. --json writes both as JSON. The built-in models are served, and those of --models; a request \
names a model by the name of its folder. SIGTERM and Ctrl-C refuse new requests, finish those that were accepted, and \
end the service.

Without --listen the service is reached from this machine alone. An address that others reach needs --token-file: \
requests then carry the header `Authorization: Bearer TOKEN`.

Examples:
  regard serve
  regard serve --models runs/customers runs/prices --runs runs
  regard serve --listen 0.0.0.0:8080 --token-file token.txt --request-time 20s
  curl --data-binary @stops.csv 'http://127.0.0.1:8080/v1/solve?name=stops.csv&capacity=300'")]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Model folders, or folders of model folders, to serve beside the built-in models
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) models: Vec<PathBuf>,
    /// Folders of training runs, or folders of these, whose curves are shown
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) runs: Vec<PathBuf>,
    /// File whose first line is the token that requests must carry
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Origin of other pages that may call the service, such as https://example.org; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Largest body of a request; compressed files may unpack to 16 times as much
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = size)]
    pub(crate) max_body: usize,
    /// Time limit of a request, from when it was received to its answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::duration)]
    pub(crate) request_time: Duration,
    /// Requests that wait at most; more are answered 429
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = super::count::<1_000_000>)]
    pub(crate) queue: usize,
    /// Connections at the same time at most; more wait to be accepted
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = super::count::<100_000>)]
    pub(crate) connections: usize,
    /// Requests that are computed at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = super::threads)]
    pub(crate) workers: Option<usize>,
    /// Requests to one model that share a pass through its network at most
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = super::count::<1024>)]
    pub(crate) batch: usize,
    /// Time that a pass waits for requests that are just being received; 0ms does not wait
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = wait)]
    pub(crate) batch_wait: Duration,
    /// Time for the accepted requests to finish after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::duration)]
    pub(crate) drain_time: Duration,
}

/// Shortest token that is taken.
const SHORTEST_TOKEN: usize = 16;

impl ServeArgs {
    /// The token that requests must carry, if there is one.
    ///
    /// # Errors
    /// [`Failure`] for an address that other machines reach without a token, and for a file without a token or with a
    /// short one.
    pub(crate) fn token(&self, note: &dyn Fn(&str)) -> anyhow::Result<Option<String>> {
        match &self.token_file {
            Some(file) => {
                if is_open(file) {
                    note(&format!("warning: others can read {}; `chmod 600` closes it", file.display()));
                }
                Ok(Some(token(file)?))
            }
            None if self.listen.ip().is_loopback() => Ok(None),
            None => Err(Failure::new(format!("--listen {}: other machines reach this address", self.listen))
                .hint("give --token-file FILE, whose token requests must carry; 127.0.0.1 is this machine alone")
                .into()),
        }
    }
}

/// If true, other users of this machine can read a file.
fn is_open(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o044 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

fn token(file: &Path) -> anyhow::Result<String> {
    let text = regard::data::file::read_text(file)?;
    let token = text.lines().next().unwrap_or_default().trim();
    let found = token.chars().count();
    if found >= SHORTEST_TOKEN && token.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(token.to_owned());
    }
    let what = format!(
        "{}: the first line is no token, expected at least {SHORTEST_TOKEN} letters, digits and signs without spaces",
        file.display()
    );
    Err(Failure::new(what).hint("for example: openssl rand -hex 32 > token.txt").into())
}

/// Reads an address with a port; a port alone is one of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    let port = text.strip_prefix(':').unwrap_or(&text).parse::<u16>();
    match port {
        Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        Err(_) => text.parse().map_err(|_| {
            "expected an address and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080".to_owned()
        }),
    }
}

/// Reads the origin of a page: scheme, host and port.
fn origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_graphic() && !"/?#@*".contains(c));
    match rest {
        Some(rest) if fits(rest) => Ok(text.to_ascii_lowercase()),
        _ => Err("expected scheme, host and port, such as https://example.org or http://localhost:5173".to_owned()),
    }
}

/// Reads an amount of memory: `500KiB`, `8MiB`, `1GiB` or a number of bytes.
fn size(text: &str) -> Result<usize, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => 64,
    };
    let bytes = number.trim().parse::<u32>().ok().map(|number| u128::from(number) << shift);
    bytes
        .filter(|bytes| (1024..=1 << 30).contains(bytes) && shift < 64)
        .map(|bytes| bytes as usize)
        .ok_or_else(|| "expected a size from 1KiB to 1GiB, such as 500KiB or 8MiB".to_owned())
}

/// Reads a short time, which may be 0.
fn wait(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time up to 1s, such as 0ms or 5ms".to_owned();
    if ["0", "0ms", "0s"].contains(&text) {
        return Ok(Duration::ZERO);
    }
    super::duration(text).ok().filter(|time| *time <= Duration::from_secs(1)).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("localhost:0", "127.0.0.1:0"),
            ("8081", "127.0.0.1:8081"),
            (":8081", "127.0.0.1:8081"),
            ("[::1]:80", "[::1]:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected, "{text}");
        }
        for bad in ["", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:80"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_origins_and_waits_are_read() {
        for (text, bytes) in [("8MiB", 8 << 20), ("2048", 2048), ("1K", 1024), ("1GiB", 1 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "0", "-1", "1TiB", "2GiB", "8 MB", "MiB", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(origin("http://Localhost:5173"), Ok("http://localhost:5173".to_owned()));
        for bad in ["*", "null", "example.org", "HTTP://a", "https://", "https://a/b", "https://*.org", "https://u@a"] {
            assert!(origin(bad).is_err(), "{bad}");
        }
        assert_eq!((wait("0ms"), wait("5ms")), (Ok(Duration::ZERO), Ok(Duration::from_millis(5))));
        assert!(wait("2s").is_err() && wait("-1ms").is_err());
    }

    #[test]
    fn tokens_are_long_enough() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token.txt");
        std::fs::write(&file, "0123456789abcdef\nmore\n").unwrap();
        assert_eq!(token(&file).unwrap(), "0123456789abcdef");
        for bad in ["", "short\n", "0123456789 abcdefg", "0123456789abcd\u{e9}f"] {
            std::fs::write(&file, bad).unwrap();
            assert!(token(&file).unwrap_err().to_string().contains("at least 16"), "{bad}");
        }
    }
}
