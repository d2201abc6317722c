//! AF_XDP: a program at the driver's door sends the frames of a receive queue into memory of this process, past the
//! kernel's network stack. Source: Documentation/networking/af_xdp.rst of the kernel, linux/if_xdp.h, linux/bpf.h.
//!
//! ```text
//! driver ── program: queue → socket (redirect map), or on to the stack where no socket is ── receive ring ── Port
//!              └ counts what it redirects                              fill ring (empty chunks) ──┘
//! ```

mod indices;
mod port;
mod program;
mod redirect;

pub use port::{Chunks, Losses, Port};
pub use redirect::{Mode, Redirect};
