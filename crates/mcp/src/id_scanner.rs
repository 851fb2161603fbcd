//! Scanner for the id of a request that is too long to be parsed as a whole.

use rmcp::model::RequestId;

/// Maximum number of bytes of a name or an id that is kept.
const MAX_KEPT: usize = 256;

/// Reads a JSON object in parts of any length and keeps the value of its member `id`, wherever that stands.
/// Members of inner objects do not count. Memory: a few hundred bytes.
#[derive(Default)]
pub struct IdScanner {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// Whether a value of the outermost object is being read, instead of a name.
    is_value: bool,
    /// The name, or the value, of the outermost object that is being read, as it is written.
    token: Vec<u8>,
    name: Vec<u8>,
    id: Option<Vec<u8>>,
}

impl IdScanner {
    /// Reads the next part.
    pub fn read(&mut self, part: &[u8]) {
        for &byte in part {
            self.step(byte);
        }
    }

    /// The id, if the object has one that is a string or an integer.
    pub fn id(self) -> Option<RequestId> {
        serde_json::from_slice(&self.id?).ok()
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            self.keep(byte);
            let is_end = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.is_in_string = !is_end;
            return;
        }

        match byte {
            b'"' => {
                self.is_in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
                if self.depth == 1 {
                    self.token.clear();
                }
            }
            b':' if self.depth == 1 => {
                self.name = std::mem::take(&mut self.token);
                self.is_value = true;
            }
            b',' if self.depth == 1 => self.end_member(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            byte => self.keep(byte),
        }
    }

    /// Keeps a byte of the outermost object. What is inside of its values makes them no id, so their first
    /// bytes are enough.
    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && !byte.is_ascii_whitespace() && self.token.len() <= MAX_KEPT {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        let token = std::mem::take(&mut self.token);
        if self.is_value && self.name == b"\"id\"" {
            self.id = Some(token);
        }
        self.is_value = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_outermost_object_is_found() {
        let number = Some(RequestId::Number(7));
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, number.clone()),
            (r#"{"params":{"id":1,"a":["id",{"id":2}]}, "id" : 7 }"#, number.clone()),
            (r#"{"params":{"a":"\"id\":1,}{"},"id":7}"#, number),
            (r#"{"id":"a-1","method":"x"}"#, Some(RequestId::String("a-1".into()))),
            (r#"{"id":null,"method":"x"}"#, None),
            (r#"{"id":{"id":7}}"#, None),
            (r#"{"method":"id"}"#, None),
            (r#"[{"id":7}]"#, None),
            ("id:7", None),
            ("", None),
        ] {
            for step in [1, 3, 1000] {
                let mut scanner = IdScanner::default();
                text.as_bytes().chunks(step).for_each(|part| scanner.read(part));
                assert_eq!(scanner.id(), expected, "{text}");
            }
        }
    }
}
