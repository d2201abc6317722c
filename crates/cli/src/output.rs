//! Where results go: text or JSON on standard output, files by their ending.

use std::borrow::Cow;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Access, Stat, access, fstat};
use serde::Serialize;
use tollway_core::Error;
use tollway_report::columns::fold;

/// Prints text on standard output; on a terminal what is wider is folded, and colours are stripped where it
/// is none or NO_COLOR is set.
pub fn text(text: &str) -> io::Result<()> {
    let text = &*width().map_or(Cow::Borrowed(text), |columns| fold(text, columns).into());
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Prints text in the place of what a terminal shows, folded and cut to what it has room for at this moment.
pub fn screen(text: &str) -> io::Result<()> {
    /// Moves a terminal's cursor to its corner and clears it (ECMA-48: CUP, ED).
    const AGAIN: &str = "\x1b[H\x1b[2J";
    let folded = width().map_or(text.into(), |columns| fold(text, columns));
    // The cursor stands in the last row.
    let rows = height().map_or(usize::MAX, |rows| rows.saturating_sub(1).max(1));
    let lines: String = folded.lines().take(rows).map(|line| format!("{line}\n")).collect();
    let mut out = anstream::stdout().lock();
    out.write_all(format!("{AGAIN}{lines}").as_bytes())?;
    out.flush()
}

/// Tells something beside the results, on standard error. Nobody is left to tell where that is closed.
pub fn tell(text: &str) {
    let text = &*width_of_errors().map_or(Cow::Borrowed(text), |columns| fold(text, columns).into());
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.write_all(b"\n"));
}

/// A JSON document that has no version of its own.
#[derive(Serialize)]
pub struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    document: T,
}

impl<T> Versioned<T> {
    /// The document in its first version.
    pub fn first(document: T) -> Self {
        Versioned { schema_version: 1, document }
    }
}

/// Prints one JSON document on standard output.
pub fn json(document: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// How many columns the terminal has that results go to; `None` where they go elsewhere.
pub fn width() -> Option<usize> {
    let out = io::stdout();
    let wide = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
    wide.filter(|columns| *columns > 0 && out.is_terminal())
}

/// How many rows the terminal has that results go to; `None` where they go elsewhere.
pub fn height() -> Option<usize> {
    let out = io::stdout();
    let size = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_row));
    size.filter(|rows| *rows > 0 && out.is_terminal())
}

/// How many columns the terminal has that is told beside results; `None` where that goes elsewhere.
pub fn width_of_errors() -> Option<usize> {
    let err = io::stderr();
    let wide = rustix::termios::tcgetwinsize(&err).ok().map(|size| usize::from(size.ws_col));
    wide.filter(|columns| *columns > 0 && err.is_terminal())
}

/// A format that figures are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The document of `--json`.
    Json,
    /// One line a point.
    Csv,
    /// A table for a page of text.
    Markdown,
}

impl Format {
    /// The format that a file's ending names.
    pub fn of(file: &Path) -> Result<Format, Error> {
        match file.extension().and_then(|e| e.to_str()) {
            Some("json") => Ok(Format::Json),
            Some("csv") => Ok(Format::Csv),
            Some("md") => Ok(Format::Markdown),
            _ => Err(Error::Input {
                place: format!("file `{}`", file.display()),
                reason: "its ending names no format".into(),
                remedy: "let it end in .json, .csv or .md".into(),
            }),
        }
    }
}

/// Refuses a file for a drawing whose ending is not that of what is drawn.
pub fn check_svg(file: &Path) -> Result<(), Error> {
    match file.extension().and_then(|e| e.to_str()) {
        Some("svg") => Ok(()),
        _ => Err(Error::Input {
            place: format!("file `{}`", file.display()),
            reason: "drawings are SVG, and its ending says otherwise".into(),
            remedy: "let it end in .svg".into(),
        }),
    }
}

/// Refuses a file that could not be written: told before anything is measured.
pub fn check_writable(file: &Path) -> Result<(), Error> {
    let there = fs::canonicalize(file).unwrap_or_else(|_| file.into());
    let folder = match there.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let is_dash = file == Path::new("-");
    if is_database(&there) {
        return Err(is_a_store(file));
    }
    // A file is written beside and put in its place; what is none is written to as it is.
    let written = if there.exists() && !there.is_file() { &there } else { folder };
    let refused = || access(written, Access::WRITE_OK).err().map(|e| e.to_string());
    let reason: String;
    let (reason, remedy) = if is_dash {
        ("standard output has what is shown, and what a program writes", "name a file")
    } else if is_standard(&there) {
        ("standard output or standard error goes to it, and it would be replaced", "name another file")
    } else if file.is_dir() {
        ("it is a folder", "name a file in it")
    } else if !folder.is_dir() {
        ("its folder does not exist", "make the folder, or name another file")
    } else {
        let Some(why) = refused() else { return Ok(()) };
        reason = format!("it cannot be written ({why})");
        (&*reason, "name a file in another folder")
    };
    Err(Error::Input {
        place: format!("file `{}`", file.display()),
        reason: reason.into(),
        remedy: remedy.into(),
    })
}

