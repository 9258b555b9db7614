//! The command line as the output's `.note.nv.tkinfo` records it.

use std::os::unix::ffi::OsStrExt;

use super::{Options, Record, Row, TABLE, Value};

impl Options {
    /// Whether inputs, output and some more options are recorded: with `-g`, unless told otherwise.
    fn records_verbosely(&self) -> bool {
        self.verbose_tkinfo.unwrap_or(self.debug)
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
            Record::Verbose if verbose => Some(base_name(&as_text(value)).to_vec()),
            Record::VerboseNameOnly if verbose => Some(Vec::new()),
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use crate::diagnostics::{Printer, Settings};
    use crate::options::{Options, Values};

    fn options(line: &str) -> Options {
        let printer = Printer::in_memory(Settings::default());
        let sink = printer.sink();
        let words = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        Options::new(
            Values::parse(words, solder_arch::Release::CUDA_13_0, &sink).expect("a good command line"),
            OsStr::new("nvlink"),
            false,
        )
    }

    fn recorded(line: &str) -> String {
        String::from_utf8(options(line).recorded_command_line()).expect("ASCII")
    }

    #[test]
    fn only_what_was_given_in_a_fixed_order() {
        assert_eq!(recorded("k.o -o t -arch=sm_90"), "-arch sm_90 ");
        assert_eq!(
            recorded("-v -cpu-arch=X86_64 -r -m64 --arch sm_90 -shared"),
            "-arch sm_90 -m 64 -v  -cpu-arch X86_64 -r  "
        );
        assert_eq!(recorded("-Lz -lbar -arch=sm_90 -l,foo,"), "-arch sm_90 -l bar,foo -L z ");
        assert_eq!(recorded("-maxrregcount=0x20 -arch=sm_90 -l="), "-arch sm_90 -l  -maxrregcount 32 ");
        assert_eq!(
            recorded("-Ofc -arch=sm_90 -lto -emit-ptx -time f"),
            "-arch sm_90 -emit-ptx  -lto  -Ofc 0 "
        );
    }

    #[test]
    fn the_verbose_form_has_base_names() {
        let line = "-r -v d/k.o f.o -g -o d/t.cubin -arch=sm_90 --register-link-binaries=d/r -time d/f";
        assert_eq!(recorded(line), "k.o,f.o -o t.cubin -g  -arch sm_90 - r -v  -time f -r  ");
        assert_eq!(options(line).recorded_object_name(), b"t.cubin");
        let line = "k.o -g -verbose-tkinfo=false -arch=sm_90 -o t";
        assert_eq!(recorded(line), "-g  -arch sm_90 ");
        assert_eq!(options(line).recorded_object_name(), b"");
    }
}
