//! The tables of the guide.

/// The first column of the table in a section of the guide: `name{label,label}` gives the name and its labels.
pub fn rows(section: &str) -> Vec<(String, Vec<String>)> {
    let (guide, heading) = (include_str!("../../README.md"), format!("{section}\n"));
    let section = guide.split("\n## ").find(|section| section.starts_with(&heading)).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let parts = |text: &str| {
        let (name, labels) = text.split_once('{').unwrap_or((text, ""));
        let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
        (name.to_owned(), labels.map(str::to_owned).collect())
    };
    names.map(parts).collect()
}
