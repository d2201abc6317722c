//! What the service answers to which request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::database::{Database, Refused};
use super::server::Limits;
use super::user::{Draft, User};

/// The most users of one list.
pub(super) const PAGE: i64 = 100;

/// What all requests share.
pub(super) struct Common {
    pub(super) database: Database,
    /// How long a request may take, its body included.
    pub(super) patience: Duration,
    /// Answers that were given.
    pub(super) answers: AtomicU64,
    /// Those among them for which the database failed.
    pub(super) failures: AtomicU64,
}

type Shared = State<Arc<Common>>;

pub(super) fn router(common: Arc<Common>, limits: &Limits) -> Router {
    Router::new()
        .route("/users", get(list).post(create))
        .route("/users/{id}", get(query).put(update).delete(delete))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is no such place"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "not by this method")
        })
        .layer(DefaultBodyLimit::max(limits.body))
        .layer(middleware::from_fn_with_state(common.clone(), counted))
        .with_state(common)
}

/// Every request: in time, and counted.
async fn counted(State(common): Shared, request: Request, next: Next) -> Response {
    let answer = timeout(common.patience, next.run(request)).await;
    common.answers.fetch_add(1, Ordering::Relaxed);
    match answer {
        Ok(answer) => {
            let failed = answer.status() == StatusCode::INTERNAL_SERVER_ERROR;
            common.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
            answer
        }
        Err(_) => {
            let mut refusal = Refusal::new(StatusCode::REQUEST_TIMEOUT, "it took too long").into_response();
            refusal.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            refusal
        }
    }
}

type Said = Result<Json<Draft>, JsonRejection>;
type Named = Result<Path<i64>, PathRejection>;

async fn create(State(common): Shared, said: Said) -> Result<Response, Refusal> {
    let user = common.database.create(&draft(said)?, now()).await?;
    let place = [(header::LOCATION, format!("/users/{}", user.id))];
    Ok((StatusCode::CREATED, place, Json(user)).into_response())
}

async fn query(State(common): Shared, id: Named) -> Result<Json<User>, Refusal> {
    Ok(Json(common.database.find(id?.0).await?))
}

async fn update(State(common): Shared, id: Named, said: Said) -> Result<Json<User>, Refusal> {
    let id = id?.0;
    Ok(Json(common.database.update(id, &draft(said)?, now()).await?))
}

async fn delete(State(common): Shared, id: Named) -> Result<StatusCode, Refusal> {
    common.database.delete(id?.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which part of all users is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    after: i64,
    limit: Option<i64>,
}

async fn list(
    State(common): Shared,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Json<Vec<User>>, Refusal> {
    let Query(part) = part?;
    let limit = part.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "`limit` is 1 to 100"));
    }
    Ok(Json(common.database.list(part.after, limit).await?))
}

fn draft(said: Said) -> Result<Draft, Refusal> {
    let Json(draft) = said?;
    draft.checked().map_err(|reason| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, reason))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// An answer that is none.
struct Refusal {
    status: StatusCode,
    error: String,
}

impl Refusal {
    fn new(status: StatusCode, error: impl Into<String>) -> Refusal {
        Refusal { status, error: error.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body {
            error: String,
        }
        (self.status, Json(Body { error: self.error })).into_response()
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

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Refusal {
        Refusal::new(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Refusal {
    fn from(_: PathRejection) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "an id is a whole number")
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Refusal {
        Refusal::new(rejection.status(), rejection.body_text())
    }
}
