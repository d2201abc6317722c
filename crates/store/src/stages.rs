//! Latencies by stage: where on its critical path what passed spent its time.

use std::collections::BTreeMap;

use tollway_core::{Spread, Tally};

use crate::column::from_json;
use crate::{PointId, Result, Store};

/// A stage of a point's critical path.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSpreads {
    /// From where to where.
    pub name: String,
    /// What was timed in each block, in ticks.
    pub blocks: BTreeMap<u32, Spread>,
}

impl Store {
    /// The stages of a point in the order in which it passes them; empty where nothing was timed.
    pub fn stages(&self, point: PointId) -> Result<Vec<StageSpreads>> {
        self.sql(|db| {
            let mut stages: Vec<StageSpreads> = Vec::new();
            let mut statement =
                db.prepare_cached("SELECT block, tally FROM trial WHERE point = ?1 ORDER BY block, ordinal")?;
            let mut rows = statement.query([point])?;
            while let Some(row) = rows.next()? {
                let block: u32 = row.get(0)?;
                let tally: Tally = from_json(row, 1)?;
                for stage in tally.stages {
                    let at = stages.iter().position(|s| s.name == stage.name).unwrap_or_else(|| {
                        stages.push(StageSpreads { name: stage.name.clone(), blocks: BTreeMap::new() });
                        stages.len() - 1
                    });
                    stages[at].blocks.entry(block).or_default().merge(&stage.spread);
                }
            }
            Ok(stages)
        })
    }
}
