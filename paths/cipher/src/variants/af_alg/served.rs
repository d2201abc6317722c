//! A card that is the virtio-crypto of one Linux guest, by QEMU's cryptodev-vhost-user, for as long as the guest lives.
//!
//! It is a card as `tollway cipher serve` has it, with an engine of its own, and not one whose engine is lent to a trial: it serves
//! before the guest boots, and between its trials.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Window};
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

use crate::engine::device::{Card, Delivery, NewFunction, Options, Told};

/// The card.
pub(super) struct Served {
    spin: Duration,
    card: Option<Card>,
}

impl Served {
    /// Its engine looks for requests for that long before it sleeps.
    pub(super) fn new(spin: Duration) -> Served {
        Served { spin, card: None }
    }
}

impl Actor for Served {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let refused = |e: std::io::Error| Error::system("making a folder for a card's socket", e);
        let folder = tempfile::Builder::new().prefix("tollway-card-").tempdir().map_err(refused)?;
        let path = folder.path().join("card");
        let function = NewFunction {
            name: "guest".into(),
            meeting: Meeting::Listen(Listener::bind(&path, 0o600)?),
            share: Share::default(),
            delivery: Delivery::Each,
        };
        // Once the guest is connected nobody needs the name, and nothing of it is left if this is killed.
        let folder = Mutex::new(Some(folder));
        let tell = move |told| {
            if let Told::Connected(_) = told {
                folder.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        };
        let options = Options { spin: self.spin, ..Options::default() };
        self.card = Some(Card::start(vec![function], &options, tell)?);
        Ok(Address(path.display().to_string()))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        Err(Error::Wrong("a guest's card has no window: it serves all the time".into()))
    }

    fn park(&mut self) {
        self.card = None;
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }
}
