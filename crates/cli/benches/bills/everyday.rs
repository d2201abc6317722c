//! What the tolls explain of the kernel's processor time of everyday programs, and, apart from that, how much of it is put down to
//! calls as it was measured.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::Line;
use crate::explained::{lacks, loaded_redis};
use crate::program::{Bench, Killed};

/// How much has to be explained of each program and of their median, how much attributed, and what either may be at the most without a reason beside it.
const LEAST_EVERYDAY: f64 = 0.75;
const LEAST_MEDIAN: f64 = 0.9;
const LEAST_ATTRIBUTED: f64 = 0.95;
const MOST: f64 = 1.1;
/// Bills of each program, which take 0.05 to 0.8 s in the kernel. That is known by its account, which looks 250 times a second: of one
/// bill to ± 7 to 28 %, of twenty to ± 2 to 6 %.
const BILLS: usize = 20;

/// Everyday programs: a name, what it needs besides a shell, and a shell's words. `$DIR` is a folder with a small project in C and
/// a repository, `$OUT` one of each bill's own.
const EVERYDAY: [(&str, &str, &str); 9] = [
    ("ls -R", "ls", "exec ls -R /usr"),
    ("grep -r", "grep", "exec grep -r nothing-has-this /usr/include /usr/include"),
    ("find", "find", "exec find /usr -newer /etc/hostname"),
    ("a shell loop of true", "true", "for i in $(seq 1500); do /bin/true; done"),
    ("make -j2", "make", "cd $DIR/project && make -s clean && exec make -s -j2"),
    ("git clone", "git", "exec git clone -q $DIR/repository $OUT/clone"),
    ("python with sqlite", "python3", "cd $OUT && exec python3 $DIR/rows.py"),
    ("node", "node", "cd $DIR && exec node files.js"),
    ("tar", "tar", "exec tar cf $OUT/include.tar /usr/include"),
];

/// What everyday programs need.
const SET_UP: &str = r#"
set -e
mkdir -p $DIR/project $DIR/repository
cd $DIR/project
for i in $(seq 40); do printf '#include <stdio.h>\n#include <stdlib.h>\nint f%s(int n) { printf("%%d", n); return rand(); }\n' $i > f$i.c; done
printf 'int main(void) { return 0; }\n' > main.c
printf 'OBJECTS := $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: $(OBJECTS)\n\t$(CC) -o all $(OBJECTS)\nclean:\n\trm -f all *.o\n' > Makefile
if command -v git > /dev/null && [ ! -d $DIR/repository/.git ]; then
  cd $DIR/repository
  for i in $(seq 4000); do seq $i $((i + 400)) > $i.txt; done
  git init -q . && git add -A . && git -c user.name=a -c user.email=a@b commit -q -m all
fi
cat > $DIR/rows.py <<'END'
import sqlite3
rows = sqlite3.connect("rows.db")
rows.execute("create table t(a integer primary key, b text)")
for number in range(1500):
    rows.execute("insert into t values(?, ?)", (number, "row %d" % number))
    rows.commit()
END
cat > $DIR/files.js <<'END'
const fs = require("fs"), path = require("path");
let bytes = 0;
function add(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) add(name);
    else if (entry.isFile()) bytes += fs.readFileSync(name).length + fs.statSync(name).nlink;
  }
}
for (let i = 0; i < 4; i++) add("/usr/include");
END
"#;

/// An everyday program that is installed here.
pub struct Everyday {
    pub name: &'static str,
    /// What starts it.
    program: &'static str,
    /// A shell's words, in which `$OUT` is a folder of each bill's own.
    pub script: String,
}

/// Makes what everyday programs need; `None` where that cannot be.
pub fn set_up(bench: &Bench) -> Option<Vec<Everyday>> {
    let folder = bench.file("everyday");
    let set_up = Command::new("sh").args(["-c", SET_UP]).env("DIR", &folder).stdout(Stdio::null()).status();
    let has = |program: &str| {
        let has = format!("command -v {program}");
        Command::new("sh").args(["-c", &has]).stdout(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    let installed = EVERYDAY.into_iter().filter(|(_, program, _)| has(program));
    let programs = installed.map(|(name, program, script)| Everyday {
        name,
        program,
        script: script.replace("$DIR", &folder),
    });
    set_up.is_ok_and(|status| status.success()).then(|| programs.collect())
}

/// Each everyday program that is installed here, and what is explained of them on the median.
pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.measure_prices();
    let Some(programs) = set_up(bench) else {
        return lacks("what everyday programs need").into_iter().collect();
    };
    let lacking = EVERYDAY.iter().filter(|(of, ..)| !programs.iter().any(|one| one.name == *of));
    let mut lines: Vec<Line> = lacking.filter_map(|(name, ..)| lacks(name)).collect();
    let mut explained = Vec::new();
    for Everyday { name, program, script } in programs {
        let mut turn = 0;
        lines.extend(both(name, &mut explained, || {
            // Another folder each time, and nothing is removed: creating files took up to 40 times as long within seconds of that
            // (Linux 6.18, ext4).
            turn += 1;
            // Of what the last one wrote nothing is still on its way to the disk: tar's writes took twice as long meanwhile.
            let _ = Command::new("sync").status();
            let out = bench.file(&format!("out-{program}-{turn}"));
            fs::create_dir_all(&out).unwrap();
            let script = script.replace("$OUT", &out);
            bench.bill(&[], &["sh".to_string(), "-c".into(), script])
        }));
    }
    lines.extend(fetched(bench, &mut explained));
    lines.extend(served_by_nginx(bench, &mut explained));
    lines.extend(redis_under_load(bench, &mut explained));
    explained.sort_by(f64::total_cmp);
    if let Some(median) = explained.get(explained.len() / 2) {
        lines.push(Line {
            what: format!("explained of {} everyday programs", explained.len()),
            found: format!("{:.0} % on the median", 100.0 * median),
            bar: format!("at least {:.0} %", 100.0 * LEAST_MEDIAN),
            holds: Some(*median >= LEAST_MEDIAN),
        });
    }
    lines
}

/// curl, from a server on the loopback device.
fn fetched(bench: &Bench, explained: &mut Vec<f64>) -> Vec<Line> {
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        return lacks("curl").into_iter().collect();
    }
    let folder = bench.file("served");
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/large"), vec![7; 200 << 20]).unwrap();
    let mut server = Command::new("python3");
    server.args(["-m", "http.server", "7792", "--bind", "127.0.0.1", "--directory", &folder]);
    let Ok(server) = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return lacks("a server for curl (python3)").into_iter().collect();
    };
    let _server = Killed(server);
    sleep(Duration::from_secs(1));
    let words = ["curl", "-s", "-o", "/dev/null", "http://127.0.0.1:7792/large?[1-8]"].map(String::from);
    both("curl", explained, || bench.bill(&[], &words))
}

