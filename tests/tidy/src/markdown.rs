//! Links of Markdown documents to files of this repository. Links to other sites are not followed.

use pulldown_cmark::{Event, Parser, Tag};

use crate::{Diagnostic, Rule};

/// The links of a document that lead nowhere. `exists` answers for a path relative to the workspace.
pub fn links(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = Parser::new(text).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((dest_url, range.start))
        }
        _ => None,
    });
    let local = targets.filter_map(|(url, offset)| Some((local_path(folder, &url)?, offset)));
    let dead = local.filter(|(target, _)| !exists(target));
    dead.map(|(target, offset)| {
        Diagnostic::new(path, line_of(text, offset), Rule::Link, format!("no file {target}"))
    })
    .collect()
}

/// The path a link means, relative to the workspace, or `None` when it leads elsewhere or to the same page.
fn local_path(folder: &str, url: &str) -> Option<String> {
    let path = url.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || url.contains("://") || url.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count().saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = links(path, text, |target| ["docs/a.md", "README.md", "crates"].contains(&target));
        found.into_iter().map(|diagnostic| (diagnostic.line, diagnostic.message)).collect()
    }

    #[test]
    fn links_are_relative_to_their_document() {
        assert_eq!(dead("docs/b.md", "[a](a.md) [r](../README.md#start) [c](../crates/) [s](#same)\n"), []);
        assert_eq!(
            dead("docs/b.md", "Fine.\n\nSee [r](README.md).\n"),
            [(3, "no file docs/README.md".to_owned())]
        );
        assert_eq!(
            dead("README.md", "[a](docs/a.md)\n[b](./docs/b.md)\n"),
            [(2, "no file docs/b.md".to_owned())]
        );
    }

    #[test]
    fn reference_links_and_images_count() {
        assert_eq!(dead("README.md", "![i](i.png)\n\n[x][1]\n\n[1]: gone.md\n").len(), 2);
    }

    #[test]
    fn other_sites_and_code_are_left_alone() {
        assert_eq!(
            dead("README.md", "[x](https://example.com/a.md)\n```\n[x](gone.md)\n```\n`[x](gone.md)`\n"),
            []
        );
    }
}
