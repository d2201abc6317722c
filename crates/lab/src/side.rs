//! The sides of a comparison: two builds, or one build in two settings of the host or at two values of an axis.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollway_core::{Error, Params, Result, Value};
use tollway_tenant::Executable;

/// One side: what is started as agents, and what is set before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// How it is called in reports: `A`, `B`.
    pub label: String,
    /// What it is, as the person wrote it.
    pub about: String,
    /// The program whose agents it uses; `None` for the running program.
    pub program: Option<PathBuf>,
    /// Environment of its agents.
    pub environment: Vec<(String, String)>,
    /// Files of the kernel's settings (under /sys or /proc/sys) and what is written to them before each of its trials.
    pub settings: Vec<Setting>,
    /// Values of axes: each of its points has those that are its variant's, whatever else was said of it.
    #[serde(default)]
    pub axes: Params,
    /// Slowdown planted in every operation, as a share of its cost: 0.1 makes each 10 % slower. Proves that the
    /// comparison finds it.
    pub planted: f64,
}

/// A file of the kernel's settings, and the text to be written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The file, under /sys or /proc/sys.
    pub file: PathBuf,
    /// What is written.
    pub value: String,
}

impl Setting {
    /// Whether its file is one of the kernel's settings: under /sys or /proc/sys, also when links are followed.
    pub fn is_of_the_kernel(&self) -> bool {
        let within = |file: &Path| file.starts_with("/sys") || file.starts_with("/proc/sys");
        let plain = !self.file.components().any(|c| c == std::path::Component::ParentDir);
        plain && within(&self.file) && self.file.canonicalize().map_or(true, |real| within(&real))
    }

    /// The same file with what stands in it now.
    pub fn standing(&self) -> Result<Setting> {
        let now = fs::read_to_string(&self.file)
            .map_err(|e| Error::system(format!("reading {}", self.file.display()), e))?;
        Ok(Setting { file: self.file.clone(), value: selected(&now) })
    }
}

impl Side {
    /// The running program as it is.
    pub fn as_it_is(label: impl Into<String>) -> Self {
        Side {
            label: label.into(),
            about: "this program".into(),
            program: None,
            environment: Vec::new(),
            settings: Vec::new(),
            axes: Params::new(),
            planted: 0.0,
        }
    }

    /// Reads a side as a person writes it: parts joined by `,`, each one of
    /// `self`, the path of a tollway program, `env:NAME=VALUE`, `set:/sys/…=VALUE`, `set:/proc/sys/…=VALUE`, `axis:NAME=VALUE`,
    /// and `plant:10%`, which makes every operation slower by that share: for proofs that a comparison finds it.
    pub fn parse(label: &str, text: &str) -> Result<Side> {
        let mut side = Side { about: text.into(), ..Side::as_it_is(label) };
        for part in text.split(',').map(str::trim) {
            let bad = |reason: &str| {
                Error::Input {
                place: format!("side {label}, `{part}`"),
                reason: reason.into(),
                remedy: "write `self`, the path of a tollway program, `env:NAME=VALUE`, \
                         `set:/sys/…=VALUE` (also /proc/sys), `axis:NAME=VALUE` or `plant:10%`, joined by commas"
                    .into(),
            }
            };
            if part == "self" {
            } else if let Some(assignment) = part.strip_prefix("env:") {
                let (name, value) = assignment.split_once('=').ok_or_else(|| bad("it has no `=`"))?;
                if name.is_empty() || text.contains('\0') {
                    return Err(bad("it names no variable"));
                }
                side.environment.push((name.into(), value.into()));
            } else if let Some(assignment) = part.strip_prefix("set:") {
                let (file, value) = assignment.split_once('=').ok_or_else(|| bad("it has no `=`"))?;
                let setting = Setting { file: file.into(), value: value.into() };
                if !setting.is_of_the_kernel() {
                    return Err(bad("only files under /sys and /proc/sys are set"));
                }
                side.settings.push(setting);
            } else if let Some(assignment) = part.strip_prefix("axis:") {
                let (axis, value) = assignment.split_once('=').ok_or_else(|| bad("it has no `=`"))?;
                let number = value.parse().map(Value::Int).or_else(|_| value.parse().map(Value::Real));
                side.axes.set(axis, number.unwrap_or_else(|_| value.into()));
            } else if let Some(share) = part.strip_prefix("plant:") {
                let percent = share.strip_suffix('%').and_then(|n| n.parse::<f64>().ok());
                let percent = percent.filter(|p| (0.0..=1000.0).contains(p));
                side.planted = percent.ok_or_else(|| bad("it is no share from 0% to 1000%"))? / 100.0;
            } else if Path::new(part).is_file() {
                side.program = Some(part.into());
            } else {
                return Err(bad("it is neither a program nor a setting"));
            }
        }
        Ok(side)
    }

    /// The program and surroundings of its agents. `own` is the running program's way to start an agent.
    pub fn executable(&self, own: &Executable) -> Executable {
        let mut executable = own.clone();
        if let Some(program) = &self.program {
            executable.program.clone_from(program);
        }
        executable.environment.extend(self.environment.iter().cloned());
        executable
    }
}

/// Settings that were changed and are put back when this is dropped.
#[derive(Debug)]
pub struct Applied {
    before: Vec<Setting>,
}

impl Applied {
    /// Writes the settings, remembering what stood there.
    pub fn apply(settings: &[Setting]) -> Result<Applied> {
        let mut applied = Applied { before: Vec::new() };
        for setting in settings {
            let before = setting.standing()?;
            fs::write(&setting.file, &setting.value).map_err(|e| {
                Error::system(format!("writing `{}` to {}", setting.value, setting.file.display()), e)
            })?;
            applied.before.push(before);
        }
        Ok(applied)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for setting in self.before.iter().rev() {
            // Nobody is left to tell; the file took a value of the same kind a moment ago.
            let _ = fs::write(&setting.file, &setting.value);
        }
    }
}

/// What has to be written to get this content back: of `always [madvise] never` the word in brackets.
fn selected(content: &str) -> String {
    let content = content.trim();
    match (content.find('['), content.find(']')) {
        (Some(open), Some(close)) if open < close => content[open + 1..close].into(),
        _ => content.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_read_as_it_is_written() {
        let side = Side::parse("B", "self,env:GLIBC_TUNABLES=x=y,set:/sys/kernel/mm/ksm/run=0").unwrap();
        assert_eq!(side.environment, [("GLIBC_TUNABLES".into(), "x=y".into())]);
        assert_eq!(side.settings[0].value, "0");
        assert_eq!(side.program, None);
        assert_eq!(Side::parse("B", "plant:12.5%").unwrap().planted, 0.125);
    }

    #[test]
    fn an_axis_takes_numbers_and_words() {
        let side = Side::parse("B", "self,axis:disk=luks,axis:depth=32").unwrap();
        assert_eq!(side.axes, Params::new().with("disk", "luks").with("depth", 32));
    }

    #[test]
    fn what_is_no_setting_is_refused_with_its_place() {
        for text in [
            "set:/etc/passwd=x",
            "set:/sys/../etc/passwd=x",
            "env:NOTHING",
            "env:=x",
            "axis:disk",
            "no-such-program",
            "",
            "plant:10",
            "plant:NaN%",
            "plant:-1%",
            "plant:1e9%",
        ] {
            let error = Side::parse("A", text).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn the_selected_word_is_what_is_put_back() {
        assert_eq!(selected("always [madvise] never\n"), "madvise");
        assert_eq!(selected("1\n"), "1");
    }
}
