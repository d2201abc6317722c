//! What was measured in all runs, for whoever looks at how a figure went from run to run.

use rusqlite::params;

use crate::point::{COLUMNS, read_point};
use crate::{Point, Result, Store};

impl Store {
    /// The points of all runs that have trials and did not fail, by the numbers of their runs, the oldest
    /// first; of one path, where it is named.
    pub fn measured_points(&self, path: Option<&str>) -> Result<Vec<Point>> {
        self.sql(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM point WHERE trials > 0 AND state <> 'failed' AND (?1 IS NULL OR path = ?1)
                 ORDER BY run, id"
            ))?
            .query_map(params![path], read_point)?
            .collect()
        })
    }
}
