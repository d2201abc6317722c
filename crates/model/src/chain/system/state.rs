//! Where everybody is, between two events.

/// Customers in order, as runs of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line(Vec<(u16, u32)>);

impl Line {
    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self, kind: usize) -> u32 {
        self.0.iter().filter(|(other, _)| usize::from(*other) == kind).map(|(_, count)| count).sum()
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.0.first().map(|(kind, _)| usize::from(*kind))
    }

    /// Behind everybody.
    pub(super) fn push(&mut self, kind: usize) {
        self.insert(self.0.len(), kind);
    }

    /// Behind those of the same level or before it.
    pub(super) fn join(&mut self, kind: usize, levels: &[u32]) {
        let before = |(other, _): &(u16, u32)| levels[usize::from(*other)] <= levels[kind];
        self.insert(self.0.partition_point(before), kind);
    }

    /// Before those of the same level.
    pub(super) fn return_to_head(&mut self, kind: usize, levels: &[u32]) {
        let before = |(other, _): &(u16, u32)| levels[usize::from(*other)] < levels[kind];
        self.insert(self.0.partition_point(before), kind);
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        let (kind, count) = self.0.first_mut()?;
        let first = usize::from(*kind);
        *count -= 1;
        if *count == 0 {
            self.0.remove(0);
        }
        Some(first)
    }

    fn insert(&mut self, at: usize, kind: usize) {
        let kind = kind as u16;
        if at > 0 && self.0[at - 1].0 == kind {
            self.0[at - 1].1 += 1;
        } else if at < self.0.len() && self.0[at].0 == kind {
            self.0[at].1 += 1;
        } else {
            self.0.insert(at, (kind, 1));
        }
    }
}

/// A stage of a service, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Served {
    pub kind: u16,
    pub phase: u16,
}

/// What the server of a station that sleeps is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Server {
    Awake,
    /// Until somebody wakes it, or in this stage of the time to its next look.
    Asleep(u16),
    SettingUp(u16),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StationState {
    pub queue: Line,
    /// Who is in service, in order; a bulk is one entry.
    pub served: Vec<(Served, u32)>,
    pub server: Server,
}

impl StationState {
    /// Customers in service.
    pub(super) fn in_service(&self) -> u32 {
        self.served.iter().map(|(_, count)| count).sum()
    }

    /// Customers here.
    pub(super) fn inside(&self) -> u32 {
        self.queue.len() + self.in_service()
    }

    pub(super) fn enter_service(&mut self, served: Served, count: u32) {
        match self.served.binary_search_by_key(&served, |(other, _)| *other) {
            Ok(at) => self.served[at].1 += count,
            Err(at) => self.served.insert(at, (served, count)),
        }
    }

    pub(super) fn leave_service(&mut self, served: Served, count: u32) {
        if let Ok(at) = self.served.binary_search_by_key(&served, |(other, _)| *other) {
            self.served[at].1 -= count;
            if self.served[at].1 == 0 {
                self.served.remove(at);
            }
        }
    }
}

/// The whole system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// Of each source the stage of its gap or the state of its switch; of a closed one, how many think in each stage.
    pub sources: Vec<Vec<u32>>,
    pub stations: Vec<StationState>,
    /// Who is held by each coalescer.
    pub held: Vec<Line>,
}

impl State {
    /// Whether nobody is in the system.
    pub(super) fn is_empty(&self) -> bool {
        let idle = |station: &StationState| station.queue.is_empty() && station.served.is_empty();
        self.stations.iter().all(idle) && self.held.iter().all(Line::is_empty)
    }
}
