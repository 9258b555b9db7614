//! Messages that are held back until what explains them is known: `--explain` and `--error-format=json`.

use hashbrown::HashMap;

use super::{Message, Severity, Text, Value};
use crate::json::Json;

/// A line of help under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A stable name for programs: what the note tells.
    pub kind: &'static str,
    pub text: String,
}

impl Note {
    pub fn new(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// How messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// One object a line.
    Json,
}

/// What there is to print, in order.
#[derive(Debug)]
pub(super) enum Event {
    Message(Severity, Message),
    /// Lines that are no message of the linker.
    Text(Vec<u8>),
}

/// Values named of a folded warning.
const NAMED: usize = 8;

/// A message and the later warnings of its kind.
pub(super) struct Group {
    pub severity: Severity,
    pub first: Message,
    others: Vec<Message>,
}

pub(super) enum Printed {
    Group(Group),
    Text(Vec<u8>),
}

/// Puts repeated warnings together, at the place of the first.
pub(super) fn fold(events: Vec<Event>) -> Vec<Printed> {
    let mut seen: HashMap<&'static str, usize> = HashMap::new();
    let mut printed: Vec<Printed> = Vec::new();
    for event in events {
        match event {
            Event::Text(text) => printed.push(Printed::Text(text)),
            Event::Message(severity, message) => {
                let row = message.row();
                let first = seen.get(row.code).filter(|_| row.severity == Severity::Warning);
                if let Some(Printed::Group(group)) = first.map(|at| &mut printed[*at]) {
                    group.others.push(message);
                    continue;
                }
                seen.insert(row.code, printed.len());
                printed.push(Printed::Group(Group { severity, first: message, others: Vec::new() }));
            }
        }
    }
    printed
}

/// Every message by itself.
pub(super) fn unfolded(events: Vec<Event>) -> Vec<Printed> {
    let single = |event| match event {
        Event::Text(text) => Printed::Text(text),
        Event::Message(severity, first) => Printed::Group(Group { severity, first, others: Vec::new() }),
    };
    events.into_iter().map(single).collect()
}

impl Group {
    /// What the warnings that were folded away said differently.
    pub fn repetition(&self) -> Option<Note> {
        if self.others.is_empty() {
            return None;
        }
        let first = self.first.fields();
        let mut named: Vec<String> = Vec::new();
        for other in &self.others {
            let differs = other.fields().into_iter().zip(&first).filter(|(a, b)| a != *b);
            let values: Vec<_> = differs.map(|((_, value), _)| quoted(&value)).collect();
            if !values.is_empty() {
                let text = values.join(" ");
                if !named.contains(&text) {
                    named.push(text);
                }
            }
        }
        let times = self.others.len() + 1;
        if named.is_empty() {
            return Some(Note::new("repeated", format!("said {times} times")));
        }
        let rest = named.len().saturating_sub(NAMED);
        let list = named[..named.len().min(NAMED)].join(", ");
        let list = if rest > 0 { format!("{list} and {rest} more") } else { list };
        Some(Note::new("repeated", format!("said {times} times, also of {list}")))
    }
}

fn quoted(value: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(value))
}

/// The line of a message for programs.
pub(super) fn json(
    severity: Severity,
    message: &Message,
    notes: &[Note],
    tool: &Text,
    target: Option<&Text>,
) -> String {
    let lossy = |bytes: &[u8]| Json::Text(String::from_utf8_lossy(bytes).into_owned());
    let mut text = Vec::new();
    message.write_text(&mut text);
    let fields = message.typed_fields().into_iter().map(|(name, value)| (name, typed(value))).collect();
    let note = |note: &Note| Json::Object(vec![("kind", note.kind.into()), ("text", (&note.text).into())]);
    let mut object = vec![
        ("tool", lossy(tool.as_bytes())),
        ("severity", of_log(severity, message).name().into()),
        ("code", message.row().code.into()),
        ("message", lossy(&text)),
        ("fields", Json::Object(fields)),
        ("notes", Json::List(notes.iter().map(note).collect())),
    ];
    if let Some(target) = target {
        object.push(("target", lossy(target.as_bytes())));
    }
    Json::Object(object).line()
}

/// nvlink prints the log of its compiler as an info, whatever is in it.
fn of_log(severity: Severity, message: &Message) -> Severity {
    let Message::CompilerLog { log } = message else { return severity };
    let text = log.to_string().to_lowercase();
    let said = [("error", Severity::Error), ("warning", Severity::Warning)];
    said.into_iter().find(|(word, _)| text.contains(word)).map_or(severity, |(_, severity)| severity)
}

