//! Reads JSON with the places of its strings.

use std::ops::Range;

/// Reads the values of a text one after the other. Every function returns `None` where the text is not JSON.
pub(super) struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    pub fn new(text: &'a str) -> JsonReader<'a> {
        JsonReader { text, at: 0 }
    }

    /// Reads an object. `visit` is called with each key and reads its value.
    pub fn members(
        &mut self,
        mut visit: impl FnMut(&'a str, &mut JsonReader<'a>) -> Option<()>,
    ) -> Option<()> {
        self.items(b'{', b'}', |reader| {
            let key = reader.string()?;
            reader.expect(b':')?;
            visit(&reader.text[key], reader)
        })
    }

    /// Reads an array. `visit` reads each element.
    pub fn elements(&mut self, visit: impl FnMut(&mut JsonReader<'a>) -> Option<()>) -> Option<()> {
        self.items(b'[', b']', visit)
    }

    /// Reads a string. Returns the bytes between its quotes.
    pub fn string(&mut self) -> Option<Range<usize>> {
        self.expect(b'"')?;
        let start = self.at;

        loop {
            let found = memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..])?;
            self.at += found + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                return Some(start..self.at - 1);
            }
            // The character after a backslash is ASCII in every escape.
            self.text.as_bytes().get(self.at).filter(|byte| byte.is_ascii())?;
            self.at += 1;
        }
    }

    /// Reads a string or an array of strings. Returns the bytes between the quotes of each.
    pub fn strings(&mut self) -> Option<Vec<Range<usize>>> {
        if self.peek()? == b'"' {
            return Some(vec![self.string()?]);
        }

        let mut strings = Vec::new();
        self.elements(|reader| {
            strings.push(reader.string()?);
            Some(())
        })?;
        Some(strings)
    }

    /// Reads a value of any kind.
    pub fn skip(&mut self) -> Option<()> {
        let mut depth = 0u32;

        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                _ => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let n_scalar = rest
                        .iter()
                        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                        .count();
                    self.at += (n_scalar > 0).then_some(n_scalar)?;
                }
            }

            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Returns the next byte that is not blank, without reading it.
    pub fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Reads items between brackets, separated by commas.
    fn items(
        &mut self,
        open: u8,
        close: u8,
        mut visit: impl FnMut(&mut JsonReader<'a>) -> Option<()>,
    ) -> Option<()> {
        self.expect(open)?;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }

        loop {
            visit(self)?;
            if self.peek()? == close {
                self.at += 1;
                return Some(());
            }
            self.expect(b',')?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_at_their_places() {
        let text = r#"{"a": [1, {"b": "}"}, true], "c": "d\"e", "f": ["g", "h"]}"#;
        let mut found = Vec::new();
        let read = JsonReader::new(text).members(|key, reader| match key {
            "a" => reader.skip(),
            _ => {
                found.extend(reader.strings()?.into_iter().map(|range| &text[range]));
                Some(())
            }
        });
        assert_eq!((read, found), (Some(()), vec![r#"d\"e"#, "g", "h"]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "{", "{\"a\" 1}", "{\"a\": }", "[1]", "{\"a\": \"b}", "{\"a\": [1}", "{\"\\é\": 1}"]
        {
            assert_eq!(JsonReader::new(text).members(|_, reader| reader.skip()), None, "{text}");
        }
    }
}
