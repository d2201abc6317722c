//! `tollway bill`: where prices are from and kept, who believes them, and a bill that cannot be kept.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::eventually::eventually;
use crate::program::priced::{bench, prices};
use crate::program::{Bench, SHORT, checked, skip};
use serde_json::Value;

/// What is said where prices are measured.
const MEASURES: &str = "measured now";
/// Prices that each of these bills needs: to measure them takes a second, and all that it needs ten.
const SOME: [&str; 3] = ["getppid", "minor-fault", "write-byte"];
/// A user that is not root.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all";

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Bills a program with what `with` sets; returns the document and what was said besides.
fn billed(bench: &Bench, arguments: &[&str], with: impl FnOnce(&mut Command)) -> (Value, String) {
    let mut command = bench.tollway(&[&["bill", "--json"], arguments].concat());
    with(&mut command);
    let (out, err) = checked(&command.output().unwrap(), 0);
    (serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}")), err)
}

fn from(bill: &Value) -> Vec<&str> {
    bill["prices_from"].as_array().map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect())
}

/// The list in a folder.
fn list_in(folder: &Path) -> PathBuf {
    let is_list = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "json");
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).find(is_list).unwrap()
}

/// A list in a folder that lacks those.
fn lacks_some(folder: &Path) -> PathBuf {
    let whole = list_in(&prices());
    let mut list: Value = serde_json::from_slice(&fs::read(&whole).unwrap()).unwrap();
    let all = list["prices"].as_array_mut().unwrap();
    all.retain(|price| !SOME.contains(&price["key"].as_str().unwrap()));
    fs::create_dir_all(folder).unwrap();
    let file = folder.join(whole.file_name().unwrap());
    fs::write(&file, list.to_string()).unwrap();
    file
}

fn has_some(list: &Path) -> bool {
    let list: Value = serde_json::from_slice(&fs::read(list).unwrap()).unwrap();
    let keys: Vec<&str> =
        list["prices"].as_array().unwrap().iter().filter_map(|price| price["key"].as_str()).collect();
    SOME.iter().all(|some| keys.contains(some))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs a script in a mount namespace of its own, where it may put what it likes in the place of folders; `$T` is the program, `$L` a folder with a
/// whole price list, `$N` runs what follows as nobody. `None` where that is not allowed.
fn apart(bench: &Bench, script: &str) -> Option<Output> {
    let list = prices();
    // As /tmp is: all may write, and nobody can replace what is another's.
    fs::set_permissions(bench.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]);
        bench.set_up(&mut command);
        command.env_remove("TOLLWAY_PRICES").env("HOME", bench.file("home"));
        command.env_remove("XDG_DATA_HOME");
        command.env("T", env!("CARGO_BIN_EXE_tollway")).env("L", &list).env("N", NOBODY);
        command.output()
    };
    let may = format!("mount -t tmpfs none /var/lib && {NOBODY} \"$T\" --version");
    if !is_root() || !inside(&may).is_ok_and(|output| output.status.success()) {
        skip("folders of root's", "root", "run as root, built where everybody may read the program");
        return None;
    }
    Some(inside(script).unwrap())
}

#[test]
fn where_the_machine_has_a_list_no_folder_waits_for_one() {
    let list = prices();
    for _ in 0..2 {
        let bench = Bench::with(SHORT);
        let (bill, err) = billed(&bench, &["--", "true"], |command| {
            command.env("TOLLWAY_PRICES", &list);
        });
        assert!(!err.contains(MEASURES), "{err}");
        assert_eq!(from(&bill), [list_in(&list).to_str().unwrap()]);
        assert!(bill["explained"]["ns"].as_f64().unwrap() > 0.0, "{bill}");
    }
}

#[test]
fn a_first_bill_measures_what_it_needs_and_the_next_finds_it() {
    let bench = Bench::with(SHORT);
    let (bill, err) = billed(&bench, &["--by", "proc", "--", "true"], |_| {});
    let list = list_in(&bench.file("prices"));
    assert!(err.contains(MEASURES) && from(&bill) == [list.to_str().unwrap()], "{bill}: {err}");
    let written: Value = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    let count = written["prices"].as_array().unwrap().len();
    assert!((2..150).contains(&count), "{count} prices: a part of all");
    fs::remove_file(bench.file("tollway.db")).unwrap();
    let (again, err) = billed(&bench, &["--by", "proc", "--", "true"], |_| {});
    assert!(!err.contains(MEASURES) && from(&again) == from(&bill), "{err}");
    // What the data home of a user has is found as well.
    let home = bench.file("home/tollway");
    fs::create_dir_all(&home).unwrap();
    fs::rename(&list, home.join(list.file_name().unwrap())).unwrap();
    let Some(output) = apart(
        &bench,
        "set -e; mount -t tmpfs none /var/lib; XDG_DATA_HOME=$HOME $T bill --json --by proc -- true; ls /var/lib",
    ) else {
        return;
    };
    let (out, err) = checked(&output, 0);
    assert!(out.contains("home/tollway/prices-") && !err.contains(MEASURES), "{out}{err}");
}

