//! Which figures hang on a class or a source of which too few came: its own, where it is little of the whole.

use tollway_model::spec::{ByClass, Spec};

use crate::totals::{Column, Layout, kind, station, whole};

/// A share of all responses, and of what makes all others wait, that moves no figure by as much as is looked at.
const LITTLE: f64 = 1e-3;

/// A class or a source in a simulation's totals.
pub(crate) struct Kind<'a> {
    spec: &'a Spec,
    layout: Layout,
    totals: &'a [f64],
    class: Option<usize>,
    /// Only one of the class's sources.
    source: Option<usize>,
}

impl<'a> Kind<'a> {
    pub(crate) fn class(spec: &'a Spec, layout: Layout, totals: &'a [f64], class: usize) -> Self {
        Kind { spec, layout, totals, class: Some(class), source: None }
    }

    pub(crate) fn source(spec: &'a Spec, layout: Layout, totals: &'a [f64], source: usize) -> Self {
        let of = spec.sources[source].class.as_ref();
        let class = of.and_then(|name| spec.classes.iter().position(|class| class.name == *name));
        Kind { spec, layout, totals, class, source: Some(source) }
    }

    fn of_class(&self, column: Column) -> Option<f64> {
        self.class.map(|class| self.totals[self.layout.class(class, column)])
    }

    /// `None` where it is all that there is.
    fn own(&self, column: Column) -> Option<f64> {
        match self.source {
            Some(_) if self.spec.sources.len() == 1 => None,
            Some(source) => Some(self.totals[self.layout.source(source, column)]),
            None => self.of_class(column),
        }
    }

    /// How the names of the figures begin that hang on it; none where all do. So many times the square of one service is
    /// what it adds to a station's work.
    pub(crate) fn figures(&self, services: f64) -> Vec<String> {
        let (Some(response), Some(left)) = (self.own(kind::RESPONSE), self.own(kind::LEFT)) else {
            return Vec::new();
        };
        let stations = (0..self.spec.stations.len()).all(|i| self.is_little_at(i, services.max(1.0)));
        if response > LITTLE * self.totals[whole::RESPONSE] || !stations {
            return Vec::new();
        }
        let mut names = Vec::new();
        // A class is rare where it comes from nowhere else.
        if let (Some(class), Some(all)) = (self.class, self.of_class(kind::LEFT))
            && all <= 2.0 * left
        {
            names.push(format!("class.{}.", self.spec.classes[class].name));
        }
        for (i, source) in self.spec.sources.iter().enumerate() {
            let same = self.source.map_or_else(
                || {
                    self.class
                        .is_some_and(|class| source.class.as_ref() == Some(&self.spec.classes[class].name))
                },
                |own| own == i,
            );
            if same && self.spec.sources.len() > 1 {
                names.push(format!("source.{}.", source.name));
            }
        }
        names
    }

    /// Whether its work is little of what makes others wait: of the sum of the squares of all services.
    fn is_little_at(&self, i: usize, services: f64) -> bool {
        let s = &self.spec.stations[i];
        let law = match &s.service {
            ByClass::All(law) => Some(law),
            ByClass::Each(laws) => self.class.and_then(|class| laws.get(&self.spec.classes[class].name)),
        };
        let of = |column| self.totals[self.layout.station(i, column)];
        // At least: the squares of their means may be larger than the square of the mean of all.
        let all = of(station::VARIANCE) + of(station::EXPECTED).powi(2) / of(station::SERVICES).max(1.0);
        law.is_none_or(|law| services * law.moment(2) <= LITTLE * all)
    }
}

#[cfg(test)]
mod tests {
    use tollway_model::spec::Spec;

    /// What hangs on few customers whose service takes so long.
    fn figures(service: &str) -> Option<Vec<String>> {
        let text = format!(
            "[[class]]\nname = 'rare'\n[[class]]\nname = 'bulk'\n\
             [[source]]\nname = 'r'\nclass = 'rare'\ninterarrival = 'exponential(1s)'\n\
             [[source]]\nname = 'b'\nclass = 'bulk'\ninterarrival = 'exponential(200us)'\n\
             [[station]]\nname = 's'\nservice = {{ rare = 'constant({service})', bulk = 'exponential(100us)' }}\n\
             [stop]\ncustomers = 20000\nreplications = 4\n"
        );
        let spec = Spec::from_toml(&text).unwrap();
        let outcome = crate::simulate(&spec, &crate::Options::default()).unwrap();
        outcome.scarce.into_iter().find(|scarce| scarce.place == "source r: interarrival").map(|s| s.figures)
    }

    #[test]
    fn a_rare_class_is_not_all_that_there_is_but_where_it_holds_up_all_others() {
        assert_eq!(figures("100us").unwrap(), ["class.rare.", "source.r."]);
        assert_eq!(figures("100ms"), None);
    }
}