fn typed(value: Value) -> Json {
    match value {
        Value::Text(text) => Json::Text(String::from_utf8_lossy(&text).into_owned()),
        Value::Number(number) => Json::Signed(number),
        Value::Nothing => Json::Null,
        Value::Rows(rows) => {
            let row = |row: Vec<(&'static str, Value)>| {
                Json::Object(row.into_iter().map(|(name, value)| (name, typed(value))).collect())
            };
            Json::List(rows.into_iter().map(row).collect())
        }
    }
}

/// The lines of a text that is not a message of the linker. The assembler's messages have its name and their own severity.
pub(super) fn json_text(text: &[u8], tool: &Text) -> String {
    let text = String::from_utf8_lossy(text.trim_ascii_end());
    let tool = String::from_utf8_lossy(tool.as_bytes());
    let mut lines = String::new();
    let mut others: Vec<&str> = Vec::new();
    let flush = |others: &mut Vec<&str>, lines: &mut String| {
        if !others.is_empty() {
            lines.push_str(&output(&tool, Severity::Info, &others.join("\n"), Vec::new()));
            others.clear();
        }
    };
    for line in text.split('\n') {
        match ToolMessage::of(line) {
            None => others.push(line),
            Some(message) => {
                flush(&mut others, &mut lines);
                lines.push_str(&message.json());
            }
        }
    }
    flush(&mut others, &mut lines);
    lines
}

/// A message of another tool, in the form that all of NVIDIA's have: `ptxas a.ptx, line 3; error   : text`.
struct ToolMessage<'a> {
    tool: &'a str,
    place: Option<(&'a str, u64)>,
    severity: Severity,
    text: &'a str,
}

impl<'a> ToolMessage<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let severities = [Severity::Info, Severity::Warning, Severity::Error, Severity::Fatal];
        severities.into_iter().find_map(|severity| {
            let (before, text) = line.split_once(&format!(" {}: ", severity.padded()))?;
            let (tool, place) = before.split_once(' ').unwrap_or((before, ""));
            let is_tool = !tool.is_empty() && tool.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let place = place.strip_suffix(';').and_then(|place| place.rsplit_once(", line "));
            let place = place.and_then(|(file, line)| Some((file, line.parse().ok()?)));
            is_tool.then_some(Self { tool, place, severity, text })
        })
    }

    fn json(&self) -> String {
        let place = |(file, line): (&str, u64)| vec![("file", file.into()), ("line", line.into())];
        output(self.tool, self.severity, self.text, self.place.map(place).unwrap_or_default())
    }
}

fn output(tool: &str, severity: Severity, text: &str, fields: Vec<(&'static str, Json)>) -> String {
    Json::Object(vec![
        ("tool", tool.into()),
        ("severity", severity.name().into()),
        ("code", "output".into()),
        ("message", text.into()),
        ("fields", Json::Object(fields)),
        ("notes", Json::List(Vec::new())),
    ])
    .line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_compiler_is_as_severe_as_what_it_says() {
        for (log, expected) in [
            ("error: no such function", Severity::Error),
            ("a.ltoir (3, 4): Warning: odd", Severity::Warning),
            ("inlined 3 functions", Severity::Info),
        ] {
            assert_eq!(of_log(Severity::Info, &Message::CompilerLog { log: log.into() }), expected, "{log}");
        }
    }

    #[test]
    fn messages_of_other_tools_keep_their_severity() {
        let text = b"ptxas a.ptx, line 7; error   : Unknown symbol 'x'\nptxas fatal   : Ptx assembly aborted due to errors\n\
                     two\nlines : of text\n";
        let lines = json_text(text, &"nvlink".into());
        let starts = [
            r#"{"tool":"ptxas","severity":"error","code":"output","message":"Unknown symbol 'x'","fields":{"file":"a.ptx","line":7}"#,
            r#"{"tool":"ptxas","severity":"fatal","code":"output","message":"Ptx assembly aborted due to errors","fields":{}"#,
            r#"{"tool":"nvlink","severity":"info","code":"output","message":"two\nlines : of text","fields":{}"#,
        ];
        assert_eq!(lines.lines().count(), starts.len(), "{lines}");
        for (line, start) in lines.lines().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }
}
