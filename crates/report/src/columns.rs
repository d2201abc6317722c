//! Text in columns, as wide as the terminal: the width of a character is looked up, not counted in bytes.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::number::glued;

/// Spaces between two columns.
const GAP: usize = 2;

/// Where the first column has less than this, a table that [can](Table::can_be_narrow) gets narrow.
const FIRST_COLUMN: usize = 26;

/// To which side a cell is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// The text of a cell and how it is drawn.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text as it is.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), style: Style::new() }
    }

    /// Text in a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style }
    }

    fn width(&self) -> usize {
        self.text.width()
    }

    /// Without a bar behind its number, which the bar repeats.
    fn without_bar(&self) -> Cell {
        Cell { text: self.text.trim_end_matches('█').trim_end().into(), style: self.style }
    }

    fn drawn(&self, width: usize, align: Align) -> String {
        let blank = " ".repeat(width.saturating_sub(self.width()));
        let text = paint(&self.text, self.style);
        match align {
            Align::Left => format!("{text}{blank}"),
            Align::Right => format!("{blank}{text}"),
        }
    }
}

/// A line of a table.
#[derive(Clone, Debug)]
pub enum Line {
    /// One cell for each column.
    Row(Vec<Cell>),
    /// Text across all columns, wrapped, indented by so many spaces (further lines by two more).
    Across(usize, Cell),
    /// An empty line.
    Blank,
}

/// Lines whose rows are aligned in columns. Where the terminal is too narrow the first column gives way, and what does not fit even then is folded
/// under it.
#[derive(Clone, Debug)]
pub struct Table {
    aligns: Vec<Align>,
    /// Columns that are left out where it is narrow, in this order; `None` of a table that is not made narrow.
    left_out: Option<Vec<usize>>,
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

impl Table {
    /// No line yet; a column for each of these.
    pub fn new(aligns: impl Into<Vec<Align>>) -> Table {
        Table { aligns: aligns.into(), left_out: None, lines: Vec::new() }
    }

    /// From now on, where a terminal has no room for the first column, the others give way first: bars go, heads (the first row) are folded, and where that
    /// is not enough these columns are left out, in this order.
    pub fn can_be_narrow(&mut self, left_out: impl Into<Vec<usize>>) {
        self.left_out = Some(left_out.into());
    }

    /// One more row, a cell for each column.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.lines.push(Line::Row(cells.into()));
    }

    /// Text across all columns, indented by so many spaces.
    pub fn across(&mut self, indent: usize, cell: Cell) {
        self.lines.push(Line::Across(indent, cell));
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.lines.push(Line::Blank);
    }

    /// The columns' widths, the first one cut so that a row fits, and whether it is narrow; columns that nothing stands in take no room.
    fn widths(&self, width: Option<usize>) -> (Vec<usize>, bool) {
        let mut widths = self.widest(false);
        let (Some(width), false) = (width, widths.is_empty()) else { return (widths, false) };
        let others =
            |widths: &[usize]| widths[1..].iter().filter(|w| **w > 0).map(|w| w + GAP).sum::<usize>();
        let fits = |widths: &[usize]| others(widths) + widths[0].min(FIRST_COLUMN) <= width;
        let mut is_narrow = false;
        if let Some(left_out) = self.left_out.as_ref().filter(|_| !fits(&widths)) {
            is_narrow = true;
            widths = self.widest(true);
            for column in left_out {
                if !fits(&widths) {
                    widths[*column] = 0;
                }
            }
        }
        widths[0] = widths[0].min(width.saturating_sub(others(&widths)).max(16));
        (widths, is_narrow)
    }

