//! Network namespaces without names, as the descriptors and threads of processes show them.

use std::fs;

/// What stands behind a file of /proc that is a network namespace, `net:[NUMBER]`.
pub fn behind(path: &str) -> Option<String> {
    let link = fs::read_link(path).ok()?.into_os_string().into_string().ok()?;
    link.starts_with("net:[").then_some(link)
}

/// The names in a folder; none where there is no such folder.
pub fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// The network namespaces for which a process has descriptors: where these are, and which.
pub fn held_by(process: &str) -> Vec<(String, String)> {
    let folder = format!("/proc/{process}/fd");
    let paths = names(&folder).into_iter().map(|number| format!("{folder}/{number}"));
    paths.filter_map(|path| behind(&path).map(|which| (path, which))).collect()
}

/// Who has one of those namespaces, but for this process: by a descriptor, by being in it, or by a mount.
pub fn holders(namespaces: &[String]) -> Vec<String> {
    let is_one = |which: &String| namespaces.contains(which);
    let own = std::process::id().to_string();
    let mut holders: Vec<String> = names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|process| {
            let folder = format!("/proc/{process}/task");
            let mut threads = names(&folder).into_iter();
            held_by(process).iter().any(|(_, which)| is_one(which))
                || threads
                    .any(|thread| behind(&format!("{folder}/{thread}/ns/net")).is_some_and(|n| is_one(&n)))
        })
        .collect();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    holders
        .extend(mounts.lines().filter(|line| namespaces.iter().any(|n| line.contains(n))).map(String::from));
    holders
}
