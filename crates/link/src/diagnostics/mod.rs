//! What the linker reports: one table of messages, and the sink that hands them on and counts the errors among them.
//!
//! The text of a message is nvlink's, to the letter. How it is shown is the caller's choice.

mod messages;
mod severity;
mod sink;
mod text;

pub use messages::{Message, Row, TABLE};
pub use severity::Severity;
pub use sink::{Collector, Diagnostic, Receiver, Sink, Stop, Switches};
pub use text::{Banks, Barriers, Demangled, Field, Handles, Hex, Text, Value};
