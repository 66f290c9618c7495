//! A table for people: a centred header, rows to the left, lines around.

/// Draws a table; every row has as many cells as the header.
pub(crate) fn draw(header: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.chain([name]).map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    let mut out = rule('┌', '┬', '┐', &widths);
    out.push_str(&line(header, &widths, |spare| spare / 2));
    out.push_str(&rule('├', '┼', '┤', &widths));
    for row in rows {
        out.push_str(&line(row, &widths, |_| 0));
    }
    out.push_str(&rule('└', '┴', '┘', &widths));
    out
}

fn rule(left: char, middle: char, right: char, widths: &[usize]) -> String {
    let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width.saturating_add(2))).collect();
    format!("{left}{}{right}\n", bars.join(&middle.to_string()))
}

fn line(cells: &[String], widths: &[usize], indent: fn(usize) -> usize) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, width)| {
        let spare = width.saturating_sub(cell.chars().count());
        let left = indent(spare);
        format!(" {}{cell}{} ", " ".repeat(left), " ".repeat(spare.saturating_sub(left)))
    });
    format!("│{}│\n", cells.collect::<Vec<_>>().join("│"))
}
