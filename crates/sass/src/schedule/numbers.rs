//! Which scoreboard a producer gets.
//!
//! A scoreboard has a group of producers that are under way. A producer joins a group that has the same consumer; it
//! takes a scoreboard that is free otherwise, in an order that depends on the operation; and if there is none, it shares
//! the one where that costs the least time.

use super::hints::Hints;
use super::instructions::Line;
use super::latency::{self, Family, Machine};
use super::producers::Producer;
use crate::instruction::SCOREBOARDS;
use crate::operation::DMMA;

const COUNT: usize = SCOREBOARDS as usize;
/// The scoreboard of slow results that nothing in the block waits for; if there are textures, it is the one before.
pub const RESERVED: u8 = 5;
/// The scoreboard of textures and surfaces, if there are any.
const TEXTURES: u8 = 5;
/// The scoreboard of copies that go on by themselves, where waits count.
pub const COUNTED: u8 = 0;
/// How much later than the end of the block what comes after it is taken to be.
const AFTER: i64 = 100_000;

const ASCENDING: [u8; COUNT] = [0, 1, 2, 3, 4, 5];

/// The scoreboards that a producer may get, in the order in which they are tried.
fn preferred(producer: &Producer, operation: u16) -> &'static [u8] {
    if producer.is_about_operands() {
        &ASCENDING
    } else if latency::is_slow(operation) {
        &ASCENDING[2..]
    } else {
        &ASCENDING
    }
}

/// A producer that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub producer: usize,
    /// When it is over, in cycles from the start of the block.
    pub ready: i64,
    /// Its consumer in the block.
    pub consumer: Option<usize>,
    /// Whether it has one in the next blocks instead, as far as that is looked at.
    pub is_used_next: bool,
    /// Whether it has none from this block on, as far as that is looked at.
    pub is_unused: bool,
}

/// The producers under way on one scoreboard.
#[derive(Debug)]
pub struct Group {
    pub members: Vec<Pending>,
    /// The first of the consumers in the block.
    pub consumer: Option<usize>,
    /// When the last of them is over.
    pub ready: i64,
    pub has_slow: bool,
    pub has_texture: bool,
    /// Whether some are of this block.
    pub has_own: bool,
    /// When the last is ready for what shares the scoreboard and is not slow.
    ready_to_share: i64,
    /// Whether something still depends on some of them.
    is_needed: bool,
    /// Whether all are about operands and have no consumer in this block.
    is_idle: bool,
    /// Whether some have none in this block and one in the next ones.
    is_used_next: bool,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            consumer: None,
            ready: i64::MIN,
            has_slow: false,
            has_texture: false,
            has_own: false,
            ready_to_share: i64::MIN,
            is_needed: false,
            is_idle: true,
            is_used_next: false,
        }
    }
}

impl Group {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn add(&mut self, pending: Pending, producer: &Producer, is_own: bool) {
        let consumer = pending.consumer;
        self.members.push(pending);
        self.consumer = self.consumer.into_iter().chain(consumer).min();
        self.ready = self.ready.max(pending.ready);
        self.has_slow |= producer.is_slow;
        self.ready_to_share = self.ready_to_share.max(pending.ready + producer.delay);
        self.is_needed |= !pending.is_unused;
        self.has_texture |= producer.is_texture;
        self.has_own |= is_own;
        self.is_used_next |= pending.is_used_next;
        self.is_idle &= producer.is_about_operands() && consumer.is_none();
    }
}

/// What the choice depends on in the whole function.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Whether there are slow results. Those of atomics that go nowhere do not count: nothing is reserved for them alone
    /// (older/blackwell-traps).
    has_slow: bool,
    /// Whether there are results of textures or surfaces.
    has_texture: bool,
    /// The scoreboards with which waits count, which are nobody else's: a bit for each.
    counted: u8,
}

impl Kinds {
    pub fn of(lines: &[Line], producers: &[Producer], family: Family, hints: &Hints) -> Self {
        let loops = hints.loops.iter().filter_map(|range| lines.get(range.clone())).flatten();
        let products = loops.filter(|line| line.operation() == DMMA);
        let results = products.clone().filter_map(|line| line.bits.write_scoreboard());
        let operands = products
            .filter(|_| family.machine == Machine::Of120)
            .filter_map(|line| line.bits.read_scoreboard());
        let copies = u8::from(lines.iter().any(Line::is_counted)) << COUNTED;
        Self {
            has_slow: producers.iter().any(|producer| producer.is_slow && !producer.registers.is_empty()),
            has_texture: producers.iter().any(|producer| producer.is_texture),
            counted: results.chain(operands).fold(copies, |mask, number| mask | 1 << number),
        }
    }

    /// Whether waits count with this scoreboard: that of copies to shared memory, and those of matrix products in loops with remarks.
    pub fn is_counted(self, number: u8) -> bool {
        self.counted >> number & 1 != 0
    }

    pub fn has_slow(self) -> bool {
        self.has_slow
    }

    /// Whether a producer takes the reserved scoreboard: a slow result that nothing in the block waits for.
    pub fn outlives(self, producer: &Producer) -> bool {
        self.has_slow && producer.is_slow && producer.consumer.is_none()
    }

    /// The scoreboard of slow results that nothing in the block waits for.
    pub fn reserved(self) -> u8 {
        let last = if self.has_texture { RESERVED - 1 } else { RESERVED };
        (0..=last).rev().find(|number| !self.is_counted(*number)).unwrap_or(last)
    }
}

