//! Tables of text, and wrapped lines.

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells; a column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(align: &[Align]) -> Self {
        Self { align: align.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The rows, one a line, each after `indent` spaces, columns `gap` spaces apart.
    pub(crate) fn render(&self, indent: usize, gap: usize) -> String {
        let widths: Vec<usize> = (0..self.align.len()).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, align) in self.align.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                let space = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                let separator = " ".repeat(if column == 0 { 0 } else { gap });
                line += &match align {
                    Align::Left => format!("{separator}{cell}{space}"),
                    Align::Right => format!("{separator}{space}{cell}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// Lines of at most `width` characters; a word that is longer has a line of its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable words", 5), ["unbreakable", "words"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[Align::Left, Align::Right]);
        table.row(["a", "1"]);
        table.row(["long", "1,000"]);
        table.row(["b"]);
        assert_eq!(table.render(2, 2), "  a         1\n  long  1,000\n  b\n");
    }
}