#[test]
fn what_root_measured_is_for_all_and_root_believes_what_is_only_roots() {
    let bench = Bench::with(SHORT);
    let own = lacks_some(&bench.file("home/.local/share/tollway"));
    fs::set_permissions(bench.file("home"), fs::Permissions::from_mode(0o700)).unwrap();
    let Some(output) = apart(
        &bench,
        r#"set -e; mount -t tmpfs -o mode=755 none /var/lib; umask 077
        D=/var/lib/tollway
        bill() { "$@" bill --json --by proc -- true > $S.json 2> $S.txt; }
        S=first bill $T;          stat -c %a $D $D/*.json
        rm $D/*; cp $L/*.json $D; chmod 644 $D/*
        S=root bill $T;           S=nobody bill $N $T
        chmod 666 $D/*.json;      S=writable bill $T; stat -c %a $D/*.json
        chown 65534 $D;           S=given bill $T;    ls $D | wc -l
        ls home/.local/share/tollway"#,
    ) else {
        return;
    };
    let (out, err) = checked(&output, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..4], ["755", "644", "644", "2"], "{out}{err}");
    assert!(lines[4].starts_with("prices-"), "{out}");
    let said = |step: &str| fs::read_to_string(bench.file(&format!("{step}.txt"))).unwrap();
    let of = |step: &str| -> Value {
        serde_json::from_slice(&fs::read(bench.file(&format!("{step}.json"))).unwrap()).unwrap()
    };
    for step in ["first", "root", "nobody", "writable"] {
        let bill = of(step);
        let is_there = from(&bill).iter().any(|list| list.starts_with("/var/lib/tollway/prices-"));
        assert!(is_there, "{step}: {:?}", from(&bill));
    }
    for (step, measures) in [("first", true), ("root", false), ("nobody", false), ("writable", true)] {
        assert_eq!(said(step).contains(MEASURES), measures, "{step}: {}", said(step));
    }
    assert!(said("writable").contains("any user could have written it"), "{}", said("writable"));
    // And what root measures is not put where another could change it.
    assert!(said("given").contains("user 65534 could have written it"), "{}", said("given"));
    let given = of("given");
    assert!(from(&given)[0].contains("home/.local/share/tollway/"), "{:?}", from(&given));
    assert!(has_some(&own), "what was measured is not there");
}

#[test]
fn a_store_of_this_folder_that_has_prices_is_used_and_named() {
    let bench = bench();
    let (bill, err) = billed(&bench, &["--by", "proc", "--", "true"], |_| {});
    assert!(!err.contains(MEASURES), "{err}");
    assert_eq!(from(&bill), ["tollway.db"]);
    let (_, text) = bench.ends(&["bill", "--by", "proc", "--", "true"], 0);
    assert!(text.contains("Prices: tollway.db"), "{text}");
    if !is_root() {
        return skip("root and a store that others can write", "root", "run as root");
    }
    fs::set_permissions(bench.file("tollway.db"), fs::Permissions::from_mode(0o666)).unwrap();
    let list = lacks_some(&bench.file("prices"));
    let (bill, err) = billed(&bench, &["--by", "proc", "--", "true"], |_| {});
    assert!(err.contains("tollway.db: not believed, as any user could have written it"), "{err}");
    assert_eq!(from(&bill), [list.to_str().unwrap()]);
    assert!(err.contains(MEASURES) && has_some(&list), "{err}");
}

#[test]
fn with_no_store_nothing_is_kept() {
    let bench = Bench::with(SHORT);
    let list = lacks_some(&bench.file("prices"));
    let before = (names(bench.path()), names(&bench.file("prices")));
    let (bill, err) = billed(&bench, &["--no-store", "--by", "proc", "--", "true"], |_| {});
    assert!(err.contains(MEASURES) && !err.contains("not kept"), "{err}");
    assert!(from(&bill).contains(&"measured for this bill alone"), "{:?}", from(&bill));
    assert!((names(bench.path()), names(&bench.file("prices"))) == before && !has_some(&list));
    let (bill, err) = billed(&bench, &["--no-store", "--by", "proc", "--", "true"], |command| {
        command.env("TOLLWAY_PRICES", prices());
    });
    assert!(!err.contains(MEASURES) && from(&bill)[0].contains("prices-"), "{err}");
    assert_eq!(names(bench.path()), before.0);
}

#[test]
fn a_bill_is_shown_where_it_cannot_be_kept_and_it_is_said_why() {
    let bench = Bench::with(SHORT);
    lacks_some(&bench.file("some"));
    let Some(output) = apart(
        &bench,
        r#"export TOLLWAY_PRICES=$L; mkdir ro full roots; B=$PWD
        bill() { "$@" bill --by proc -- sh -c 'echo its; exit 7' > $B/$S.out 2> $B/$S.txt; echo $S $? $(ls); }
        mount -t tmpfs none ro; mount -o remount,ro ro;   cd ro;   S=ro bill $T;       cd ..
        chmod 755 roots;                                  cd roots; S=nobody bill $N $T; cd ..
        mount -t tmpfs -o size=1m none full;              cd full; mkdir p; cp $B/some/*.json p
        dd if=/dev/zero of=ballast bs=4k status=none
        S=full bill $T; $T history
        TOLLWAY_PRICES=$PWD/p S=unkept bill $T
        cmp p/*.json $B/some/*.json && echo p is unchanged"#,
    ) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    for (step, left, why) in [
        ("ro", "", "tollway.db: "),
        ("nobody", "", "tollway.db: cannot be opened"),
        ("full", "ballast p", "tollway.db: no space left on its disk"),
    ] {
        let line = format!("{step} 7 {left}");
        assert!(said.lines().any(|one| one == line.trim_end()), "no `{line}`: {said}");
        assert_eq!(fs::read_to_string(bench.file(&format!("{step}.out"))).unwrap(), "its\n");
        let text = fs::read_to_string(bench.file(&format!("{step}.txt"))).unwrap();
        assert!(text.contains("The bill of sh") && text.contains("sum of the tolls"), "{step}: {text}");
        assert!(text.contains(&format!("this bill is not kept: {why}")), "{step}: {text}");
        assert!(text.contains("`--store FILE` keeps it in another place") && !text.contains("--resume"));
    }
    assert!(complained.contains("tollway.db: there is no such file"), "{complained}");
    // Nor can prices be kept there; they are used all the same.
    let unkept = fs::read_to_string(bench.file("unkept.txt")).unwrap();
    assert!(unkept.contains("is used for this bill and not kept"), "{unkept}");
    assert!(unkept.contains("TOLLWAY_PRICES=FOLDER") && unkept.contains("measured for this bill alone"));
    assert!(said.contains("p is unchanged"), "{said}");
}

#[test]
fn a_disk_that_fills_up_at_any_moment_costs_no_bill_and_no_store() {
    let bench = Bench::with(SHORT);
    let Some(output) = apart(
        &bench,
        r#"export TOLLWAY_PRICES=$L; B=$PWD
        for K in 4 40 56 88 104 136 168 232 296 400 800; do
            mkdir $K; mount -t tmpfs -o size=${K}k none $K; cd $K
            $T bill --by proc -- sh -c 'exit 7' > /dev/null 2> $B/$K.txt; echo $K $?
            $T history > $B/$K.out 2>&1; cd ..
        done"#,
    ) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut kept, mut lost) = (0, 0);
    for line in said.lines() {
        let (size, code) = line.split_once(' ').unwrap();
        let read = |ending: &str| fs::read_to_string(bench.file(&format!("{size}.{ending}"))).unwrap();
        let (text, history) = (read("txt"), read("out"));
        assert!(
            code == "7" && text.contains("The bill of sh") && !text.contains("panicked"),
            "{size}: {text}"
        );
        if text.lines().any(|line| line.starts_with("run ")) {
            kept += 1;
            assert!(history.contains("bill of sh"), "{size}: {history}");
        } else {
            lost += 1;
            assert!(text.contains("this bill is not kept: tollway.db: "), "{size}: {text}");
            // What is there can be read, or nothing is there.
            let is_sound = history.contains("bill of sh")
                || history.contains("no such file")
                || history.contains("No run yet");
            assert!(is_sound, "{size}: {history}");
        }
    }
    assert!(kept > 0 && lost > 0, "{kept} of them: {said}");
}

#[test]
fn what_is_no_store_is_refused_with_a_remedy() {
    let bench = Bench::with(SHORT);
    for (content, says) in [
        (&b""[..], "it is empty, so no store yet: remove it"),
        (b"no database at all, but text", "it is no SQLite database); name another file"),
    ] {
        fs::write(bench.file("tollway.db"), content).unwrap();
        let (_, err) = bench.ends(&["history"], 1);
        assert!(err.contains("tollway.db") && err.contains(says), "{err}");
    }
    // A program's bill goes into no file that is something else; it is not even started.
    let (out, err) = bench.ends(&["bill", "--", "echo", "started"], 125);
    assert!(out.is_empty() && err.contains("this is not a Tollway store"), "{out}{err}");
}

#[test]
fn first_bills_at_once_and_one_that_is_killed_leave_a_whole_list() {
    let bench = Bench::with(SHORT);
    let first = |store: &str| {
        let mut command = bench.tollway(&["--store", store, "bill", "--by", "proc", "--", "true"]);
        command.stderr(fs::File::create(bench.file(&format!("{store}.txt"))).unwrap());
        command.spawn().unwrap()
    };
    let said = |store: &str| fs::read_to_string(bench.file(&format!("{store}.txt"))).unwrap();
    let mut killed = first("killed");
    eventually("it begins to measure", || said("killed").contains("measuring:"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    bench.nothing_stays_behind();
    assert_eq!(names(&bench.file("prices")), ["prices.lock"]);
    let both = ["one", "two"].map(first);
    for mut one in both {
        assert!(one.wait().unwrap().success());
    }
    // The one waited for the other, and found what that had measured.
    let measured = ["one", "two"].iter().filter(|store| said(store).contains("measuring:")).count();
    let waited = ["one", "two"].iter().filter(|store| said(store).contains("waits for them")).count();
    assert_eq!((measured, waited), (1, 1), "{} {}", said("one"), said("two"));
    assert_eq!(names(&bench.file("prices")).len(), 2);
    let (bill, err) = billed(&bench, &["--by", "proc", "--", "true"], |_| {});
    assert!(!err.contains(MEASURES) && from(&bill).len() == 1, "{err}");
}

#[test]
fn one_that_is_ended_by_another_program_measures_nothing_more() {
    let bench = Bench::with(SHORT);
    let watching = bench.tollway(&["bill", "--by", "proc", "--", "sleep", "61.75"]).spawn().unwrap();
    let sleeps = || Command::new("pgrep").args(["-f", "^sleep 61.75"]).output().unwrap().status.success();
    eventually("it is started", sleeps);
    let ended = Command::new("kill").args(["-TERM", &watching.id().to_string()]).status().unwrap();
    assert!(ended.success());
    let (_, err) = checked(&watching.wait_with_output().unwrap(), 143);
    assert!(err.contains("were not measured, as it was interrupted") && !err.contains(MEASURES), "{err}");
    assert!(err.contains("The bill of sleep 61.75") && err.contains("no toll"), "{err}");
}

#[test]
fn a_bill_goes_to_a_file_and_the_output_of_the_program_where_it_went() {
    let bench = bench();
    let (out, err) = bench.ends(&["bill", "-o", "bill.txt", "--", "echo", "its"], 0);
    assert_eq!(out, "its\n");
    assert!(!err.contains("The bill of"), "{err}");
    let text = fs::read_to_string(bench.file("bill.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "The bill of echo its");
    assert!(lines[1].starts_with("in the kernel: ") && lines[1].contains(" · dearest: "), "{text}");
    assert!(lines[1].contains(" · what if: ") && text.contains("\nrun "), "{text}");
    let (out, _) = bench.ends(&["bill", "--json", "-o", "bill.json", "--", "echo", "its"], 0);
    assert_eq!(out, "its\n");
    let bill: Value = serde_json::from_slice(&fs::read(bench.file("bill.json")).unwrap()).unwrap();
    assert_eq!(bill["program"], "echo its");
    // The sum is one line, and the same as the bill has.
    let (out, err) = bench.ends(&["bill", "-q", "-o", "sum.txt", "--", "echo", "its"], 0);
    assert_eq!((out.as_str(), err.as_str()), ("its\n", ""));
    let sum = fs::read_to_string(bench.file("sum.txt")).unwrap();
    assert!(sum.starts_with("echo its: sum of the tolls ") && sum.trim_end().lines().count() == 1, "{sum}");
    let (_, err) = bench.ends(&["bill", "-q", "--", "true"], 0);
    assert!(err.starts_with("true: sum of the tolls ") && err.lines().count() == 1, "{err}");
    // One that is kept goes to a file as well.
    let run = lines.last().unwrap().trim_start_matches("run ").to_string();
    let (out, _) = bench.ends(&["bill", "--of", &run, "-o", "again.txt"], 0);
    assert!(out.is_empty() && text.starts_with(&fs::read_to_string(bench.file("again.txt")).unwrap()));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_program_starts() {
    let bench = Bench::with(SHORT);
    for (arguments, says) in [
        (&["-o", "no/such/bill"][..], "does not exist"),
        (&["-o", "."], "a folder"),
        (&["-o", "one.json", "--export", "one.json"], "named twice"),
        (&["-q", "--json"], "--quiet"),
        (&["-q", "--live"], "--quiet"),
    ] {
        let (out, err) = bench.ends(&[&["bill"], arguments, &["--", "echo", "started"]].concat(), 2);
        assert!(out.is_empty() && err.contains(says), "{arguments:?}: {out}{err}");
    }
}
