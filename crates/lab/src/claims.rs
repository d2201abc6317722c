//! Reads what was published about a path, each claim with its points named in full.

use tollway_core::{Claims, Error, Path, Result};

/// The claims of a path.
///
/// # Errors
/// Names the line, as the TOML reader tells it, or the claim and what its path does not have.
pub fn claims(path: &Path) -> Result<Claims> {
    let read: Claims = toml::from_str(path.claims).map_err(|e| Error::Input {
        place: format!("claims of path `{}`", path.name),
        reason: e.to_string().trim_end().into(),
        remedy: "CONTRIBUTING.md shows what a claim contains".into(),
    })?;
    let claim = read.claim.into_iter().map(|claim| claim.complete(path)).collect::<Result<_>>()?;
    Ok(Claims { claim, ..read })
}