    /// The widest cell of each column.
    fn widest(&self, is_narrow: bool) -> Vec<usize> {
        let mut widths = vec![0; self.aligns.len()];
        let rows = self.lines.iter().filter_map(|line| match line {
            Line::Row(cells) => Some(cells),
            _ => None,
        });
        for (row, cells) in rows.enumerate() {
            for (w, cell) in widths.iter_mut().zip(cells) {
                let wide = match (is_narrow, row) {
                    (false, _) => cell.width(),
                    (true, 0) => cell.text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0),
                    (true, _) => cell.without_bar().width(),
                };
                *w = (*w).max(wide);
            }
        }
        widths
    }

    /// The heads, folded into these widths.
    fn draw_heads(&self, out: &mut String, cells: &[Cell], widths: &[usize]) {
        let folded: Vec<Vec<String>> =
            cells.iter().zip(widths).map(|(cell, wide)| wrap(&cell.text, Some(*wide))).collect();
        let high = folded.iter().zip(widths).filter(|(_, w)| **w > 0).map(|(parts, _)| parts.len()).max();
        for line in 0..high.unwrap_or(0) {
            let mut text = String::new();
            for (at, parts) in folded.iter().enumerate().filter(|(at, _)| *at == 0 || widths[*at] > 0) {
                let part = parts.get(line).cloned().unwrap_or_default();
                text.push_str(&" ".repeat(if at == 0 { 0 } else { GAP }));
                text.push_str(&Cell::styled(part, cells[at].style).drawn(widths[at], self.aligns[at]));
            }
            end_line(out, &text);
        }
    }

    /// The table for a terminal of that many columns, or unwrapped.
    pub fn render(&self, width: Option<usize>) -> String {
        let (widths, is_narrow) = self.widths(width);
        let mut out = String::new();
        for (number, line) in self.lines.iter().enumerate() {
            match line {
                Line::Row(cells) if is_narrow && number == 0 => self.draw_heads(&mut out, cells, &widths),
                Line::Blank => out.push('\n'),
                Line::Across(indent, cell) => {
                    let room = width.map(|w| w.saturating_sub(indent + 2).max(20));
                    for (i, part) in wrap(&cell.text, room).iter().enumerate() {
                        let indent = if i == 0 { *indent } else { indent + 2 };
                        end_line(&mut out, &format!("{}{}", " ".repeat(indent), paint(part, cell.style)));
                    }
                }
                Line::Row(cells) => {
                    let first = wrap_hanging(&cells[0].text, widths[0]);
                    for (i, part) in first.iter().enumerate() {
                        let head =
                            Cell::styled(part.clone(), cells[0].style).drawn(widths[0], self.aligns[0]);
                        let rest = if i + 1 == first.len() { &cells[1..] } else { &[] };
                        // A word of the first column may be wider than it.
                        let (mut text, mut taken) = (head, widths[0].max(part.width()));
                        for (at, cell) in rest.iter().enumerate().filter(|(at, _)| widths[at + 1] > 0) {
                            let wide = widths[at + 1];
                            if width.is_some_and(|width| taken + GAP + wide > width) {
                                end_line(&mut out, &text);
                                // Under the first column, in every row: those that were folded stay aligned.
                                (text, taken) = (" ".repeat(GAP), GAP);
                            }
                            text.push_str(&" ".repeat(GAP));
                            let cell = if is_narrow { &cell.without_bar() } else { cell };
                            text.push_str(&cell.drawn(wide, self.aligns[at + 1]));
                            taken += GAP + wide;
                        }
                        end_line(&mut out, &text);
                    }
                }
            }
        }
        out
    }
}

fn end_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The text in a style; the caller's stream takes the colour away where it is not wanted.
pub(crate) fn paint(text: &str, style: Style) -> String {
    if style.is_plain() || text.is_empty() { text.into() } else { format!("{style}{text}{style:#}") }
}

