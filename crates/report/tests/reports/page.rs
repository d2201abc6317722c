//! The page, as text and in a browser.

use crate::synthetic;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::synthetic::{Behaviour, Made};
use tollway_core::{Crossing, TollKey};
use tollway_report::RunReport;

/// The largest page that is to be sent by mail.
const LARGEST: usize = 1 << 20;

fn page() -> String {
    let mut made = Made::new();
    let run = synthetic::price_list(&mut made.store);
    RunReport::from_store(&made.store, run).unwrap().html().unwrap()
}

#[test]
fn nothing_comes_from_elsewhere_and_nobody_elses_text_is_markup() {
    let page = page();
    assert!(page.len() <= LARGEST, "{} bytes", page.len());
    for banned in ["<script", "<img", "http://", "https://", "url(", "@import", "<link", "src="] {
        let at = page.find(banned);
        // What was given as a title or an error stands there escaped; nothing else may.
        let context = at.map(|at| &page[at.saturating_sub(60)..(at + 40).min(page.len())]);
        let escaped = context.is_some_and(|c| c.contains("&lt;img") && banned == "src=");
        assert!(at.is_none() || escaped, "{banned}: {context:?}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;"), "the hostile title is shown as it is");
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn what_a_guest_says_is_only_text() {
    let mut made = Made::new();
    let run = synthetic::guests::host_and_guests(&mut made.store);
    let mut facts = synthetic::guests::facts();
    let linux = facts.linux_guests.as_mut().unwrap();
    linux.kernel = "<script>alert(1)</script>\u{1b}[31m".into();
    linux.why = "\"><img src=x onerror=alert(1)>".into();
    made.store.note_guests(run, &facts).unwrap();
    let page = RunReport::from_store(&made.store, run).unwrap().html().unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;") && page.contains("&lt;img"));
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'));
    // Two kinds of guests: a mark for each ratio, and no more.
    assert_eq!(page.matches("<svg class=\"ratios\"").count(), 12);
    assert_eq!(page.matches("<rect class=\"whisker micro\"").count(), 5);
    assert_eq!(page.matches("<rect class=\"whisker linux\"").count(), 10);
}

#[test]
fn a_large_run_is_a_small_page() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("many points", &[])).unwrap();
    let specs: Vec<_> =
        (1..=600).map(|size| synthetic::toll(TollKey::of(Crossing::PageCacheRead).size(size))).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    let points: Vec<_> = ids.into_iter().map(|id| (id, Behaviour::calm(900.0))).collect();
    synthetic::measure(&mut made.store, &points, 2, 1, 1);
    let page = RunReport::from_store(&made.store, run).unwrap().html().unwrap();
    assert!(page.len() <= LARGEST, "{} bytes", page.len());
    assert_eq!(page.matches("<tr id=\"p").count(), 600);
}

#[test]
fn a_browser_shows_it() {
    let Some(browser) =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|b| is_installed(b))
    else {
        let required = env::var("TOLLWAY_REQUIRE").unwrap_or_default();
        assert!(!required.contains("chromium"), "chromium is required and not installed → install chromium");
        eprintln!("skipped: no chromium → install it to see the page rendered");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    fs::write(&file, page()).unwrap();

    let (dom, log) = browse(browser, folder.path(), &file, &["--dump-dom"]);
    // 50 points: two skipped, one failed, 47 rows; two of them without a figure.
    assert_eq!(dom.matches("<tr id=\"p").count(), 47);
    assert_eq!(dom.matches("class=\"strip grid\" role=\"img\"").count(), 45);
    assert_eq!(dom.matches("<svg class=\"spread\"").count(), 45);
    assert_eq!(dom.matches("<table class=\"prices\"").count(), 7);
    assert_eq!(dom.matches("<svg class=\"lane grid\"").count(), 7);
    assert_eq!(dom.matches("<h1").count(), 1);
    assert!(dom.contains("What is remarkable here") && dom.contains("missed"));
    assert!(!log.contains("CONSOLE"), "{log}");

    for (look, flags) in [
        ("light", &["--window-size=1200,2400"][..]),
        ("dark", &["--window-size=1200,2400", "--blink-settings=preferredColorScheme=0"][..]),
        ("narrow", &["--window-size=500,2400"][..]),
    ] {
        let shot = folder.path().join(format!("{look}.png"));
        let flag = format!("--screenshot={}", shot.display());
        let (_, log) = browse(browser, folder.path(), &file, &[&[flag.as_str()], flags].concat());
        let png = fs::read(&shot).unwrap_or_else(|e| panic!("{look}: {e}: {log}"));
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{look}");
        // An empty page of that size packs into 15 kB; text and charts do not.
        assert!(png.len() > 60_000, "{look}: {} bytes", png.len());
    }
}

fn is_installed(browser: &str) -> bool {
    Command::new(browser).arg("--version").output().is_ok_and(|o| o.status.success())
}

fn browse(browser: &str, profile: &Path, file: &Path, flags: &[&str]) -> (String, String) {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--enable-logging=stderr", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.join("profile").display()))
        .args(flags)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
