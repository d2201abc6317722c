//! What `--json` prints: each document by its schema. Those of others are held against theirs in `paths`
//! (`cipher_plans.rs`, `ipc_tool.rs`, `advice.rs`), in `machine/modes.rs` and in tools/entropy.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::program::{Bench, SHORT};
use serde_json::Value;

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    let (out, _) = bench.ends(arguments, 0);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{out}"))
}

/// What is wrong with a value, by the words of JSON Schema that our schemas use; another word is a failure.
fn wrong(value: &Value, schema: &Value, root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let schema = match schema {
        Value::Bool(true) => return found,
        Value::Object(words) => words,
        other => return vec![format!("{other} is no schema")],
    };
    for (word, says) in schema {
        let holds = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let at = says.as_str().unwrap().trim_start_matches('#');
                found.extend(wrong(value, root.pointer(at).expect("what is referred to"), root));
                true
            }
            "type" => match says {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "properties" => {
                for (name, inner) in says.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        found.extend(wrong(field, inner, root).into_iter().map(|w| format!("{name}: {w}")));
                    }
                }
                true
            }
            "required" => {
                says.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                for (name, field) in others.filter(|(name, _)| known.is_none_or(|k| !k.contains_key(*name))) {
                    match says {
                        Value::Bool(false) => found.push(format!("`{name}` is not known")),
                        inner => found.extend(wrong(field, inner, root)),
                    }
                }
                true
            }
            "items" => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(wrong(item, says, root).into_iter().map(|w| format!("[{at}] {w}")));
                }
                true
            }
            "anyOf" => says.as_array().unwrap().iter().any(|one| wrong(value, one, root).is_empty()),
            "oneOf" => {
                says.as_array().unwrap().iter().filter(|one| wrong(value, one, root).is_empty()).count() == 1
            }
            "enum" => says.as_array().unwrap().contains(value),
            "const" => says == value,
            "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= says.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= says.as_u64().unwrap()),
            other => panic!("this test does not know the word `{other}`"),
        };
        if !holds {
            found.push(format!("{word} {says} does not hold for {value}"));
        }
    }
    found
}

/// A server; killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The state of a crypto device that serves nobody yet.
fn state_of_a_card(bench: &Bench) -> Value {
    let functions = ["--function", "a=a.sock", "--function", "b=b.sock,limit=1k,tell=cap:1k"];
    let arguments = [&["cipher", "serve", "--status", "state.sock", "--cards", "2"], &functions[..]].concat();
    let mut server = Server(bench.tollway(&arguments).spawn().unwrap());
    let mut ready = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready"), "{ready}");
    let state = json(bench, &["cipher", "status", "state.sock"]);
    assert_eq!(
        (&state["functions"][0]["burst"], &state["functions"][1]["burst"]),
        (&Value::Null, &4096.into())
    );
    state
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other}"),
    }
}

#[test]
fn documents_are_as_their_schemas_say() {
    let bench = Bench::with(SHORT);
    let measured = json(&bench, &[MEASURE, &["--json"]].concat());
    let planted = json(
        &bench,
        &["compare", "--run", "self", "plant:30%", "--only", "getppid", "--runs", "6", "--json"],
    );
    bench.ends(&[MEASURE, &["--runs", "1"]].concat(), 0);
    bench.ends(&["export", "two.json", "1"], 0);
    let exported: Value = serde_json::from_str(&fs::read_to_string(bench.file("two.json")).unwrap()).unwrap();
    let compared = json(&bench, &["compare", "1", "3", "--json"]);
    let reported = json(&bench, &["report", "1", "--json"]);
    let without_intervals = json(&bench, &["report", "3", "--json"]);
    assert_eq!(exported, reported, "what is exported is not what is reported");
    let by_schema =
        [("run", vec![&measured, &reported, &without_intervals]), ("comparison", vec![&planted, &compared])];
    for (name, documents) in by_schema {
        let schema = json(&bench, &["generate", "schema", name]);
        for document in documents {
            let found = wrong(document, &schema, &schema);
            assert!(found.is_empty(), "{name}: {found:#?}");
            // And the check can fail.
            let mut spoilt = document.clone();
            spoilt["surprise"] = Value::from(1);
            assert!(!wrong(&spoilt, &schema, &schema).is_empty());
            spoilt = document.clone();
            spoilt["schema_version"] = Value::from("one");
            assert!(!wrong(&spoilt, &schema, &schema).is_empty());
        }
    }
}

