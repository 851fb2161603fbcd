//! HTTP connections of the clients of APIs and of model hubs. Blocking, like the rest of the program.
//!
//! * [`api`]: an OpenAI-compatible API: its settings, its key, and the reason why it does not answer.
//! * This file: connections, base URLs, and the pauses between requests.
//!
//! Proxies are those of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. Certificates are Mozilla's
//! and those in the file `SSL_CERT_FILE`, which a company with a proxy of its own sets.

pub mod api;

use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of `SSL_CERT_FILE`.
const MAX_CERTIFICATES_BYTES: u64 = 16 << 20;

/// Limits of a client.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time until the response begins, and between two parts of it.
    pub timeout: Duration,
    pub max_redirects: u32,
    /// Whether redirects may lead to `http://`. The first URL is the caller's concern ([`check_base`]).
    pub is_local: bool,
}

/// Creates a client. A status other than 2xx is not an error, and keys do not follow a redirect to another
/// host.
pub fn agent(limits: Limits) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .https_only(!limits.is_local)
        .max_redirects(limits.max_redirects)
        // For a client that follows no redirects, a redirect is a status like any other.
        .max_redirects_will_error(limits.max_redirects > 0)
        .timeout_connect(Some(CONNECT_TIMEOUT.min(limits.timeout)))
        .timeout_recv_response(Some(limits.timeout))
        .timeout_per_read(Some(limits.timeout));

    match certificates() {
        Some(roots) => config.tls_config(TlsConfig::builder().root_certs(roots).build()).build().new_agent(),
        None => config.build().new_agent(),
    }
}

/// Reads the certificates in `SSL_CERT_FILE`; `None` without a file that can be read.
fn certificates() -> Option<RootCerts> {
    let path = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty())?;
    let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_CERTIFICATES_BYTES);
    let text = std::fs::read(&path).ok().filter(|_| is_small)?;

    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();

    (!certificates.is_empty()).then(|| RootCerts::from(certificates))
}

/// Returns `base` without a slash at its end, and whether its host is this machine.
///
/// # Errors
/// The rule that it violates: a base URL is `http://HOST/PATH` or `https://HOST/PATH`, and only this machine
/// is reached without TLS.
pub fn check_base(base: &str) -> Result<(&str, bool), &'static str> {
    let base = base.trim().trim_end_matches('/');
    let Some((scheme, rest)) = base.split_once("://").filter(|(_, rest)| !rest.is_empty()) else {
        return Err("is not a URL such as https://host/v1");
    };
    if !["http", "https"].contains(&scheme) || rest.contains(['@', '?', '#', ' ']) {
        return Err("must be http://HOST/PATH or https://HOST/PATH");
    }

    let is_local = is_loopback(rest);
    if scheme == "http" && !is_local {
        return Err("must be https:// unless the host is this machine");
    }

    Ok((base, is_local))
}

/// Returns whether `HOST[:PORT][/PATH]` is this machine.
fn is_loopback(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Parses the pause that a header `Retry-After` asks for, in seconds or as a date.
pub fn pause_of(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return (0.0..=86_400.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds));
    }

    let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let seconds = then.as_second() - jiff::Timestamp::now().as_second();
    Some(Duration::from_secs(seconds.max(0) as u64))
}

/// The pause before retry number `n`, counted from 0: half a second, doubled for each further retry. `jitter`
/// (0–1) selects a time between half and all of that, so that clients that failed together do not come back
/// together.
pub fn backoff(n: u32, jitter: f64) -> Duration {
    Duration::from_millis(500).mul_f64(f64::from(1u32 << n.min(6)) * (0.5 + jitter.clamp(0.0, 1.0) / 2.0))
}

/// The header `name` of a response.
pub fn header<'r, B>(response: &'r ureq::http::Response<B>, name: &str) -> Option<&'r str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_seconds_or_dates() {
        assert_eq!(pause_of("2"), Some(Duration::from_secs(2)));
        assert_eq!(pause_of("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!((pause_of("-1"), pause_of("soon")), (None, None));
    }

    #[test]
    fn pauses_double_with_jitter() {
        assert_eq!(
            (backoff(0, 0.0), backoff(0, 1.0)),
            (Duration::from_millis(250), Duration::from_millis(500))
        );
        assert_eq!((backoff(2, 0.0), backoff(2, 1.0)), (Duration::from_secs(1), Duration::from_secs(2)));
    }

    #[test]
    fn only_this_machine_is_asked_without_tls() {
        assert_eq!(check_base("https://host/v1/"), Ok(("https://host/v1", false)));
        for local in ["http://localhost:1/v1", "http://127.0.0.1:1", "http://[::1]:1/v1"] {
            assert_eq!(check_base(local), Ok((local, true)));
        }
        for wrong in
            ["", "host", "ftp://x", "http://host/v1", "https://u:p@x/v1", "http://127.0.0.1.example.com"]
        {
            assert!(check_base(wrong).is_err(), "{wrong}");
        }
    }
}
