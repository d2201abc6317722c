//! How an interrupt reaches the machine that waits for it, as visits: switches, VM exits and injections, and what they
//! cost. Exit-less and direct delivery change the visits, not their tolls.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::means::Load;
use crate::interrupt::parameters::{LAMBDA, SERVICE};
use crate::{Distribution, ModelError, Result, Solution, Unit, check};

/// A way to deliver interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On bare metal: no VMM.
    Native,
    /// The VMM intercepts the interrupt, injects it, and intercepts its end (EOI).
    Intercepted,
    /// Exit-less (ELI): a shadow interrupt table hands assigned interrupts to the guest, which ends them itself. Others,
    /// and those that come while the guest is not on its processor, are intercepted. Gordon et al. (2012), ELI:
    /// Bare-Metal Performance for I/O Virtualization.
    Exitless,
    /// Direct (DID): external interrupts cause no exit at all while the guest runs; all others are intercepted. Tu et
    /// al. (2015), A Comprehensive Implementation and Evaluation of Direct Interrupt Delivery.
    Direct,
}

/// What one interrupt passes through, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// Context switches.
    pub switches: f64,
    /// VM exits, those of EOI writes included.
    pub exits: f64,
    /// EOI writes that exit: part of `exits`.
    pub eoi_exits: f64,
    /// Interrupts put into the guest by the VMM.
    pub injections: f64,
}

impl Visits {
    /// Without a VMM in between: 2 context switches, to the handler and back.
    pub const NATIVE: Visits = Visits { switches: 2.0, exits: 0.0, eoi_exits: 0.0, injections: 0.0 };

    /// Intercepted: 4 context switches, one injection, one exit for the EOI, and so many exits in all. The cipher study
    /// counts an exit with each of the switches: 4. The ELI paper counts the least: 2, arrival and EOI.
    pub fn intercepted(exits: f64) -> Visits {
        Visits { switches: 4.0, exits, eoi_exits: exits.min(1.0), injections: 1.0 }
    }

    fn mixed(self, share: f64, other: Visits) -> Visits {
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        Visits {
            switches: mix(self.switches, other.switches),
            exits: mix(self.exits, other.exits),
            eoi_exits: mix(self.eoi_exits, other.eoi_exits),
            injections: mix(self.injections, other.injections),
        }
    }
}

/// The toll of each visit, in seconds of processor time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// One context switch.
    pub switch: f64,
    /// One VM exit with its handling and re-entry.
    pub exit: f64,
    /// One injection.
    pub injection: f64,
    /// The handler itself, once an interrupt.
    pub handler: f64,
}

/// Requests that a device serves, each told by an interrupt or a share of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    load: Load,
    visits: Visits,
    costs: Costs,
    batch: f64,
}

impl Delivery {
    /// `lambda` requests per second and the device's time for one; what an interrupt passes through and what that
    /// costs; `batch` requests told by one interrupt (1 or more, on average).
    ///
    /// # Errors
    /// When a parameter is not usable, the device cannot keep up, or the interrupts need a whole processor or more.
    pub fn new(
        lambda: f64,
        service: &Distribution,
        visits: Visits,
        costs: Costs,
        batch: f64,
    ) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        for (name, value) in [
            ("switches", visits.switches),
            ("exits", visits.exits),
            ("injections", visits.injections),
            ("switch", costs.switch),
            ("exit", costs.exit),
            ("injection", costs.injection),
            ("handler", costs.handler),
        ] {
            check::non_negative(name, value)?;
        }
        if check::positive("batch", batch)? < 1.0 {
            return Err(ModelError::parameter("batch", format!("{batch} is below 1"), "give 1 or more"));
        }
        let delivery = Self { load, visits, costs, batch };
        let remedy = "its interrupts need a whole processor: give a lower lambda or a larger batch";
        check::stable("lambda", delivery.cpu_share(), remedy)?;
        Ok(delivery)
    }

    /// What one interrupt passes through: `running` is the share of interrupts that find the guest on its processor,
    /// `assigned` the share that belongs to the guest's own devices; `exits` as in [`Visits::intercepted`].
    ///
    /// # Errors
    /// When a share is none, or `exits` is not usable.
    pub fn visits(way: Way, exits: f64, running: f64, assigned: f64) -> Result<Visits> {
        let intercepted = Visits::intercepted(check::non_negative("exits", exits)?);
        let running = check::share("running", running)?;
        let assigned = check::share("assigned", assigned)?;
        Ok(match way {
            Way::Native => Visits::NATIVE,
            Way::Intercepted => intercepted,
            Way::Exitless => Visits::NATIVE.mixed(running * assigned, intercepted),
            Way::Direct => Visits::NATIVE.mixed(running, intercepted),
        })
    }

    /// tT: time from the device's completion until the waiting program has it, seconds: all tolls of one interrupt.
    pub fn transmission(&self) -> f64 {
        self.visits.switches * self.costs.switch + self.in_vmm() + self.costs.handler
    }

    /// Time in the VMM of one interrupt, seconds.
    fn in_vmm(&self) -> f64 {
        self.visits.exits * self.costs.exit + self.visits.injections * self.costs.injection
    }

    /// Share of the time of an interrupt that is spent in the VMM; 0 where nothing is spent.
    pub fn vmm_share(&self) -> f64 {
        if self.transmission() == 0.0 { 0.0 } else { self.in_vmm() / self.transmission() }
    }

    /// Processor time of interrupts for one request, seconds.
    pub fn overhead(&self) -> f64 {
        self.transmission() / self.batch
    }

    /// Share of one processor that interrupts take.
    pub fn cpu_share(&self) -> f64 {
        self.load.lambda * self.overhead()
    }

    /// Interrupts per second.
    pub fn interrupt_rate(&self) -> f64 {
        self.load.lambda / self.batch
    }

    /// Tr = Tq + tT, seconds: wait and service at the device as in M/G/1, and the interrupt's way.
    pub fn mean_response(&self) -> f64 {
        self.load.pollaczek_khinchine() + self.load.service + self.transmission()
    }

    /// The rate, per second, at which the device or the processor has no time left, whichever is lower.
    pub fn highest_rate(&self) -> f64 {
        1.0 / self.load.service.max(self.overhead())
    }
}

