//! `--map` and `--report` of a link that failed: the errors, and what was known when it ended.

use super::context::{Explain, write};
use super::{map, report};
use crate::diagnostics::{Printer, Sink};
use crate::json::Json;
use crate::options::Options;
use solder_link::model::object::Object;
use solder_link::view::View;

impl Explain<'_, '_> {
    /// Writes the files that were asked for, once.
    #[cold]
    pub fn failed(self, objects: &[Object<'_>], view: Option<View<'_, '_>>, sink: &Sink) {
        let Some(errors) = self.printer.take_errors() else { return };
        let map = || map::of_failure(self, objects, view, &errors);
        let content = || match view {
            Some(view) => report::content(self, objects, view, None, &errors),
            None => empty_content(self.options, self.printer, objects, &errors),
        };
        write_files(self.options, sink, map, || page(self.options, &content(), &errors));
    }
}

/// The same for a link that ended before its inputs were known.
#[cold]
pub fn failed(options: &Options, printer: &Printer, sink: &Sink) {
    let Some(errors) = printer.take_errors() else { return };
    let content = || empty_content(options, printer, &[], &errors);
    write_files(options, sink, || map::failure_head(options, &errors), || page(options, &content(), &errors));
}

/// That a file cannot be written is reported, and changes nothing: the link has failed already.
fn write_files(options: &Options, sink: &Sink, map: impl Fn() -> String, page: impl Fn() -> String) {
    if let Some(file) = &options.map {
        let _ = write(options, file, &map(), sink);
    }
    if let Some(file) = &options.report {
        let _ = write(options, file, &page(), sink);
    }
}

/// The data of a link that failed before anything but its inputs was known.
fn empty_content(options: &Options, printer: &Printer, objects: &[Object<'_>], errors: &[String]) -> Json {
    let output = options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    let list = || Json::List(Vec::new());
    Json::Object(vec![
        ("format", report::FORMAT.into()),
        ("errors", errors.iter().cloned().map(Json::Text).collect()),
        ("output", Json::Text(output)),
        ("target", Json::Text(options.link_target().to_string())),
        ("size", 0u32.into()),
        ("inputs", objects.iter().map(|object| Json::Text(object.name.to_string())).collect()),
        ("functions", list()),
        ("removed", report::removed_functions(&[])),
        ("sharedLimit", 0u32.into()),
        ("shared", list()),
        ("variables", list()),
        ("constants", list()),
        ("phases", report::phases(printer)),
    ])
}

/// The file that was asked for; the page has the errors before everything else.
fn page(options: &Options, content: &Json, errors: &[String]) -> String {
    const BODY: &str = "<body>";
    let item = |error: &String| format!("<li>{}</li>", error.replace('&', "&amp;").replace('<', "&lt;"));
    let items: String = errors.iter().map(item).collect();
    let head = "The link failed and wrote nothing. What follows is what was known when it ended.";
    report::written(options, content).replacen(
        BODY,
        &format!("{BODY}\n<section class=\"alert\" role=\"alert\"><p>{head}</p><ul>{items}</ul></section>"),
        1,
    )
}
