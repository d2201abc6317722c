//! The axes that variants share.

use tollway_core::{Axis, Domain, Params, Result, Value};

use crate::engine::matrix::Matrices;
use crate::engine::memory::PAGE;
use crate::engine::message::{LONGEST, SHORTEST};

fn whole(name: &'static str, about: &'static str, range: (u64, u64), default: u64) -> Axis {
    Axis { name, about, domain: Domain::Whole(range.0, range.1), default: Value::Int(default) }
}

pub(crate) fn words(name: &'static str, about: &'static str, all: &'static [&'static str]) -> Axis {
    Axis { name, about, domain: Domain::Words(all), default: Value::Text(all[0].into()) }
}

/// The most requests that are on their way at a time.
pub(crate) const MOST_REQUESTS: u64 = 1024;

/// The most cycles of work that a request asks for.
pub(crate) const MOST_WORK: u64 = 100_000_000;

/// The most pages that a call takes or gives back.
pub(crate) const MOST_PAGES: u64 = 1024;

/// Requests on their way.
pub(crate) fn concurrency() -> Axis {
    whole("concurrency", "requests that the client has on their way at once", (1, MOST_REQUESTS), 1)
}

/// The same of a toll.
pub(crate) fn depth() -> Axis {
    whole("depth", "requests that the client has on their way at once", (1, MOST_REQUESTS), 1)
}

/// One core or two.
pub(crate) fn cores() -> Axis {
    words("cores", "client and server on one core, or on two", &["two", "one"])
}

/// The same of a toll.
pub(crate) fn placement() -> Axis {
    words("placement", "both ends on the same core, or on two", &["across", "same"])
}

/// Bytes of a message.
pub(crate) fn size() -> Axis {
    whole("size", "bytes of a request, and of its reply", (SHORTEST as u64, LONGEST as u64), 64)
}

/// Work of the server.
pub(crate) fn work() -> Axis {
    whole("work", "cycles of work that the server has with each request", (0, MOST_WORK), 0)
}

/// Work of the server as the study has it.
pub(crate) fn matrix() -> Axis {
    whole(
        "matrix",
        "rows and columns of the two matrices that the server multiplies for each request; 0: none",
        (0, Matrices::MOST as u64),
        0,
    )
}

/// Pages of memory that a call takes or gives back.
pub(crate) fn pages() -> Axis {
    whole("pages", "pages of 4096 bytes that a call takes or gives back", (1, MOST_PAGES), 1)
}

/// How many bytes that is.
///
/// # Errors
/// If the axis is not set.
pub(crate) fn bytes(params: &Params) -> Result<usize> {
    Ok(params.int("pages")? as usize * PAGE)
}

/// The same in bytes, of a toll.
pub(crate) fn bytes_of_a_call() -> Axis {
    let range = (PAGE as u64, MOST_PAGES * PAGE as u64);
    whole("size", "bytes that a call takes or gives back, whole pages", range, PAGE as u64)
}

/// How a sleeping end is woken.
pub(crate) fn notice() -> Axis {
    words("notice", "by what an end that sleeps is woken", &["futex", "eventfd", "user-interrupt"])
}

/// How long an end looks.
pub(crate) fn patience() -> Axis {
    words(
        "patience",
        "what an end does that has nothing to do: looks for as long as a wake-up costs, gives its core away, then sleeps; sleeps at once; \
         looks without end",
        &["learnt", "sleep", "spin"],
    )
}