/// nginx, which serves a small file to ten connections.
fn served_by_nginx(bench: &Bench, explained: &mut Vec<f64>) -> Vec<Line> {
    let has = |program: &str| Command::new(program).arg("-V").stderr(Stdio::null()).status().is_ok();
    if !has("nginx") || !has("ab") {
        return lacks("nginx, and ab to ask it").into_iter().collect();
    }
    let folder = bench.file("www");
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/a.bin"), vec![7; 4096]).unwrap();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary.map(|kind| format!("{kind}_temp_path {folder}/{kind};\n")).concat();
    let settings = format!(
        "worker_processes 1; daemon off; master_process off; user root; pid {folder}/pid; error_log {folder}/log;
         events {{ worker_connections 256; }}
         http {{ access_log off; keepalive_requests 100000000; {temporary}
         server {{ listen 127.0.0.1:7791; root {folder}; }} }}"
    );
    fs::write(format!("{folder}/conf"), settings).unwrap();
    let mut server = Command::new("nginx");
    server.args(["-c", &format!("{folder}/conf")]).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Killed(server.spawn().expect("nginx is there"));
    sleep(Duration::from_millis(500));
    let mut load = Command::new("ab");
    load.args(["-q", "-k", "-t", "1000", "-n", "100000000", "-c", "10", "http://127.0.0.1:7791/a.bin"]);
    let _load = Killed(load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ab is there"));
    sleep(Duration::from_millis(500));
    let number = server.0.id().to_string();
    both("nginx", explained, || bench.bill(&["--pid", &number, "--for", "1s"], &[]))
}

/// Redis, which sets values for twenty connections.
fn redis_under_load(bench: &Bench, explained: &mut Vec<f64>) -> Vec<Line> {
    let Some((server, _load)) = loaded_redis(bench) else {
        return lacks("redis-server").into_iter().collect();
    };
    let number = server.0.id().to_string();
    both("redis", explained, || bench.bill(&["--pid", &number, "--for", "1s"], &[]))
}

/// What is explained and what is attributed of some bills of one program, a line each: of all bills together, and of each.
fn both(name: &str, explained: &mut Vec<f64>, mut bill: impl FnMut() -> Value) -> Vec<Line> {
    // The first finds cold caches.
    drop(bill());
    let mut bills: Vec<Value> = (0..BILLS).map(|_| bill()).collect();
    // Of one in which the account never looked there is nothing to hold against.
    bills.retain(|bill| bill["is_sampled"] == true);
    let left_out = match BILLS - bills.len() {
        0 => String::new(),
        short => format!("; {short} too short to tell"),
    };
    let line = |what: &str, least: f64| {
        let of = |of: &str| -> Vec<f64> {
            bills.iter().map(|bill| bill[of]["ns"].as_f64().unwrap_or(0.0)).collect()
        };
        let (parts, wholes) = (of(what), of("kernel"));
        let share = parts.iter().sum::<f64>() / wholes.iter().sum::<f64>();
        let mut each: Vec<f64> = parts.iter().zip(&wholes).map(|(part, whole)| part / whole).collect();
        each.sort_by(f64::total_cmp);
        let each = each.iter().map(|share| format!("{:.0}", 100.0 * share)).collect::<Vec<_>>().join(", ");
        Line {
            what: format!("{what} of {name}"),
            found: format!("{:.0} % ({each}{left_out})", 100.0 * share),
            bar: format!("{:.0} % to {:.0} %", 100.0 * least, 100.0 * MOST),
            holds: Some((least..=MOST).contains(&share)),
        }
    };
    let kernel: f64 = bills.iter().filter_map(|bill| bill["kernel"]["ns"].as_f64()).sum();
    let by_tolls: f64 = bills.iter().filter_map(|bill| bill["explained"]["ns"].as_f64()).sum();
    explained.push(by_tolls / kernel);
    vec![line("explained", LEAST_EVERYDAY), line("attributed", LEAST_ATTRIBUTED)]
}
