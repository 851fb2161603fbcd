//! The server's entry in a configuration: its name, and its fields in the shape that a client expects.

/// The key of the server in every configuration.
pub const NAME: &str = "git-codeweaver";

const DESCRIPTION: &str = "Code search by meaning, call graphs and outlines of git repositories";
/// In seconds. The first query to a large repository may wait for its index.
const TIMEOUT: u32 = 300;

/// Shape of the entry of a server that the client talks to over stdin and stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `command` and `args`.
    Plain,
    /// `type = "stdio"`, `command` and `args`.
    Stdio,
    /// `type = "local"`, and `command` as a list with the arguments.
    CommandList,
    /// An extension of Goose.
    Extension,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
    Flag(bool),
    Number(u32),
}

/// The fields of the server's entry, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub fields: Vec<(&'static str, Value)>,
}

impl Shape {
    /// The entry that starts `command` with `args`.
    pub fn entry(self, command: &str, args: &[&str]) -> Entry {
        let words = |words: &[&str]| Value::List(words.iter().map(|&word| word.to_owned()).collect());
        let fields = match self {
            Shape::Plain => vec![("command", Value::text(command)), ("args", words(args))],
            Shape::Stdio => {
                vec![("type", Value::text("stdio")), ("command", Value::text(command)), ("args", words(args))]
            }
            Shape::CommandList => {
                let command_line: Vec<&str> = std::iter::once(command).chain(args.iter().copied()).collect();

                vec![
                    ("type", Value::text("local")),
                    ("command", words(&command_line)),
                    ("enabled", Value::Flag(true)),
                ]
            }
            Shape::Extension => vec![
                ("enabled", Value::Flag(true)),
                ("type", Value::text("stdio")),
                ("name", Value::text(NAME)),
                ("description", Value::text(DESCRIPTION)),
                ("cmd", Value::text(command)),
                ("args", words(args)),
                ("timeout", Value::Number(TIMEOUT)),
            ],
        };
        Entry { fields }
    }
}

impl Value {
    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.as_str().into(),
            Value::List(words) => words.clone().into(),
            Value::Flag(flag) => (*flag).into(),
            Value::Number(number) => (*number).into(),
        }
    }

    /// The value on one line, with a blank after each comma; valid in JSON, TOML and YAML.
    pub fn to_line(&self) -> String {
        match self {
            Value::List(words) => {
                let words: Vec<String> =
                    words.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
                format!("[{}]", words.join(", "))
            }
            value => value.to_json().to_string(),
        }
    }
}
