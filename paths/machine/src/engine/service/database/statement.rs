//! Statements that all databases understand. SQLite takes `$1` for a name and numbers names as they come, so they
//! have to come in order.

/// Adds a user: name, mail, now.
pub const CREATE: &str = "INSERT INTO users (name, mail, created, changed) VALUES ($1, $2, $3, $3)
    RETURNING id, name, mail, created, changed";

/// The user of an id.
pub const FIND: &str = "SELECT id, name, mail, created, changed FROM users WHERE id = $1";

/// Changes a user: name, mail, now, id.
pub const UPDATE: &str = "UPDATE users SET name = $1, mail = $2, changed = $3 WHERE id = $4
    RETURNING id, name, mail, created, changed";

/// Removes the user of an id.
pub const DELETE: &str = "DELETE FROM users WHERE id = $1";

/// The users above an id: id, how many.
pub const LIST: &str =
    "SELECT id, name, mail, created, changed FROM users WHERE id > $1 ORDER BY id LIMIT $2";