#[test]
fn the_calculators_documents_are_as_their_schemas_say() {
    let bench = Bench::with(SHORT);
    let model = ["model", "mm1", "mu=10000/s", "--json"];
    let point = json(&bench, &[&model[..], &["lambda=8000/s"]].concat());
    let sweep = json(&bench, &[&model[..], &["--sweep", "lambda=8000..12000:2000"]].concat());
    assert_eq!(point["points"][0]["figures"]["response.mean"], 5e-4);
    assert_eq!(sweep["points"][2]["load"], 1.2);
    let plan = ["plan", "mm1", "mu=10000/s", "--vary", "lambda", "--json", "--keep"];
    let kept = json(&bench, &[&plan[..], &["response.mean<=500us"]].concat());
    let (never, _) = bench.ends(&[&plan[..], &["response.mean<50us"]].concat(), 3);
    let never: Value = serde_json::from_str(&never).unwrap();
    assert!((kept["cases"][0]["value"].as_f64().unwrap() / 8000.0 - 1.0).abs() < 1e-9, "{kept}");
    assert_eq!(never["cases"][0]["outcome"], "never-kept");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate/arrival.toml");
    let simulated = json(
        &bench,
        &["simulate", &file.to_string_lossy(), "--customers", "1000", "--replications", "2", "--json"],
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/capture/web.pcap");
    let captured = json(&bench, &["capture", "-r", &file.to_string_lossy(), "--json", "tcp port 80"]);
    let speed = json(&bench, &["entropy", "speed", "getrandom", "--time", "0.01", "--runs", "2", "--json"]);
    let (tested, _) = bench.ends(&["entropy", "test", "/dev/zero", "-c", "2", "--json"], 1);
    let tested: Value = serde_json::from_str(&tested).unwrap();
    let mut bytes = [0; 8192];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    fs::write(bench.file("bytes"), bytes).unwrap();
    let feed =
        json(&bench, &["entropy", "feed", "--dry-run", "--json", "--source", "./bytes", "--file-is-fresh"]);
    let devices = json(&bench, &["cipher", "devices", "--json"]);
    let state = state_of_a_card(&bench);
    let few =
        ["--cipher", "sha256", "--sizes", "64,128", "--in-flight", "1,2", "--by", "library,inside,neighbour"];
    let ciphers =
        json(&bench, &[&["cipher", "bench", "--json", "--time", "0.005", "--runs", "2"], &few[..]].concat());
    assert_eq!(ciphers["points"].as_array().unwrap().len(), 2 * 5, "{ciphers}");
    for (name, documents) in [
        ("entropy-speed", vec![speed]),
        ("entropy-test", vec![tested]),
        ("entropy-feed", vec![feed]),
        ("cipher-serve", vec![state]),
        ("cipher-devices", vec![devices]),
        ("cipher-bench", vec![ciphers]),
        ("model", vec![point, sweep]),
        ("plan", vec![kept, never]),
        ("simulation", vec![simulated]),
        ("capture", vec![captured]),
    ] {
        let schema = json(&bench, &["generate", "schema", name]);
        for document in documents {
            let found = wrong(&document, &schema, &schema);
            assert!(found.is_empty(), "{name}: {found:#?}");
            let mut spoilt = document.clone();
            spoilt["surprise"] = Value::from(1);
            assert!(!wrong(&spoilt, &schema, &schema).is_empty());
        }
    }
}

#[test]
fn the_book_of_models_is_the_catalogues() {
    let bench = Bench::with(SHORT);
    let (now, _) = bench.ends(&["generate", "models"], 0);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../MODELS.md");
    if std::env::var_os("TOLLWAY_REWRITE").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let then = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        then == now,
        "MODELS.md is stale: `tollway generate models > MODELS.md`, or run this test with TOLLWAY_REWRITE=1"
    );
}

/// A page with what each `    $ command` in it prints.
fn with_output(page: &str, run: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        if let Some(command) = line.strip_prefix("    $ ") {
            while lines.next_if(|line| line.starts_with("    ") && !line.starts_with("    $ ")).is_some() {}
            for line in run(command).lines() {
                out += format!("    {line}").trim_end();
                out.push('\n');
            }
        }
    }
    out
}

/// What of a page is compared: all of it, but the digits of what was simulated, which another processor may round
/// otherwise.
fn shape(page: &str) -> String {
    let mut simulated = false;
    let line = |line: &str| {
        simulated =
            if line.starts_with("    ") { simulated || line.contains("$ tollway simulate") } else { false };
        if !simulated {
            return line.to_owned();
        }
        let digits = line.replace(|c: char| c.is_ascii_digit() || c == '.' || c == '~', " ");
        digits.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn pages_show_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tollway = format!("{} ", env!("CARGO_BIN_EXE_tollway"));
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace("tollway ", &tollway)]).current_dir(&root);
        let output = shell.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        // How long it took is not what is compared.
        let timeless = text.lines().map(|line| match line.split_once(" · seed 1 · ") {
            Some((before, _)) => format!("{before} · seed 1 · …"),
            None => line.into(),
        });
        // A blank line would end the block.
        timeless.filter(|line| !line.is_empty()).collect::<Vec<String>>().join("\n")
    };
    for page in ["docs/models.md", "docs/plan.md", "docs/fit.md", "docs/story.md", "docs/capture.md"] {
        let file = root.join(page);
        let then = fs::read_to_string(&file).unwrap();
        let now = with_output(&then, run);
        if std::env::var_os("TOLLWAY_REWRITE").is_some() {
            fs::write(&file, &now).unwrap();
            continue;
        }
        assert!(shape(&then) == shape(&now), "{page} is stale: run this test with TOLLWAY_REWRITE=1");
    }
}

