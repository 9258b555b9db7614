//! The command line as the output's `.note.nv.tkinfo` records it.

use std::os::unix::ffi::OsStrExt;

use super::{Id, Options, Record, Row, TABLE, Value};

impl Options {
    /// Whether inputs, output and some more options are recorded.
    fn records_verbosely(&self) -> bool {
        self.debug || self.verbose_tkinfo
    }

    /// The object's name in the note: the output's base name in the verbose form, otherwise nothing.
    pub fn recorded_object_name(&self) -> Vec<u8> {
        match (&self.output, self.records_verbosely()) {
            (Some(output), true) => base_name(output.as_os_str().as_bytes()).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The command line in the note: the options that were given, in the table's order, each followed by its
    /// value and a blank.
    pub fn recorded_command_line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        if self.records_verbosely() {
            let names: Vec<_> = self.values.inputs.iter().map(|name| base_name(name)).collect();
            line.extend_from_slice(&names.join(&b','));
            line.push(b' ');
        }
        for row in &TABLE {
            if let Some(value) = self.recorded_value(row) {
                line.push(b'-');
                line.extend_from_slice(row.short.unwrap_or_default().as_bytes());
                line.push(b' ');
                line.extend_from_slice(&value);
                line.push(b' ');
            }
        }
        line
    }

    fn recorded_value(&self, row: &Row) -> Option<Vec<u8>> {
        let value = self.values.get(row.id)?;
        let verbose = self.records_verbosely();
        match row.record {
            Record::Always => Some(as_text(value)),
            Record::Verbose if verbose => Some(as_text(value)),
            Record::VerboseBaseName if verbose => Some(base_name(&as_text(value)).to_vec()),
            Record::VerboseNameOnly if verbose => Some(Vec::new()),
            _ => None,
        }
    }

    /// The given options with their values as text, for tests and reports.
    pub fn given(&self) -> impl Iterator<Item = (Id, Vec<u8>)> {
        TABLE.iter().filter_map(|row| Some((row.id, as_text(self.values.get(row.id)?))))
    }
}

fn as_text(value: &Value) -> Vec<u8> {
    match value {
        Value::Flag => Vec::new(),
        Value::Bool(value) => value.to_string().into_bytes(),
        Value::Number(value) => value.to_string().into_bytes(),
        Value::Scalar(text) => text.clone(),
        Value::List(elements) => elements.join(&b','),
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
