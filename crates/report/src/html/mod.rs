//! A run as one page that needs no other file and no network: styles within, charts as SVG, no script at all.
//!
//! Titles, parameters and errors are other people's text: every template escapes, and the page forbids itself scripts
//! and anything from elsewhere.

mod bills;
mod card;
mod comparison;
mod distribution;
mod evidence;
mod guests;
mod headlines;
mod plain;
mod scale;
mod sharing;
mod view;

pub use comparison::comparison_page;
pub(crate) use distribution::Distribution;
pub use plain::{PageTable, plain_page};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, value};

use crate::Result;
use crate::document::RunDocument;

/// The templates, by name: the ending decides how a value is escaped.
const TEMPLATES: [(&str, &str); 17] = [
    ("page.html", include_str!("../../templates/page.html")),
    ("headlines.html", include_str!("../../templates/headlines.html")),
    ("comparison.html", include_str!("../../templates/comparison.html")),
    ("plain.html", include_str!("../../templates/plain.html")),
    ("tables.html", include_str!("../../templates/tables.html")),
    ("card.html", include_str!("../../templates/card.html")),
    ("overview.html", include_str!("../../templates/overview.html")),
    ("prices.html", include_str!("../../templates/prices.html")),
    ("guests.html", include_str!("../../templates/guests.html")),
    ("tenants.html", include_str!("../../templates/tenants.html")),
    ("classes.html", include_str!("../../templates/classes.html")),
    ("counts.html", include_str!("../../templates/counts.html")),
    ("bills.html", include_str!("../../templates/bills.html")),
    ("sharing.html", include_str!("../../templates/sharing.html")),
    ("predictions.html", include_str!("../../templates/predictions.html")),
    ("method.html", include_str!("../../templates/method.html")),
    ("style.css", include_str!("../../templates/style.css")),
];

/// The page of a run. A path's bills come behind the price list, or where they are what the page is about, before it.
pub(crate) fn page(
    document: &RunDocument,
    distributions: &[Option<Distribution>],
    bills_first: bool,
) -> Result<String> {
    let page = view::Page::of(document, distributions, bills_first);
    Ok(environment()?.get_template("page.html")?.render(value::Serde(page))?)
}

fn environment() -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    // Lines that hold only a tag leave nothing behind.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    // A name that a template misspells is an error, not an empty place.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}
