//! Which figures are wanted.

/// Texts of which one must be in a figure's name; without any, all figures are wanted.
#[derive(Clone, Debug)]
pub struct Only(pub Vec<String>);

impl Only {
    /// Whether the figure of that name is.
    pub fn wants(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|text| name.contains(text.as_str()))
    }
}