/// Wraps at spaces, but not between a number and its unit; a word wider than the room stands on a line of its own.
pub fn wrap(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return vec![text.into()] };
    let mut lines = vec![String::new()];
    for word in glued(text).split(' ') {
        let line = lines.last_mut().expect("it begins with one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// Wraps the text of a row: it keeps its own indent, further lines are indented by two more.
fn wrap_hanging(text: &str, room: usize) -> Vec<String> {
    if text.width() <= room {
        return vec![text.into()];
    }
    let indent = text.len() - text.trim_start_matches(' ').len();
    wrap(text.trim_start_matches(' '), Some(room.saturating_sub(indent + 2).max(8)))
        .into_iter()
        .enumerate()
        .map(|(i, part)| format!("{}{part}", " ".repeat(if i == 0 { indent } else { indent + 2 })))
        .collect()
}

/// Text as it is, but for lines that are wider than a terminal of so many columns: these go on in further
/// lines, under the last column of theirs that begins in the left half. No word is broken but behind a sign
/// (`/`, `,`), and a command to be typed (`$ …`) stays whole.
pub fn fold(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let is_command = line.trim_start().starts_with("$ ");
        if is_command || width_on_screen(line) <= columns {
            out.push_str(line);
        } else {
            fold_line(&mut out, line, columns);
        }
        out.push_str(end);
    }
    out
}

fn fold_line(out: &mut String, line: &str, columns: usize) {
    let hanging = hanging_indent(line, columns / 2);
    let glued = glued(line);
    let (mut taken, mut blanks, mut is_begun) = (0, 0, false);
    for (number, word) in glued.split(' ').enumerate() {
        blanks += usize::from(number > 0);
        // Blanks at the beginning of a line, and those between two columns, are empty words.
        if word.is_empty() {
            continue;
        }
        let mut word = word.replace('\u{a0}', " ");
        loop {
            let wide = width_on_screen(&word);
            if taken + blanks + wide <= columns {
                break;
            }
            // A word that has no room even in a line of its own is broken behind a sign, where it has one.
            let room = columns.saturating_sub(taken + blanks);
            let broken = if is_begun { None } else { break_behind_sign(&word, room) };
            if let Some(at) = broken {
                out.push_str(&" ".repeat(blanks));
                out.push_str(&word[..at]);
                word.drain(..at);
            } else if !is_begun {
                // Where an indent is all that it has no room for, it has none.
                blanks = if wide <= columns { blanks.min(columns - wide) } else { blanks };
                break;
            }
            out.push('\n');
            (taken, blanks, is_begun) = (0, hanging, false);
        }
        out.push_str(&" ".repeat(blanks));
        out.push_str(&word);
        let wide = width_on_screen(&word);
        taken += blanks + wide;
        is_begun |= wide > 0;
        blanks = 0;
    }
}

/// Where further lines of a line begin: under the last of its columns (behind two blanks or more) that begins
/// not beyond `most`, else two columns to the right of the line itself.
fn hanging_indent(line: &str, most: usize) -> usize {
    let plain = strip(line);
    let own = plain.len() - plain.trim_start_matches(' ').len();
    let (mut at, mut blanks, mut found) = (0, 0, None);
    for c in plain.chars() {
        if c == ' ' {
            blanks += 1;
        } else {
            if blanks >= 2 && at > own && at <= most {
                found = Some(at);
            }
            blanks = 0;
        }
        at += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
    }
    found.unwrap_or(own + 2).min(most)
}

/// The place behind the last sign up to which the word has this width at most.
fn break_behind_sign(word: &str, room: usize) -> Option<usize> {
    let signs = word.char_indices().filter(|(_, c)| matches!(c, '/' | ',' | '=' | '|' | '&' | ';'));
    let mut behind = signs.map(|(at, c)| at + c.len_utf8());
    behind.rfind(|at| *at < word.len() && width_on_screen(&word[..*at]) <= room)
}

/// The width of text that may have colours in it.
fn width_on_screen(text: &str) -> usize {
    if text.contains('\u{1b}') { strip(text).width() } else { text.width() }
}

/// Text without its colours.
fn strip(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        // ECMA-48, 5.4: parameters, and one byte from 0x40 on behind the bracket that ends it.
        let after = after.strip_prefix('[').unwrap_or(after);
        let end = after.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c)).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    plain + rest
}

