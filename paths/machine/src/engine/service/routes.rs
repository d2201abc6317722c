//! What the service answers to which request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use tokio::time::timeout;

use super::database::{Refused, Users};
use super::request::{Part, Place, draft, id};

/// The most users of one list.
pub(super) const PAGE: i64 = 100;

/// What all requests share.
pub(super) struct Common {
    pub(super) users: Box<dyn Users>,
    /// How long a request may take, its body included.
    pub(super) patience: Duration,
    /// Bytes of a request's body.
    pub(super) body: usize,
    /// Answers that were given.
    pub(super) answers: AtomicU64,
    /// Those among them for which the database failed.
    pub(super) failures: AtomicU64,
}

impl Common {
    /// Answers a request: in time, and counted.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        let answer = timeout(self.patience, self.routed(request)).await;
        self.answers.fetch_add(1, Ordering::Relaxed);
        match answer {
            Ok(answer) => {
                let answer = answer.unwrap_or_else(Refusal::answer);
                let failed = answer.status() == StatusCode::INTERNAL_SERVER_ERROR;
                self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
                answer
            }
            Err(_) => with(
                Refusal::new(StatusCode::REQUEST_TIMEOUT, "it took too long").answer(),
                header::CONNECTION,
                HeaderValue::from_static("close"),
            ),
        }
    }

    async fn routed(&self, request: Request<Incoming>) -> Result<Response<String>, Refusal> {
        let (head, body) = request.into_parts();
        let users = &self.users;
        match (Place::of(head.uri.path()), head.method) {
            (None, _) => Err(Refusal::new(StatusCode::NOT_FOUND, "there is no such place")),
            // What has no body for HEAD is seen to by hyper.
            (Some(Place::Users), Method::GET | Method::HEAD) => {
                let Part { after, limit } = Part::of(head.uri.query().unwrap_or_default())?;
                json(StatusCode::OK, &users.list(after.unwrap_or(0), limit.unwrap_or(PAGE)).await?)
            }
            (Some(Place::Users), Method::POST) => {
                let draft = draft(&head.headers, body, self.body).await?;
                let user = users.create(&draft, now()).await?;
                let place = HeaderValue::try_from(format!("/users/{}", user.id)).map_err(Refusal::failed)?;
                Ok(with(json(StatusCode::CREATED, &user)?, header::LOCATION, place))
            }
            (Some(Place::User(text)), Method::GET | Method::HEAD) => {
                json(StatusCode::OK, &users.find(id(text)?).await?)
            }
            (Some(Place::User(text)), Method::PUT) => {
                // The body is read whatever the id is, and a wrong id told first.
                let draft = draft(&head.headers, body, self.body).await;
                let id = id(text)?;
                json(StatusCode::OK, &users.update(id, &draft?, now()).await?)
            }
            (Some(Place::User(text)), Method::DELETE) => {
                users.delete(id(text)?).await?;
                let mut answer = Response::new(String::new());
                *answer.status_mut() = StatusCode::NO_CONTENT;
                Ok(answer)
            }
            (Some(Place::Users), _) => Ok(not_by_this_method("GET,HEAD,POST")),
            (Some(Place::User(_)), _) => Ok(not_by_this_method("GET,HEAD,PUT,DELETE")),
        }
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn json(status: StatusCode, what: &impl Serialize) -> Result<Response<String>, Refusal> {
    let mut answer = Response::new(serde_json::to_string(what).map_err(Refusal::failed)?);
    *answer.status_mut() = status;
    Ok(with(answer, header::CONTENT_TYPE, HeaderValue::from_static("application/json")))
}

fn with(mut answer: Response<String>, name: HeaderName, value: HeaderValue) -> Response<String> {
    answer.headers_mut().insert(name, value);
    answer
}

fn not_by_this_method(others: &'static str) -> Response<String> {
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "not by this method");
    with(refusal.answer(), header::ALLOW, HeaderValue::from_static(others))
}

/// An answer that is none.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Refusal {
        Refusal { status, error: error.into() }
    }

    fn failed(error: impl ToString) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }

    fn answer(self) -> Response<String> {
        let Refusal { status, error } = self;
        let mut answer = Response::new(serde_json::json!({ "error": error }).to_string());
        *answer.status_mut() = status;
        with(answer, header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let status = match refused {
            Refused::Absent => StatusCode::NOT_FOUND,
            Refused::Taken => StatusCode::CONFLICT,
            Refused::Failed(_) | Refused::Nowhere(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal::new(status, refused.to_string())
    }
}