/// The pages below a folder; not those of folders that a build makes.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() && name != "target" && !name.starts_with('.') {
            pages(&entry, found);
        } else if name.ends_with(".md") {
            found.push(entry);
        }
    }
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut found = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut found);
    assert!(found.len() > 20, "{found:?}");
    let mut links = 0;
    for page in found {
        let text = fs::read_to_string(&page).unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap().split('#').next().unwrap();
            if link.is_empty() || link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            links += 1;
            assert!(page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
        }
    }
    assert!(links > 25, "{links}");
}

#[test]
fn every_document_has_a_version_and_is_the_only_thing_printed() {
    let bench = Bench::with(SHORT);
    bench.ends(MEASURE, 0);
    for arguments in [
        &["history", "--json"][..],
        &["list", "--json"],
        &["list", "crossings", "--json"],
        &["list", "tolls", "--json"],
        &["doctor", "--json"],
        &["report", "--json"],
        &["model", "--json"],
        &["model", "mm1", "--json"],
        &["--json", "run", "null", "--runs", "1", "--html", "page.html"],
    ] {
        assert_eq!(json(&bench, arguments)["schema_version"], 1, "{arguments:?}");
    }
    assert_eq!(json(&bench, &[MEASURE, &["--dry-run", "--json"]].concat())["schema_version"], 1);
}

#[test]
fn a_dry_run_in_any_verb_makes_no_file() {
    let bench = Bench::with(SHORT);
    let before = fs::read_dir(bench.path()).unwrap().count();
    bench.ends(&[MEASURE, &["--dry-run", "--export", "x.json"]].concat(), 0);
    bench.ends(&["run", "--dry-run"], 0);
    bench.ends(&["run", "crossings", "--dry-run", "--time", "20"], 0);
    bench.ends(&["compare", "--run", "self", "plant:5%", "--dry-run"], 0);
    bench.ends(&["compare", "--prove", "--dry-run"], 0);
    bench.ends(&["entropy", "speed", "getrandom", "--dry-run"], 0);
    bench.ends(&["cipher", "bench", "--by", "library", "--dry-run", "--export", "x.csv"], 0);
    bench.ends(&["cipher", "predict", "--dry-run"], 0);
    bench.ends(&["cipher", "predict", "--preset", "queue", "--dry-run"], 0);
    let (plan, _) = bench.ends(&["cipher", "plan", "--slo", "p99<2ms", "--verify", "--dry-run"], 0);
    // The steps of a request, light loads and what is found, of those that can be measured here.
    assert!(plan.contains("request-submit") && plan.contains("tollway.db"), "{plan}");
    bench.ends(&["bill", "--dry-run", "--html", "x.html", "--", "touch", "made"], 0);
    for (arguments, writes) in [
        (&["reproduce"][..], &["tollway.db", "REPRODUCTION.md"][..]),
        (&["reproduce", "entropy", "--page", "x.md"], &["tollway.db", "x.md"]),
        (&["bill", "cipher", "--output", "x.txt", "--export", "x.json"], &["tollway.db", "x.txt", "x.json"]),
        (&["capture", "profile"], &["tollway.db", "capture-profile.html"]),
        (&["capture", "advise"], &["tollway.db"]),
        (&["machine", "suite", "--html", "x.html"], &["tollway.db", "x.html"]),
    ] {
        let (plan, _) = bench.ends(&[arguments, &["--dry-run"]].concat(), 0);
        let line = plan.lines().rfind(|line| line.starts_with("writes "));
        let line = line.unwrap_or_else(|| panic!("{arguments:?}: {plan}"));
        assert!(writes.iter().all(|file| line.contains(file)), "{arguments:?}: {line}");
    }
    bench.ends(&["measure", "--resume", "--dry-run"], 2);
    assert_eq!(fs::read_dir(bench.path()).unwrap().count(), before);
}

#[test]
fn the_seed_decides_the_order() {
    let bench = Bench::with(SHORT);
    let order = |seed: &str| {
        bench.ends(&[MEASURE, &["--runs", "4", "--seed", seed]].concat(), 0);
        let trials = bench.trials();
        let first = trials.iter().map(|t| t.point).min().unwrap();
        trials.iter().map(|t| t.point == first).collect::<Vec<_>>()
    };
    let five = order("5");
    assert_eq!(five, order("5"));
    assert!((6..12).any(|seed| order(&seed.to_string()) != five));
}
