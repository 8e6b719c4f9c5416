//! Tables without boxes, as kubectl prints them.

use comfy_table::{ContentArrangement, Row, presets::NOTHING};

use crate::error::text::clean;

/// Blanks between columns.
const GAP: u16 = 3;

/// Titles and rows of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(titles: impl IntoIterator<Item = &'static str>) -> Self {
        Self { titles: titles.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. Control characters are taken out; an empty cell becomes `<none>`.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cell = |cell: String| if cell.is_empty() { "<none>".to_owned() } else { clean(&cell) };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// The text; nothing at all without rows.
    pub fn render(&self, headers: bool) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if headers {
            table.set_header(Row::from(self.titles.iter().copied()));
        }
        table.add_rows(self.rows.iter().map(Row::from));
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        table.trim_fmt() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["ID", "STATE"]);
        table.row(["tenant-a".into(), "active".into()]);
        table.row([String::new(), "x\x1b[2J\ny".into()]);
        table.row(["日本".into(), "z".into()]);
        table
    }

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let expected = "\
ID         STATE
tenant-a   active
<none>     x\u{fffd}[2J\u{fffd}y
日本       z
";
        assert_eq!(table().render(true), expected);
        assert_eq!(table().render(false), expected.split_once('\n').unwrap().1);
    }

    #[test]
    fn a_long_cell_is_not_wrapped() {
        let mut table = Table::new(["A", "B"]);
        table.row(["x y ".repeat(200), "b".into()]);
        assert_eq!(table.render(false).lines().count(), 1);
    }

    #[test]
    fn no_rows_no_text() {
        assert_eq!(Table::new(["ID"]).render(true), "");
    }
}