const WAYS: &[&str] = &["native", "intercepted", "exitless", "direct"];

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "delivery",
    title: "interrupt delivery",
    family: Family::Interrupts,
    summary: "what interrupts cost a machine natively, intercepted by the VMM, exit-less or direct",
    formula: "tT = switches × switch + exits × exit + injections × injection + handler; native 2, 0, 0; intercepted 4, exits, 1; exit-less and direct as native for the share (running × assigned; running) that needs no VMM, else as intercepted; CPU share λtT/batch; Tr = Tq + tT, Tq of M/G/1",
    assumptions: "tolls do not depend on the load; the device is M/G/1 and one interrupt at a time passes; waiting for the processor itself is left out, so that the CPU share must be small for the response",
    source: "the cipher study's model Tr = Tq + tT and its 2 against 4 switches; Gordon et al. (2012), ELI; Tu et al. (2015), DID",
    holds: "visits and CPU share: arithmetic on tolls that have to be measured; response: approximation for a small CPU share",
    parameters: &[
        Parameter {
            name: "how",
            kind: Kind::Word(WAYS),
            means: "the way of delivery",
            default: None,
            example: "intercepted",
        },
        LAMBDA,
        SERVICE,
        Parameter {
            name: "exit",
            kind: Kind::Time,
            means: "one VM exit, its handling and re-entry",
            default: None,
            example: "1500ns",
        },
        Parameter {
            name: "switch",
            kind: Kind::Time,
            means: "one context switch",
            default: None,
            example: "1us",
        },
        Parameter {
            name: "injection",
            kind: Kind::Time,
            means: "putting one interrupt into the guest",
            default: Some("0"),
            example: "500ns",
        },
        Parameter {
            name: "handler",
            kind: Kind::Time,
            means: "the handler, once an interrupt",
            default: Some("0"),
            example: "1us",
        },
        Parameter {
            name: "exits",
            kind: Kind::Number,
            means: "VM exits of an intercepted interrupt (the cipher study: 4; the ELI paper: at least 2)",
            default: Some("4"),
            example: "4",
        },
        Parameter {
            name: "running",
            kind: Kind::Number,
            means: "share of interrupts that find the guest on its processor",
            default: Some("1"),
            example: "1",
        },
        Parameter {
            name: "assigned",
            kind: Kind::Number,
            means: "share of interrupts that come from the guest's own devices (exit-less)",
            default: Some("1"),
            example: "1",
        },
        Parameter {
            name: "batch",
            kind: Kind::Number,
            means: "requests told by one interrupt",
            default: Some("1"),
            example: "1",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let way = match given.word("how", WAYS)? {
        "native" => Way::Native,
        "intercepted" => Way::Intercepted,
        "exitless" => Way::Exitless,
        _ => Way::Direct,
    };
    let visits =
        Delivery::visits(way, given.number("exits")?, given.number("running")?, given.number("assigned")?)?;
    let costs = Costs {
        switch: given.time("switch")?,
        exit: given.time("exit")?,
        injection: given.time("injection")?,
        handler: given.time("handler")?,
    };
    let (lambda, service) = (given.rate("lambda")?, given.distribution("service")?);
    let delivery = Delivery::new(lambda, &service, visits, costs, given.number("batch")?)?;
    let interrupts = delivery.interrupt_rate();
    Ok(Solution::new()
        .with("utilization", delivery.load.utilization(), Unit::Share)
        .with("interrupts.rate", interrupts, Unit::PerSecond)
        .with("switches.rate", interrupts * visits.switches, Unit::PerSecond)
        .with("exits.rate", interrupts * visits.exits, Unit::PerSecond)
        .with("exits.eoi.rate", interrupts * visits.eoi_exits, Unit::PerSecond)
        .with("injections.rate", interrupts * visits.injections, Unit::PerSecond)
        .with("overhead.mean", delivery.overhead(), Unit::Seconds)
        .with("cpu.share", delivery.cpu_share(), Unit::Share)
        .with("vmm.share", delivery.vmm_share(), Unit::Share)
        .with("transmission.mean", delivery.transmission(), Unit::Seconds)
        .with("response.mean", delivery.mean_response(), Unit::Seconds)
        .with("rate.highest", delivery.highest_rate(), Unit::PerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { switch: 1e-6, exit: 2e-6, injection: 0.5e-6, handler: 1.5e-6 };

    fn close(got: f64, want: f64) {
        assert!((got / want - 1.0).abs() <= 1e-12, "{got} for {want}");
    }

    fn asked(pairs: &[(&str, &str)]) -> Solution {
        let common =
            [("lambda", "8000/s"), ("service", "exponential(100us)"), ("exit", "2us"), ("switch", "1us")];
        let given = MODEL.given(common.into_iter().chain(pairs.iter().copied())).unwrap();
        MODEL.solve(&given).unwrap()
    }

    #[test]
    fn an_interrupt_costs_what_its_visits_cost() {
        let device = Distribution::exponential(1e-4).unwrap();
        let through = |visits| Delivery::new(8000.0, &device, visits, COSTS, 1.0).unwrap();
        // 2 × 1 + 1.5 µs against 4 × 1 + 4 × 2 + 0.5 + 1.5 µs; the device is M/M/1 at 0.8: 500 µs.
        let native = through(Visits::NATIVE);
        close(native.transmission(), 3.5e-6);
        close(native.mean_response(), 503.5e-6);
        assert_eq!(native.vmm_share(), 0.0);
        let intercepted = through(Visits::intercepted(4.0));
        close(intercepted.transmission(), 14e-6);
        close(intercepted.mean_response(), 514e-6);
        close(intercepted.vmm_share(), 8.5 / 14.0);
        close(intercepted.cpu_share(), 8000.0 * 14e-6);
        close(intercepted.highest_rate(), 1e4);
    }

    #[test]
    fn the_catalogue_tells_the_studys_counts() {
        let native = asked(&[("how", "native")]);
        let trapped = asked(&[("how", "intercepted")]);
        assert_eq!((native.get("switches.rate"), native.get("exits.rate")), (Some(16_000.0), Some(0.0)));
        assert_eq!(
            (trapped.get("switches.rate"), trapped.get("exits.rate")),
            (Some(32_000.0), Some(32_000.0))
        );
        assert_eq!(trapped.get("injections.rate"), Some(8000.0));
        for how in ["exitless", "direct"] {
            assert_eq!(asked(&[("how", how)]), native, "{how}");
            assert_eq!(asked(&[("how", how), ("running", "0")]), trapped, "{how}");
        }
    }

    #[test]
    fn exitless_heeds_whose_interrupts_they_are_and_direct_does_not() {
        let half = [("running", "50%"), ("assigned", "40%"), ("exits", "2")];
        let ask = |how| asked(&[&[("how", how)][..], &half].concat()).get("exits.rate").unwrap();
        close(ask("exitless"), 8000.0 * 2.0 * 0.8);
        close(ask("direct"), 8000.0 * 2.0 * 0.5);
    }

    #[test]
    fn batches_save_processor_time_but_not_the_way_itself() {
        let device = Distribution::constant(1e-4).unwrap();
        let through = |batch| Delivery::new(8000.0, &device, Visits::intercepted(4.0), COSTS, batch);
        let (one, eight) = (through(1.0).unwrap(), through(8.0).unwrap());
        close(eight.cpu_share(), one.cpu_share() / 8.0);
        assert_eq!(eight.mean_response(), one.mean_response());
        close(one.mean_response(), 0.8 * 1e-4 / 0.4 + 1e-4 + 14e-6);
        assert!(through(0.5).is_err());
    }

    #[test]
    fn a_processor_cannot_take_more_than_there_is() {
        let device = Distribution::constant(1e-6).unwrap();
        let told = Delivery::new(1e5, &device, Visits::intercepted(4.0), COSTS, 1.0).unwrap_err().to_string();
        assert!(told.contains("no steady state at a load of 1.4") && told.contains("processor"), "{told}");
        assert!(Delivery::visits(Way::Direct, 4.0, 1.5, 1.0).is_err());
    }
}
