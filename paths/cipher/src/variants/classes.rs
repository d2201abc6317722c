//! What tenants are entitled to, where they are not all alike: weights or ranks, by which each is a class.

use tollway_core::{Error, Params, Result};
use tollway_virtio::order::{Discipline, Share};

/// The numbers that the axis `classes` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes(Vec<u8>);

impl Classes {
    /// # Errors
    /// [`Error::Input`] for what is no list of numbers, has more of them than there are tenants, or gives no share.
    pub(super) fn of(params: &Params) -> Result<Classes> {
        let text = params.word("classes").unwrap_or_default();
        if text.is_empty() {
            return Ok(Classes::default());
        }
        let refused = |reason: String, remedy: &str| Error::Input {
            place: "axis `classes`".into(),
            reason,
            remedy: remedy.into(),
        };
        let number = |part: &str| part.trim().parse::<u8>();
        let numbers =
            text.split(',').map(number).collect::<std::result::Result<Vec<_>, _>>().map_err(|_| {
                refused(format!("`{text}` is no list of numbers up to 255"), "give `NUMBER,NUMBER`, like 0,1")
            })?;
        let tenants = params.int("tenants")? as usize;
        if numbers.len() > tenants {
            return Err(refused(
                format!("`{text}` has {} numbers for {tenants} tenants", numbers.len()),
                "give no more than there are tenants: the last is that of all others",
            ));
        }
        if params.word("order")? == "fair" && numbers.contains(&0) {
            return Err(refused(
                format!("`{text}` has a weight of 0, which is no share"),
                "take 1 or more, or order=rank",
            ));
        }
        Ok(Classes(numbers))
    }

    /// Which class a tenant is of; `None` where there are none.
    pub(super) fn class(&self, tenant: u32) -> Option<u8> {
        self.0.get(tenant as usize).or(self.0.last()).copied()
    }

    /// The classes of so many tenants, by name; none where there are none.
    pub(super) fn names(&self, tenants: u32) -> Vec<String> {
        (0..tenants).filter_map(|tenant| self.class(tenant)).map(|class| class.to_string()).collect()
    }

    /// What a tenant is entitled to.
    pub(super) fn share(&self, tenant: u32, discipline: Discipline) -> Share {
        let rank = u8::try_from(tenant).unwrap_or(u8::MAX);
        match (self.class(tenant), discipline) {
            // The first comes first, where there are ranks.
            (None, _) => Share { rank, ..Share::default() },
            (Some(rank), Discipline::Rank) => Share { rank, ..Share::default() },
            (Some(weight), Discipline::Fair) => Share { weight: weight.into(), ..Share::default() },
            (Some(_), Discipline::Arrival) => Share::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str, order: &str) -> Result<Classes> {
        Classes::of(&Params::new().with("classes", text).with("tenants", 3).with("order", order))
    }

    #[test]
    fn the_last_is_that_of_all_others() {
        let some = classes("0, 1", "rank").unwrap();
        assert_eq!([0, 1, 2].map(|tenant| some.class(tenant)), [Some(0), Some(1), Some(1)]);
        assert_eq!([0, 1, 2].map(|tenant| some.share(tenant, Discipline::Rank).rank), [0, 1, 1]);
        assert_eq!(some.names(3), ["0", "1", "1"]);
        let some = classes("3,1,2", "fair").unwrap();
        assert_eq!([0, 1, 2].map(|tenant| some.share(tenant, Discipline::Fair).weight), [3, 1, 2]);
        let none = classes("", "rank").unwrap();
        assert!(none.names(3).is_empty());
        assert_eq!((none.class(2), none.share(2, Discipline::Rank).rank), (None, 2));
    }

    #[test]
    fn what_gives_no_share_is_refused() {
        for (text, order, reason) in [
            ("1,x", "fair", "no list"),
            ("256", "rank", "no list"),
            ("1,2,3,4", "fair", "4 numbers for 3 tenants"),
            ("0,1", "fair", "a weight of 0"),
        ] {
            let told = classes(text, order).unwrap_err().to_string();
            assert!(told.contains("axis `classes`") && told.contains(reason), "{told}");
        }
    }
}