/// Text that came from elsewhere, made safe for a terminal: a control character could move the cursor or recolour the
/// screen, a change of direction could reorder a line.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
            '\u{7f}' => '␡',
            '\u{80}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_double() {
        let mut table = Table::new([Align::Left, Align::Right]);
        table.row([Cell::plain("日本"), Cell::plain("1")]);
        table.row([Cell::plain("abcd"), Cell::plain("22")]);
        assert_eq!(table.render(None), "日本   1\nabcd  22\n");
    }

    #[test]
    fn the_first_column_gives_way() {
        let mut table = Table::new([Align::Left, Align::Right]);
        table.row([Cell::plain("  one two three four five"), Cell::plain("12 ns")]);
        assert_eq!(table.render(Some(24)), "  one two three\n    four five      12 ns\n");
    }

    #[test]
    fn columns_that_do_not_fit_are_folded_under_the_first_and_stay_aligned() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left, Align::Right]);
        table.row(["way", "time", "interval", "off"].map(Cell::plain));
        table.row(["a", "12 ns", "[1, 2]", "+3 %"].map(Cell::plain));
        assert_eq!(table.render(Some(26)), "way   time  interval   off\na    12 ns  [1, 2]    +3 %\n");
        assert_eq!(table.render(Some(25)), "way   time  interval\n     off\na    12 ns  [1, 2]\n    +3 %\n");
        for line in table.render(Some(14)).lines() {
            assert!(line.chars().count() <= 14, "{line}");
        }
        let mut table = Table::new([Align::Left, Align::Right]);
        table.row([Cell::plain("a-name-that-has-no-blank"), Cell::plain("12345 ns")]);
        assert_eq!(table.render(Some(30)), "a-name-that-has-no-blank\n    12345 ns\n");
    }

    #[test]
    fn where_there_is_no_room_bars_go_heads_fold_and_columns_are_left_out() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Left]);
        table.row(["", "toll", "stamped", "of the kernel's"].map(Cell::plain));
        table.row(["a call with quite a long name", "12 ns", "14 ns", "49 % ████████"].map(Cell::plain));
        let wide = table.render(Some(200));
        table.can_be_narrow([2]);
        assert_eq!(table.render(Some(200)), wide);
        let narrow = "                                toll  stamped  of the\n                                               kernel's\n\
                      a call with quite a long name  12 ns    14 ns  49 %\n";
        assert_eq!(table.render(Some(56)), narrow);
        let narrower = "                             toll  of the\n                                   kernel's\n\
                        a call with quite a long\n  name                      12 ns  49 %\n";
        assert_eq!(table.render(Some(43)), narrower);
    }

    #[test]
    fn lines_too_wide_are_folded_under_their_column() {
        let line = "  ok       RDRAND · io_uring · POSIX message queues";
        assert_eq!(fold(line, 60), line);
        assert_eq!(fold(line, 32), "  ok       RDRAND · io_uring ·\n           POSIX message queues");
        assert_eq!(fold("a  b                d  e", 12), "a  b\n   d  e");
        // A column that begins in the right half leaves no room.
        assert_eq!(
            fold("name                a text that is long\n", 30),
            "name                a text\n  that is long\n"
        );
        // A number stays with its unit, and a line that fits as it is.
        assert_eq!(fold("took 12345 ns\n  a    b\n", 12), "took\n  12345 ns\n  a    b\n");
        let colored = "\u{1b}[1m12345\u{1b}[0m 6789 12";
        assert_eq!(fold(colored, 13), colored);
        assert_eq!(fold(colored, 12), "\u{1b}[1m12345\u{1b}[0m 6789\n  12");
    }

    #[test]
    fn no_word_is_broken_but_a_path_behind_a_slash() {
        let text = "no program is at /a/very/long/path/to/some/where, said-nobody-at-all-for-long";
        assert_eq!(
            fold(text, 20),
            "no program is at\n  /a/very/long/path/\n  to/some/where,\n  said-nobody-at-all-for-long"
        );
        // Where a word would have room, it is not lost to an indent.
        assert_eq!(fold("name    a word-of-sixteen-x", 18), "name    a\n word-of-sixteen-x");
        assert_eq!(fold("  $ tollway model mm1 lambda=8000/s", 20), "  $ tollway model mm1 lambda=8000/s");
        for columns in 1..80 {
            let folded = fold(text, columns);
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(bare(&folded), bare(text));
        }
    }

    #[test]
    fn nothing_reaches_the_terminal_that_could_control_it() {
        assert_eq!(printable("a\x1b[31mb\nc\u{202e}d"), "a␛[31mb c\u{fffd}d");
    }
}