/// What the choice depends on besides the producer.
#[derive(Debug)]
pub struct Choice<'a> {
    pub kinds: Kinds,
    /// What the assembler says about the function.
    pub hints: &'a Hints,
    pub groups: &'a [Group; COUNT],
    /// When each instruction of the function is issued, in cycles from the start of its block.
    pub times: &'a [i64],
    /// The last instruction of the block.
    pub last: usize,
    /// How many cycles the block takes.
    pub length: i64,
    /// Scoreboards that are in use where control goes from here: a bit for each.
    pub avoided: u8,
    /// Whether the reserved scoreboard may not be used for anything else.
    pub is_reserved: bool,
    /// Whether the producer has no consumer in the block and one in the next blocks.
    pub is_used_next: bool,
}

impl Choice<'_> {
    pub fn number(&self, producer: &Producer, operation: u16) -> u8 {
        if producer.is_texture {
            return TEXTURES;
        }
        if self.kinds.outlives(producer) {
            return self.kinds.reserved();
        }
        if let Some(number) = ASCENDING.into_iter().find(|number| self.may_join(producer, *number)) {
            return number;
        }
        let is_usable = |number: &u8| !self.is_kept(*number);
        let order: Vec<u8> = preferred(producer, operation).iter().copied().filter(is_usable).collect();
        self.free(producer, &order).unwrap_or_else(|| self.shared(producer, &order))
    }

    /// Whether a scoreboard is kept for others.
    fn is_kept(&self, number: u8) -> bool {
        self.kinds.is_counted(number)
            || self.kinds.has_texture && number == TEXTURES
            || self.is_reserved && number == self.kinds.reserved()
    }

    /// Whether the producer has the same consumer as those of a scoreboard. In a loop with batches, one that gives a result has if the
    /// consumers are in one batch; so have those that outlive the block.
    fn may_join(&self, producer: &Producer, number: u8) -> bool {
        let group = &self.groups[usize::from(number)];
        if group.is_empty() || self.kinds.is_counted(number) {
            return false;
        }
        let is_batched = !producer.is_about_operands() && self.hints.is_batched(producer.at);
        if producer.consumer.is_some() {
            let is_same = group.consumer == producer.consumer
                || is_batched
                    && self.is_same_batch(group.consumer, producer.consumer)
                    && producer.ready <= self.time(group.consumer);
            return is_same && !self.is_kept(number);
        }
        if is_batched {
            return group.has_own && group.consumer.is_none() && !group.is_idle;
        }
        producer.is_about_operands() && group.is_idle && group.has_own && !group.is_used_next
    }

    /// Whether two consumers are in one batch.
    fn is_same_batch(&self, first: Option<usize>, second: Option<usize>) -> bool {
        let batch = |at: Option<usize>| at.and_then(|at| self.hints.batch(at));
        batch(first).is_some() && batch(first) == batch(second)
    }

    /// The first free scoreboard. What outlives the block avoids those in use on other ways to where control goes.
    fn free(&self, producer: &Producer, order: &[u8]) -> Option<u8> {
        let has_consumer = producer.consumer.is_some();
        let is_free = |number: &u8| {
            self.groups[usize::from(*number)].is_empty()
                && (has_consumer || *number != self.kinds.reserved() || !self.kinds.has_slow)
        };
        let mut free = order.iter().copied().filter(is_free);
        if !has_consumer {
            let good = free.clone().find(|number| self.avoided >> number & 1 == 0);
            return good.or_else(|| free.next());
        }
        free.next()
    }

    /// The scoreboard where sharing costs least.
    fn shared(&self, producer: &Producer, order: &[u8]) -> u8 {
        let is_used = |number: &u8| !self.groups[usize::from(*number)].is_empty();
        let used = order.iter().copied().filter(is_used);
        // Where nothing depends on any of what is under way, all of it is over.
        let is_needed = used.clone().any(|number| self.groups[usize::from(number)].is_needed);
        used.min_by_key(|number| self.cost(producer, *number, is_needed))
            .or(order.first().copied())
            .unwrap_or(self.kinds.reserved())
    }

    /// How long something waits in vain if the producer shares this scoreboard: the first consumer of the group for the
    /// producer, or the consumer of the producer for the group. What is equal there, and is waited for where the next blocks begin, is
    /// decided by when the group is over.
    fn cost(&self, producer: &Producer, number: u8, is_needed: bool) -> (i64, i64) {
        let group = &self.groups[usize::from(number)];
        if self.is_used_next {
            return self.cost_ahead(producer, group);
        }
        let position = |consumer: Option<usize>| consumer.unwrap_or(usize::MAX);
        if position(group.consumer) > position(producer.consumer) {
            let ready =
                if producer.ignores_delay { group.ready } else { group.ready.max(group.ready_to_share) };
            let ready = if is_needed { ready.max(0) } else { 0 };
            return (ready - self.time(producer.consumer), 0);
        }
        if producer.consumer.is_some() {
            return (producer.ready - self.time(group.consumer), 0);
        }
        let is_for_next = group.consumer.is_none() && group.is_used_next;
        let time = if is_for_next { self.length } else { self.time(group.consumer) };
        ((producer.ready - time).max(0), 0)
    }

    /// The same for a producer that the next blocks wait for, where they begin. A group that they wait for too costs nothing.
    fn cost_ahead(&self, producer: &Producer, group: &Group) -> (i64, i64) {
        let ready = group.ready.max(group.ready_to_share).max(0);
        let cost = match group.consumer {
            Some(at) => return (producer.ready - self.times[at], 0),
            None if group.is_used_next => (ready - self.length).min(0),
            None => ready - self.length,
        };
        (cost, ready)
    }

    fn time(&self, consumer: Option<usize>) -> i64 {
        consumer.map_or(self.times[self.last] + AFTER, |at| self.times[at])
    }
}
