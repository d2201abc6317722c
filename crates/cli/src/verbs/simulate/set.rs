//! Changes to a specification from the command line: the same system at other loads, without another file.

use tollway_model::{ModelError, Result};
use toml::{Table, Value};

/// The text with `PART.KEY=VALUE` changes. A text that is no TOML comes back as it is: who reads it tells where it is
/// wrong.
pub fn changed(text: String, changes: &[String]) -> Result<String> {
    if changes.is_empty() {
        return Ok(text);
    }
    let Ok(mut table) = text.parse::<Table>() else { return Ok(text) };
    for change in changes {
        apply(&mut table, change)?;
    }
    toml::to_string(&table).map_err(|error| wrong("--set", error.to_string(), "change less at once"))
}

fn apply(table: &mut Table, change: &str) -> Result<()> {
    let place = format!("--set {change}");
    let remedy = "write PART.KEY=VALUE, like device.service='exponential(60us)' or stop.customers=1000";
    let unreadable = |reason: &str| wrong(&place, reason, remedy);
    let (path, value) = change.split_once('=').ok_or_else(|| unreadable("it has no `=`"))?;
    let mut keys = path.trim().split('.');
    let part = keys.next().unwrap_or_default();
    let mut keys: Vec<&str> = keys.collect();
    let last = keys.pop().ok_or_else(|| unreadable("it names no key of a part"))?;
    let mut inside = find(table, part).ok_or_else(|| {
        wrong(&place, format!("there is no part named `{part}`"), "name one that the file has")
    })?;
    for key in keys {
        let inner = inside.entry(key).or_insert_with(|| Value::Table(Table::new()));
        inside = inner.as_table_mut().ok_or_else(|| unreadable(&format!("`{key}` has no keys")))?;
    }
    inside.insert(last.into(), read(value.trim()));
    Ok(())
}

/// The table of the part of that name, or the one for stopping.
fn find<'a>(table: &'a mut Table, part: &str) -> Option<&'a mut Table> {
    if part == "stop" {
        return table.entry("stop").or_insert_with(|| Value::Table(Table::new())).as_table_mut();
    }
    let parts = ["source", "station", "coalescer", "class"];
    let lists = table.iter_mut().filter(|(kind, _)| parts.contains(&kind.as_str()));
    let mut all = lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_table_mut);
    all.find(|table| table.get("name").and_then(Value::as_str) == Some(part))
}

/// A value as TOML has it, else as a text.
fn read(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.into()))
}

fn wrong(name: &str, reason: impl Into<String>, remedy: &str) -> ModelError {
    ModelError::parameter(name, reason, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[source]]\nname = \"a\"\nclosed = { customers = 2 }\n[[station]]\nname = \"s\"\n";

    fn after(change: &str) -> Result<Table> {
        changed(TEXT.into(), &[change.into()]).map(|text| text.parse().unwrap())
    }

    #[test]
    fn a_part_is_found_by_name_and_a_value_read_as_it_is() {
        assert_eq!(
            after("a.closed.customers=16").unwrap()["source"][0]["closed"]["customers"].as_integer(),
            Some(16)
        );
        assert_eq!(
            after("s.service=exponential(1us)").unwrap()["station"][0]["service"].as_str(),
            Some("exponential(1us)")
        );
        assert_eq!(after("s.wake.count = 3").unwrap()["station"][0]["wake"]["count"].as_integer(), Some(3));
        assert_eq!(after("stop.precision=0.1").unwrap()["stop"]["precision"].as_float(), Some(0.1));
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        for bad in ["a", "a=1", "=1", "b.name=1", "a.name.first=1", "stop=1", ".=", ""] {
            let told = after(bad).unwrap_err().to_string();
            assert!(told.starts_with("--set "), "{told}");
        }
    }
}
