//! Files that stay open instead of being opened for each use.

use tollway_watch::FileKind;

use super::{Change, calls};
use crate::bill::Bill;
use crate::prices::{Price, Prices};

/// Opens of what was open before in a second from which on it is a habit, and not a program's start.
const HABIT: f64 = 50.0;

pub(super) fn change(bill: &Bill, _: &Prices<'_>) -> Option<Change> {
    let opened: f64 =
        calls(bill).filter(|(_, call, _)| call.starts_with("open")).map(|(line, ..)| line.done()).sum();
    // Where each file is opened once, as by who goes through folders, nothing can be kept.
    let again = opened * bill.evidence.reopened;
    if again < HABIT * (bill.watched / 1e9).max(1.0) {
        return None;
    }
    let mut saves: Option<Price> = None;
    for (line, call, file) in calls(bill) {
        let of_a_name = call.starts_with("open")
            || matches!(call, "stat" | "lstat" | "newfstatat" | "statx" | "fstat" | "access");
        let of_a_file = call == "close" && matches!(file, FileKind::Regular | FileKind::Folder);
        if (of_a_name || of_a_file)
            && let Some(sum) = line.sum.as_ref().filter(|_| line.count > 0.0)
        {
            // Not more often than files were opened again: other stats are of something else.
            saves = Some(saves.unwrap_or_default().plus(&sum.times(line.count.min(again) / line.count)));
        }
    }
    let all = saves?;
    Some(Change {
        name: "kept-open",
        what: "files that stay open".into(),
        how: "keep descriptors of what is used again (nginx: open_file_cache; SQLite: journal_mode=WAL or PERSIST)".into(),
        can_be_tried: false,
        in_user_mode: false,
        // Some have to be opened all the same.
        saves: Price { lo: all.lo / 2.0, ..all },
        sooner: None,
    })
}
