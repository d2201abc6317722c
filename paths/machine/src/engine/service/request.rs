//! Parts of a request: the place in its target, the pairs of its query, its JSON body.

use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::{Body, Incoming};
use hyper::{HeaderMap, StatusCode, header};

use super::routes::{PAGE, Refusal};
use super::user::Draft;

/// What the path of a target names.
pub(super) enum Place<'a> {
    Users,
    /// One user, by the text of an id.
    User(&'a str),
}

impl Place<'_> {
    pub(super) fn of(path: &str) -> Option<Place<'_>> {
        match path.strip_prefix("/users")? {
            "" => Some(Place::Users),
            rest => rest.strip_prefix('/').filter(|id| !id.is_empty() && !id.contains('/')).map(Place::User),
        }
    }
}

pub(super) fn id(text: &str) -> Result<i64, Refusal> {
    String::from_utf8(decoded(text.as_bytes()))
        .ok()
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "an id is a whole number"))
}

/// Which part of all users is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) after: Option<i64>,
    pub(super) limit: Option<i64>,
}

impl Part {
    /// The part that a query asks for, which is a form (application/x-www-form-urlencoded).
    pub(super) fn of(query: &str) -> Result<Part, Refusal> {
        let mut part = Part::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (field(key), field(value));
            let place = match key.as_str() {
                "after" => &mut part.after,
                "limit" => &mut part.limit,
                _ => {
                    let reason = format!("{key}: unknown field `{key}`, expected `after` or `limit`");
                    return Err(no_part(&reason));
                }
            };
            if place.is_some() {
                return Err(no_part(&format!("duplicate field `{key}`")));
            }
            *place = Some(value.parse().map_err(|error| no_part(&format!("{key}: {error}")))?);
        }
        match part.limit {
            Some(limit) if !(1..=PAGE).contains(&limit) => {
                Err(Refusal::new(StatusCode::BAD_REQUEST, "`limit` is 1 to 100"))
            }
            _ => Ok(part),
        }
    }
}

fn no_part(reason: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, format!("Failed to deserialize query string: {reason}"))
}

/// A key or a value of a form.
fn field(text: &str) -> String {
    String::from_utf8_lossy(&decoded(text.replace('+', " ").as_bytes())).into_owned()
}

/// The bytes with `%` and two hexadecimal digits replaced (RFC 3986, section 2.1); a `%` without them stays.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

/// The user that a body of up to so many bytes describes, if it is JSON and the headers say so.
pub(super) async fn draft(headers: &HeaderMap, body: Incoming, limit: usize) -> Result<Draft, Refusal> {
    if !says_json(headers) {
        let reason = "Expected request with `Content-Type: application/json`";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    read(&whole(body, limit).await?)
}

fn read(body: &[u8]) -> Result<Draft, Refusal> {
    let no_draft = |is_data: bool, error: &dyn Display| {
        let (status, what) = if is_data {
            (StatusCode::UNPROCESSABLE_ENTITY, "Failed to deserialize the JSON body into the target type")
        } else {
            (StatusCode::BAD_REQUEST, "Failed to parse the request body as JSON")
        };
        Refusal::new(status, format!("{what}: {error}"))
    };
    let mut json = serde_json::Deserializer::from_slice(body);
    let draft: Draft = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| no_draft(error.inner().is_data(), &error))?;
    json.end().map_err(|error| no_draft(false, &error))?;
    draft.checked().map_err(|reason| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, reason))
}

/// Whether the type of the body is `application/json` or `application/…+json`.
fn says_json(headers: &HeaderMap) -> bool {
    let Some(said) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let (kind, parameters) = said.split_once(';').unwrap_or((said, ""));
    let kind = kind.to_ascii_lowercase();
    let Some(subtype) = kind.strip_prefix("application/") else { return false };
    let json = subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty());
    json && parameters.split(';').all(|one| one.trim().is_empty() || one.contains('='))
}

/// All of a body, which is not read beyond the limit.
async fn whole(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Refusal> {
    let no_body = |status, reason: &dyn Display| {
        Refusal::new(status, format!("Failed to buffer the request body: {reason}"))
    };
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| no_body(StatusCode::BAD_REQUEST, &error))?;
        let Some(data) = frame.data_ref() else { continue };
        if data.len() > limit - whole.len() {
            return Err(no_body(StatusCode::PAYLOAD_TOO_LARGE, &"length limit exceeded"));
        }
        whole.extend_from_slice(data);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(after: Option<i64>, limit: Option<i64>) -> Option<Part> {
        Some(Part { after, limit })
    }

    #[test]
    fn a_query_is_a_form() {
        for (query, found) in [
            ("", part(None, None)),
            ("&&limit=1&", part(None, Some(1))),
            ("l%69mit=%31&after=-5", part(Some(-5), Some(1))),
            ("limit=%2B1", part(None, Some(1))),
            ("limit=+1", None),
            ("limit", None),
            ("limit=0", None),
            ("limit=101", None),
            ("limit=%zz", None),
            ("after=1&after=2", None),
            ("after=9223372036854775808", None),
            ("x=y", None),
        ] {
            assert_eq!(Part::of(query).ok(), found, "{query}");
        }
    }

    #[test]
    fn a_place_is_all_users_or_one() {
        let found = |path| Place::of(path).map(|place| matches!(place, Place::Users));
        assert_eq!((found("/users"), found("/users/7")), (Some(true), Some(false)));
        for path in ["", "*", "/", "/users/", "/users/7/", "/usersx", "//users", "/users/7/8"] {
            assert_eq!(found(path), None, "{path}");
        }
        assert!(id("%37").is_ok_and(|id| id == 7));
        for text in ["x", "%ff", "%3", "7%20", "9223372036854775808"] {
            assert!(id(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_json_is_taken_for_json() {
        let says = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            says_json(&headers)
        };
        let json = "application/json";
        for kind in [json, "APPLICATION/JSON", "application/json; charset=utf-8", "application/problem+json"]
        {
            assert!(says(kind), "{kind}");
        }
        for kind in ["", "text/json", "application/jsonx", "application/+json", "application/json; x"] {
            assert!(!says(kind), "{kind}");
        }
        assert!(!says_json(&HeaderMap::new()));
    }
}
