//! What inputs give reason to say. They are opened in parallel, and reported on in link order afterwards.

use crate::diagnostics::{Message, Sink, Stop, Switches};

/// A message about an input, or lines of the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A message.
    Message(Message),
    /// Lines of the assembler, passed on as they are, and the switches that it sets.
    Assembler(Vec<u8>, Option<Switches>),
    /// What the assembler says of itself, asked for in place of code. It ends the link.
    Answer(Vec<u8>),
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl Said {
    /// Reports it.
    pub fn report(&self, sink: &Sink) -> Result<(), Stop> {
        match self {
            Self::Message(message) => sink.report(message),
            Self::Assembler(text, switches) => {
                sink.write(text);
                if let Some(switches) = switches {
                    sink.switch(*switches);
                }
            }
            Self::Answer(text) => return Err(sink.answer(text)),
        }
        Ok(())
    }
}

/// The messages that end the link, in order.
pub type Stopped = Vec<Message>;

/// From this many inputs on, threads are worth their start.
pub const PARALLEL_FROM: usize = 48;
