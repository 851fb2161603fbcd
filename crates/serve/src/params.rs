//! Params: the query string of a request.

use std::str::FromStr;

use axum::extract::Query;
use axum::http::Uri;

use super::failure::Failure;

/// Maximum number of parameters of a request.
const MAX_PARAMS: usize = 200;

/// The decoded parameters of a request, in their order. A parameter with an empty value counts as absent,
/// since forms send their empty fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// The parameters in the query string of `uri`.
    ///
    /// # Errors
    /// The query string is not URL-encoded, or has too many parameters.
    pub fn parse(uri: &Uri) -> Result<Params, Failure> {
        let Query(mut pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| Failure::bad_request(format!("the query string cannot be read: {error}")))?;
        if pairs.len() > MAX_PARAMS {
            return Err(Failure::bad_request(format!("there are more than {MAX_PARAMS} parameters")));
        }
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Params(pairs))
    }

    /// The first value of `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of `name`.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of `name`.
    ///
    /// # Errors
    /// The parameter is absent.
    pub fn required(&self, name: &str) -> Result<&str, Failure> {
        self.text(name).ok_or_else(|| Failure::parameter(name, "given"))
    }

    /// The value of `name` as a number of at most `max`.
    ///
    /// # Errors
    /// The value is not such a number.
    pub fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &self,
        name: &str,
        max: T,
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<T>() {
            Ok(number) if number <= max => Ok(Some(number)),
            _ => Err(Failure::parameter(name, &format!("a number up to {max}"))),
        }
    }

    /// Returns whether `name` is given and not `0`, `false`, `no` or `off`.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !["0", "false", "no", "off"].contains(&value))
    }

    /// The query string of these parameters, with those named in `changes` replaced; `None` leaves a
    /// parameter out.
    pub fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let kept = self.0.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| *changed != name));
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let set = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        encoded(kept.chain(set))
    }
}

/// A query string of `pairs`.
pub fn encoded<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let parts = pairs.into_iter().map(|(name, value)| format!("{}={}", component(name), component(value)));
    parts.collect::<Vec<_>>().join("&")
}

/// `text` encoded for a query string. Slashes and colons are kept, as RFC 3986 allows there.
fn component(text: &str) -> String {
    let mut out = String::with_capacity(text.len());

    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }

    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        Params::parse(&format!("/?{query}").parse().unwrap()).unwrap()
    }

    #[test]
    fn values_are_decoded_and_empty_ones_left_out() {
        let params = params("q=a+b%2Bc&path=x&path=y%20z&rev=&limit=7&explain=1&committed=0");
        assert_eq!(params.text("q"), Some("a b+c"));
        assert_eq!(params.all("path").collect::<Vec<_>>(), ["x", "y z"]);
        assert_eq!(params.text("rev"), None);
        assert_eq!(params.number("limit", 10_usize), Ok(Some(7)));
        assert_eq!(params.number::<u32>("offset", 10), Ok(None));
        assert!(params.number("limit", 6_usize).is_err() && params.number("q", 6_usize).is_err());
        assert!(params.flag("explain") && !params.flag("committed") && !params.flag("none"));
        assert!(params.required("q").is_ok() && params.required("rev").is_err());
    }

    #[test]
    fn a_query_string_is_changed_and_read_back() {
        let before = params("q=a%26b&page=2&lang=rust");
        let after = before.with(&[("page", Some("3")), ("lang", None), ("path", Some("ä b/c"))]);
        assert_eq!(after, "q=a%26b&page=3&path=%C3%A4+b/c");
        let read = params(&after);
        assert_eq!((read.text("q"), read.text("path")), (Some("a&b"), Some("ä b/c")));
    }
}
