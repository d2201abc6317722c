//! Both ends on one processor: each does all there is for it, then the other.
//!
//! Looking never helps: what one looks for cannot happen while it looks. So in the long run it is left out but for one wait in [`AGAIN`]. Giving way always does,
//! where the other has something to do; who has not the patience for it sleeps, and has to be woken.

use super::end::AGAIN;
use super::{Answer, Parts, Question};

pub(super) fn run(parts: &Parts, question: &Question) -> Answer {
    let Question { requests, service, patience, .. } = *question;
    let requests = f64::from(requests.max(1));
    let work = parts.ask + parts.answer + service;
    // Of each end, once for all requests.
    let looks = patience.spin / f64::from(AGAIN);
    let gives_way = patience.yields > 0;
    let waits = looks + parts.round + if gives_way { parts.switch } else { parts.wake + parts.sleep };
    let each = 1.0 / requests;
    let (yields, sleeps) = if gives_way { (2.0 * each, 0.0) } else { (0.0, 2.0 * each) };
    Answer {
        cost: work + 2.0 * waits * each,
        request_notices: sleeps / 2.0,
        reply_notices: sleeps / 2.0,
        yields,
        sleeps,
    }
}
