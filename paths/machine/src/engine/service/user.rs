//! A user as the service knows one, and what is accepted as one.

use serde::{Deserialize, Serialize};

/// The longest name, in characters.
pub const NAME_CHARS: usize = 100;

/// The longest mail address, in bytes (RFC 5321, section 4.5.3.1.3, less the brackets of a path).
pub const MAIL_BYTES: usize = 254;

/// What a client says of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// What the user is called.
    pub name: String,
    /// The mail address, which no other user has.
    pub mail: String,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// By which it is asked for; never given again.
    pub id: i64,
    /// What the user is called.
    pub name: String,
    /// The mail address.
    pub mail: String,
    /// When it was created, in milliseconds since 1970.
    pub created: i64,
    /// When it was changed last.
    pub changed: i64,
}

impl Draft {
    /// The same, if it will do; else what is wrong with it.
    pub fn checked(self) -> Result<Draft, &'static str> {
        if self.name.trim().is_empty() || self.name.chars().count() > NAME_CHARS {
            return Err("a name has 1 to 100 characters, not all blank");
        }
        if self.name.chars().any(char::is_control) {
            return Err("a name has no control characters");
        }
        if self.mail.len() > MAIL_BYTES {
            return Err("a mail address has no more than 254 bytes");
        }
        if self.mail.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err("a mail address has neither blanks nor control characters");
        }
        match self.mail.split_once('@') {
            Some((person, place)) if !person.is_empty() && !place.is_empty() && !place.contains('@') => {
                Ok(self)
            }
            _ => Err("a mail address is PERSON@PLACE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(name: &str, mail: &str) -> bool {
        Draft { name: name.into(), mail: mail.into() }.checked().is_ok()
    }

    #[test]
    fn what_is_too_long_or_no_address_is_refused() {
        assert!(accepted("Ada", "ada@example.org") && accepted(&"ä".repeat(NAME_CHARS), "a@b"));
        assert!(
            !accepted(&"a".repeat(NAME_CHARS + 1), "a@b") && !accepted(" ", "a@b") && !accepted("a\0", "a@b")
        );
        let long = |bytes: usize| format!("{}@b", "a".repeat(bytes - 2));
        assert!(accepted("a", &long(MAIL_BYTES)) && !accepted("a", &long(MAIL_BYTES + 1)));
        for mail in ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n"] {
            assert!(!accepted("a", mail), "{mail:?}");
        }
    }
}
