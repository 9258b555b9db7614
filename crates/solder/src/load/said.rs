//! What an input had to say. Inputs are opened in parallel and speak in link order, afterwards.

use crate::diagnostics::{Message, Sink};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Message(Message),
    /// Lines of the assembler, passed on as they are.
    Assembler(Vec<u8>),
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl Said {
    pub(super) fn report(&self, sink: &Sink) {
        match self {
            Self::Message(message) => sink.report(message),
            Self::Assembler(text) => sink.write(text),
        }
    }
}

/// The messages that end the run, in order.
pub(super) type Stopped = Vec<Message>;

/// From this many files on, threads are worth their start.
pub(super) const PARALLEL_FROM: usize = 48;
