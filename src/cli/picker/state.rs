//! The state of the picker, and the effects of keys on it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::item::Item;
use super::searches::Answer;

/// The state of the picker.
#[derive(Debug, Default)]
pub struct Picker {
    pub query: String,
    /// Byte offset in `query`.
    pub cursor: usize,
    /// The answer to the last query that had one; it stays until the next.
    pub answer: Answer,
    /// Why the present query has no answer.
    pub error: Option<String>,
    /// True while an answer is awaited.
    pub is_busy: bool,
    pub selected: usize,
    /// Number of lines by which the text of the selected item is moved up; below zero, down. The next frame
    /// reduces it to the lines that there are.
    pub scroll: isize,
}

/// The consequence of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing but a new frame.
    Draw,
    /// The query has changed.
    Ask,
    /// The selected item is opened in the editor.
    Open,
    /// The place of the selected item is printed.
    Print,
    Quit,
}

impl Picker {
    pub fn selected(&self) -> Option<&Item> {
        self.answer.items.get(self.selected)
    }

    /// Takes an answer, or why there is none.
    pub fn answered(&mut self, answer: Result<Answer, String>) {
        self.is_busy = false;
        (self.selected, self.scroll) = (0, 0);
        match answer {
            Ok(answer) => (self.answer, self.error) = (answer, None),
            Err(error) => self.error = Some(error),
        }
    }

    /// Inserts pasted or typed text. The query stays one line.
    pub fn insert(&mut self, text: &str) -> Action {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.query.insert_str(self.cursor, &line);
        self.cursor += line.len();
        Action::Ask
    }

    /// Does what a key means.
    pub fn press(&mut self, key: KeyEvent) -> Action {
        let with = |modifier| key.modifiers.contains(modifier);

        match key.code {
            KeyCode::Char(c) if with(KeyModifiers::CONTROL) && !with(KeyModifiers::ALT) => {
                self.press_control(c)
            }
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.delete(self.before()),
            KeyCode::Delete => self.delete_to(self.after()),
            KeyCode::Left => self.move_to(self.before()),
            KeyCode::Right => self.move_to(self.after()),
            KeyCode::Home => self.move_to(0),
            KeyCode::End => self.move_to(self.query.len()),
            KeyCode::Up => self.select(-1),
            KeyCode::Down => self.select(1),
            KeyCode::PageUp => self.scroll_by(-10),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::Enter if self.selected().is_some() => Action::Open,
            KeyCode::Esc => Action::Quit,
            _ => Action::Draw,
        }
    }

    /// As readline where it has the key, as fzf for the rest.
    fn press_control(&mut self, c: char) -> Action {
        match c {
            'c' | 'g' => Action::Quit,
            'd' if self.query.is_empty() => Action::Quit,
            'd' => self.delete_to(self.after()),

            'h' => self.delete(self.before()),
            'u' => self.delete(0),
            'w' => self.delete(self.word_start()),

            'a' => self.move_to(0),
            'e' => self.move_to(self.query.len()),
            'b' => self.move_to(self.before()),
            'f' => self.move_to(self.after()),

            'p' | 'k' => self.select(-1),
            'n' | 'j' => self.select(1),
            'y' if self.selected().is_some() => Action::Print,
            _ => Action::Draw,
        }
    }

    fn select(&mut self, step: isize) -> Action {
        let last = self.answer.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(step).min(last);
        self.scroll = 0;
        Action::Draw
    }

    fn scroll_by(&mut self, lines: isize) -> Action {
        self.scroll += lines;
        Action::Draw
    }

    fn move_to(&mut self, at: usize) -> Action {
        self.cursor = at;
        Action::Draw
    }

    /// Deletes the text between `start` and the cursor.
    fn delete(&mut self, start: usize) -> Action {
        self.query.replace_range(start..self.cursor, "");
        self.cursor = start;
        Action::Ask
    }

    /// Deletes the text between the cursor and `end`.
    fn delete_to(&mut self, end: usize) -> Action {
        self.query.replace_range(self.cursor..end, "");
        Action::Ask
    }

    /// The start of the character before the cursor.
    fn before(&self) -> usize {
        self.query[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    /// The end of the character after the cursor.
    fn after(&self) -> usize {
        self.query[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    /// The start of the word before the cursor.
    fn word_start(&self) -> usize {
        let before = self.query[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn control(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    #[test]
    fn a_line_is_edited_by_characters_and_words() {
        let mut picker = Picker::default();
        assert_eq!(picker.insert("wö rd\nx"), Action::Ask);
        assert_eq!(picker.query, "wö rd x");

        assert_eq!(picker.press(control('w')), Action::Ask);
        assert_eq!(picker.query, "wö rd ");
        picker.press(control('w'));
        assert_eq!(picker.query, "wö ");
        picker.press(key(KeyCode::Backspace));
        picker.press(key(KeyCode::Backspace));
        assert_eq!(picker.query, "w");

        picker.press(key(KeyCode::Home));
        assert_eq!(picker.press(key(KeyCode::Char('ä'))), Action::Ask);
        assert_eq!(picker.query, "äw");
        picker.press(key(KeyCode::Delete));
        assert_eq!((picker.query.as_str(), picker.cursor), ("ä", "ä".len()));
        picker.press(control('u'));
        assert_eq!(picker.query, "");
        assert_eq!(picker.press(control('d')), Action::Quit);
    }

    #[test]
    fn without_results_nothing_is_opened() {
        let mut picker = Picker::default();
        assert_eq!(picker.press(key(KeyCode::Down)), Action::Draw);
        assert_eq!(picker.press(key(KeyCode::Enter)), Action::Draw);
        assert_eq!(picker.press(control('y')), Action::Draw);
        assert_eq!(picker.press(key(KeyCode::Esc)), Action::Quit);
    }

    #[test]
    fn an_error_leaves_the_results_before_it() {
        let mut picker = Picker::default();
        picker.answered(Ok(Answer { summary: "2 results".to_owned(), ..Answer::default() }));
        picker.answered(Err("no such language".to_owned()));
        assert_eq!(
            (picker.answer.summary.as_str(), picker.error.as_deref()),
            ("2 results", Some("no such language"))
        );
    }
}
