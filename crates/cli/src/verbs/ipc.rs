//! `tollway ipc`: the tool of the path `ipc`.

use anyhow::Result;
use tollway_ipc_tool as tool;
use tollway_ipc_tool::args::{Ipc, Repeats, What};
use tollway_ipc_tool::sweep::Sweep;
use tollway_lab::{self as lab, not_kept};

use super::work::{self, Measured};
use crate::args::Arguments;
use crate::exit::Ending;
use crate::laboratory;
use crate::output;
use crate::progress_bar::Told;

/// Measures requests to other processes and the kernel, or advises on them.
pub fn ipc(arguments: &Arguments, options: &Ipc) -> Result<Ending> {
    let ended = match &options.what {
        What::PingPong(of) => sweep(arguments, &Sweep::ping_pong(of), &of.repeats)?,
        What::AllocServer(of) => sweep(arguments, &Sweep::alloc_server(of), &of.repeats)?,
        What::TcpServer(of) => sweep(arguments, &Sweep::tcp_server(of), &of.repeats)?,
        What::Advise(of) => {
            let registry = tollway_all::registry();
            let lab = laboratory::lab(&registry)?;
            let mut told = Told::new();
            let ended = tool::advise::run(of, &lab, &arguments.store, &mut told);
            told.finish();
            let (found, ending) = ended?;
            work::tell(arguments, &found, |document| document.to_text(output::width()))?;
            ending
        }
    };
    Ok(match ended {
        tool::Ending::Done => Ending::Done,
        tool::Ending::CheckFailed => Ending::CheckFailed,
        tool::Ending::RequirementMissing => Ending::RequirementMissing,
        tool::Ending::Interrupted => Ending::Interrupted,
    })
}

/// One of the applications, at all that its options name.
fn sweep(arguments: &Arguments, sweep: &Sweep, repeats: &Repeats) -> Result<tool::Ending> {
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut told = Told::new();
    let ended = tool::sweep::run(sweep, repeats, &lab, &arguments.store, &mut told);
    told.finish();
    let (found, ending) = ended?;
    work::tell(arguments, &found, |document| document.to_text(output::width()))?;
    if let (lab::Finding::Planned(estimate), Some(asked)) = (&found, repeats.time)
        && let Some(said) = not_kept(asked, estimate.seconds)
    {
        output::tell(&format!("warning: {said}"));
    }
    Ok(ending)
}

/// Shows what an application has come to whose run has gone on.
pub fn resumed(run: &Measured<'_>, sweep: &Sweep) -> Result<Ending> {
    let found = tool::sweep::found(sweep, run.store, run.ended, run.registry)?;
    work::tell(run.arguments, &lab::Finding::Found(Some(found)), |document| {
        document.to_text(output::width())
    })?;
    Ok(run.ending())
}