/// Where a file is, or will be: of two names of one file the same.
pub fn place_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    fs::canonicalize(file).unwrap_or_else(|_| match (fs::canonicalize(folder), file.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => file.into(),
    })
}

/// Whether standard output or standard error goes to this file.
fn is_standard(file: &Path) -> bool {
    let Ok(there) = fs::metadata(file) else { return false };
    let streams = [fstat(io::stdout()), fstat(io::stderr())];
    let is_same = |stream: &Stat| (stream.st_dev, stream.st_ino) == (there.dev(), there.ino());
    there.is_file() && streams.iter().flatten().any(is_same)
}

/// What a database begins with: sqlite.org/fileformat2.html, "The Database Header".
const DATABASE: &[u8] = b"SQLite format 3\0";

fn is_database(file: &Path) -> bool {
    let mut begins = [0; DATABASE.len()];
    file.is_file()
        && fs::File::open(file)
            .is_ok_and(|mut file| file.read_exact(&mut begins).is_ok() && begins == DATABASE)
}

/// A file that has runs is never written over.
pub fn is_a_store(file: &Path) -> Error {
    Error::Input {
        place: format!("file `{}`", file.display()),
        reason: "runs are kept in it".into(),
        remedy: "name another file".into(),
    }
}

/// Writes a file whole: beside it first, then in its place, so that a run killed meanwhile leaves the old one. What a link
/// leads to is written, not the link; a device or a pipe is written to, not replaced.
pub fn write(file: &Path, content: &str) -> Result<()> {
    if is_database(file) {
        return Err(is_a_store(file).into());
    }
    let written = match fs::canonicalize(file) {
        Ok(there) if there.is_file() => replace(&there, content),
        Ok(device) => fs::write(device, content),
        Err(_) => replace(file, content),
    };
    written.with_context(|| format!("writing {}; check that its folder exists and has room", file.display()))
}

/// Writes a file whole, but leaves an older one where there is nothing to put in its place, and says so;
/// whether it was written.
pub fn write_or_keep(file: &Path, is_empty: bool, content: impl FnOnce() -> Result<String>) -> Result<bool> {
    if is_empty && fs::metadata(file).is_ok_and(|there| there.is_file() && there.len() > 0) {
        tell(&format!("{} is left as it was: there is no figure to put in its place", file.display()));
        return Ok(false);
    }
    write(file, &content()?)?;
    Ok(true)
}

fn replace(file: &Path, content: &str) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".part");
    let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, file));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A bill with `-o ./tollway.db` had taken the place of all runs.
    #[test]
    fn a_store_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (store, link) = (folder.path().join("runs.db"), folder.path().join("link"));
        let kept = [DATABASE, b"and runs"].concat();
        fs::write(&store, &kept).unwrap();
        symlink(&store, &link).unwrap();
        for file in [&store, &link] {
            assert!(check_writable(file).unwrap_err().to_string().contains("runs are kept in it"));
            assert!(write(file, "a bill").is_err());
        }
        assert_eq!(fs::read(&store).unwrap(), kept);
        assert_eq!(place_of(&link), place_of(&folder.path().join("./runs.db")));
        assert_eq!(place_of(&folder.path().join("new")), fs::canonicalize(&folder).unwrap().join("new"));
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        // A link to a device: whoever may, would replace what it leads to.
        let device = folder.path().join("null");
        symlink("/dev/null", &device).unwrap();
        write(&device, "gone").unwrap();
        assert!(fs::symlink_metadata(&device).unwrap().is_symlink());
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    /// A run that was interrupted after some seconds once put an empty page in the place of a report of
    /// hours.
    #[test]
    fn what_is_empty_does_not_replace_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.html");
        let write = |is_empty: bool, text: &str| write_or_keep(&file, is_empty, || Ok(text.into())).unwrap();
        assert!(write(true, "nothing yet"), "there is nothing to lose");
        assert!(write(false, "figures"));
        assert!(!write(true, "nothing"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "figures");
        assert!(write(false, "newer figures"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "newer figures");
        assert!(write_or_keep(Path::new("/dev/null"), true, || Ok("nothing".into())).unwrap());
    }

    #[test]
    fn where_nothing_can_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |file: &Path| check_writable(file).unwrap_err().to_string();
        assert!(refused(folder.path()).contains("a folder"));
        assert!(refused(&folder.path().join("no/file")).contains("does not exist"));
        let file = folder.path().join("file");
        check_writable(&file).unwrap();
        check_writable(Path::new("/dev/null")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
        if access(folder.path(), Access::WRITE_OK).is_err() {
            assert!(refused(&file).contains("cannot be written"), "{}", refused(&file));
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn a_dash_is_no_file() {
        assert!(check_writable(Path::new("-")).unwrap_err().to_string().contains("name a file"));
    }
}
