//! Customers, and the queues that they stand in. Who left gives his place to who comes, so that memory does not grow with
//! the number of customers; queues are chains through the customers themselves.

/// No customer.
pub(crate) const NOBODY: u32 = u32::MAX;

/// In the place of a slot: a customer of a closed population who comes back without a thought.
pub(crate) const BACK_AT_ONCE: u32 = u32::MAX - 1;

/// The most customers inside at one time: 64 MB of them.
pub(crate) const MOST_INSIDE: usize = 1_000_000;

/// One customer: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Customer {
    /// When he entered the system.
    pub(crate) entered: f64,
    /// When he arrived at the part where he is.
    pub(crate) arrived: f64,
    /// Since when he has waited there: since he arrived, or since he was interrupted.
    pub(crate) since: f64,
    /// Waited so far, at all stations.
    pub(crate) waited: f64,
    /// Held back so far, by all coalescers.
    pub(crate) delayed: f64,
    /// Service that is left to him, where he was interrupted; the clock of a shared station at which he is done.
    pub(crate) left: f64,
    /// Who stands behind him.
    pub(crate) next: u32,
    pub(crate) source: u32,
    /// His slot, where he is of a closed population; [`NOBODY`] where he is not.
    pub(crate) slot: u32,
    pub(crate) class: u16,
    /// Whether his service here has begun.
    pub(crate) begun: bool,
    /// Whether he has waited here.
    pub(crate) has_waited: bool,
}

impl Customer {
    /// Who enters now.
    #[inline(always)]
    pub(crate) fn new(now: f64, source: u32, class: u16, slot: u32) -> Self {
        Customer {
            entered: now,
            arrived: now,
            since: now,
            waited: 0.0,
            delayed: 0.0,
            left: 0.0,
            next: NOBODY,
            source,
            slot,
            class,
            begun: false,
            has_waited: false,
        }
    }
}

/// All customers inside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Customers {
    places: Vec<Customer>,
    free: Vec<u32>,
}

impl Customers {
    /// A place for one more; `None` when there are too many.
    #[inline(always)]
    pub(crate) fn insert(&mut self, customer: Customer) -> Option<u32> {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = customer;
                Some(place)
            }
            None => self.extend(customer),
        }
    }

    #[cold]
    fn extend(&mut self, customer: Customer) -> Option<u32> {
        let place = self.places.len();
        (place < MOST_INSIDE).then(|| {
            self.places.push(customer);
            place as u32
        })
    }

    /// Gives the place back.
    #[inline(always)]
    pub(crate) fn remove(&mut self, place: u32) {
        self.free.push(place);
    }
}

impl std::ops::Index<u32> for Customers {
    type Output = Customer;

    #[inline(always)]
    fn index(&self, place: u32) -> &Customer {
        &self.places[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Customers {
    #[inline(always)]
    fn index_mut(&mut self, place: u32) -> &mut Customer {
        &mut self.places[place as usize]
    }
}

/// A chain of customers, first come first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain { first: NOBODY, last: NOBODY };

    /// Who is first, or [`NOBODY`].
    #[inline(always)]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Takes the chain away as a whole.
    pub(crate) fn take(&mut self) -> Chain {
        std::mem::replace(self, Chain::EMPTY)
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, customers: &mut Customers, customer: u32) {
        customers[customer].next = NOBODY;
        match self.first {
            NOBODY => self.first = customer,
            _ => customers[self.last].next = customer,
        }
        self.last = customer;
    }

    /// Back to the head of the queue.
    pub(crate) fn push_front(&mut self, customers: &mut Customers, customer: u32) {
        customers[customer].next = self.first;
        if self.first == NOBODY {
            self.last = customer;
        }
        self.first = customer;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self, customers: &Customers) -> Option<u32> {
        let customer = self.first;
        if customer == NOBODY {
            return None;
        }
        self.first = customers[customer].next;
        Some(customer)
    }

    /// The rest of a chain from this customer on, to be walked along only.
    pub(crate) fn of(first: u32) -> Chain {
        Chain { first, last: NOBODY }
    }

    /// Everybody in the chain, first come first.
    pub(crate) fn iter(self, customers: &Customers) -> impl Iterator<Item = u32> {
        let known = |customer: u32| (customer != NOBODY).then_some(customer);
        std::iter::successors(known(self.first), move |customer| known(customers[*customer].next))
    }
}
