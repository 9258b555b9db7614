//! Walks through the blocks, gives scoreboards to producers and waits to what depends on them.

use super::blocks::Block;
use super::consumers::{Consumers, FirstUses, Uses, is_filler};
use super::hints::Hints;
use super::instructions::Line;
use super::latency::Family;
use super::numbers::{Choice, Group, Kinds, Pending};
use super::order::order;
use super::producers::{Producer, Producers};
use super::times::Times;
use crate::cluster_size::reads_cluster_size;
use crate::flow::Flow;
use crate::instruction::{CountedWait, SCOREBOARDS};
use crate::operation;
use crate::registers::Registers;

const COUNT: usize = SCOREBOARDS as usize;
/// A wait for every scoreboard.
const ALL: u8 = 0x3f;

/// A function on its way to be scheduled.
pub struct Schedule<'a> {
    pub lines: &'a [Line],
    blocks: &'a [Block],
    /// The turn of each block, and whether a loop begins with it.
    positions: Vec<usize>,
    is_head: Vec<bool>,
    family: Family,
    hints: &'a Hints,
    /// The first instructions of blocks that keep their scoreboards and waits.
    pub kept: &'a [usize],
    pub producers: Producers,
    /// When each instruction is issued, in cycles from the start of its block.
    times: Vec<i64>,
    /// How many cycles each block takes.
    lengths: Vec<i64>,
    /// What is under way at the end of each block that has been scheduled.
    exits: Vec<Vec<Pending>>,
    /// What is used in the blocks that control goes to from each; empty if that does not matter.
    next: Vec<Uses>,
    /// What is used from the start of each block on; empty if that does not matter.
    later: Vec<Uses>,
    /// The scoreboards in use where each block begins: a bit for each.
    entered: Vec<u8>,
    pub waits: Vec<u8>,
    /// How many more producers may be looked at.
    budget: usize,
}

impl<'a> Schedule<'a> {
    /// Finds producers, consumers and times. `None` if that takes too long.
    pub fn new(
        lines: &'a [Line],
        blocks: &'a [Block],
        family: Family,
        hints: &'a Hints,
        skipped: Option<usize>,
        budget: usize,
    ) -> Option<Self> {
        let mut producers = Producers::default();
        for block in blocks {
            producers.add(&lines[block.range.clone()], block.range.start, skipped, family);
        }
        producers.finish();
        producers.read_operands_within(hints.operands);
        let mut consumers = Consumers::new(budget, family);
        for block in blocks {
            consumers.find(lines, block.range.clone(), &mut producers)?;
        }
        let mut schedule = Self {
            lines,
            blocks,
            positions: vec![0; blocks.len()],
            is_head: vec![false; blocks.len()],
            family,
            hints,
            kept: &[],
            producers,
            times: vec![0; lines.len()],
            lengths: vec![0; blocks.len()],
            exits: vec![Vec::new(); blocks.len()],
            next: if family.looks_ahead { next(lines, blocks, family) } else { Vec::new() },
            later: if family.looks_ahead { later(lines, blocks, family) } else { Vec::new() },
            entered: vec![0; blocks.len()],
            waits: vec![0; lines.len()],
            budget,
        };
        let mut times = Times::new(lines, family);
        for (block, length) in blocks.iter().zip(&mut schedule.lengths) {
            *length = times.set(block.range.clone(), &mut schedule.producers, &mut schedule.times);
        }
        Some(schedule)
    }

    /// Chooses scoreboards and waits. `None` if that takes too long.
    pub fn run(&mut self) -> Option<()> {
        let order = order(self.blocks);
        order.iter().enumerate().for_each(|(at, block)| self.positions[*block] = at);
        for (index, block) in self.blocks.iter().enumerate() {
            let is_back = |before: &usize| self.positions[*before] >= self.positions[index];
            self.is_head[index] = block.predecessors.iter().any(is_back);
        }
        let kinds = Kinds::of(self.lines, &self.producers.all, self.family, self.hints);
        for block in &order {
            self.block(*block, kinds)?;
        }
        self.loops(&order)
    }

    fn block(&mut self, index: usize, kinds: Kinds) -> Option<()> {
        let block = &self.blocks[index];
        let entry = self.entry(block)?;
        if self.kept.contains(&block.range.start) {
            self.keep(index, &entry);
            return Some(());
        }
        let own = self.producers.within(block.range.clone());
        let has_reserved = entry.iter().any(|pending| {
            let producer = &self.producers.all[pending.producer];
            kinds.has_slow() && producer.is_slow && producer.number == kinds.reserved()
        });
        let is_reserved = has_reserved || own.iter().any(|producer| kinds.outlives(producer));
        let avoided = block.successors.iter().fold(0, |mask, successor| mask | self.entered[*successor]);
        let mut groups = self.groups(index, &entry);
        for at in block.range.clone() {
            self.wait(at, at == block.last(), &mut groups);
            if let Some(wait) = self.lines[at].bits.counted_wait() {
                self.count(wait, block, kinds, &mut groups);
            }
            for producer in self.producers.of(at) {
                let times = &self.times;
                let last = block.last();
                let is_used_next = self.is_used_next(index, producer, self.producers.all[producer].consumer);
                let length = self.lengths[index];
                let choice = Choice {
                    kinds,
                    hints: self.hints,
                    groups: &groups,
                    times,
                    last,
                    length,
                    avoided,
                    is_reserved,
                    is_used_next,
                };
                let chosen = &self.producers.all[producer];
                let number = choice.number(chosen, self.lines[at].operation());
                self.producers.all[producer].number = number;
                let chosen = &self.producers.all[producer];
                let reserved = &mut groups[usize::from(kinds.reserved())];
                if kinds.outlives(chosen) && self.is_awaited(index, reserved) {
                    self.waits[at] |= 1 << kinds.reserved();
                    *reserved = Group::default();
                }
                let Producer { ready, consumer, .. } = *chosen;
                let pending = Pending { producer, ready, consumer, is_used_next, is_unused: false };
                groups[usize::from(chosen.number)].add(pending, chosen, true);
            }
        }
        self.end(index, groups);
        Some(())
    }

    /// Whether a slow result that outlives the block waits for those that have its scoreboard: in the first block of a loop, for what came in.
    fn is_awaited(&self, index: usize, reserved: &Group) -> bool {
        self.is_head[index] && !reserved.is_empty() && !reserved.has_own
    }

    /// Takes the scoreboards and waits of a block as they are.
    fn keep(&mut self, index: usize, entry: &[Pending]) {
        let block = &self.blocks[index];
        let mut groups = self.groups(index, entry);
        for at in block.range.clone() {
            let line = &self.lines[at];
            let waits = line.bits.wait_mask();
            self.waits[at] = waits;
            for (_, group) in groups.iter_mut().enumerate().filter(|(number, _)| waits >> number & 1 != 0) {
                *group = Group::default();
            }
            for producer in self.producers.of(at) {
                let chosen = &mut self.producers.all[producer];
                let bits = line.bits;
                let number =
                    if chosen.is_about_operands() { bits.read_scoreboard() } else { bits.write_scoreboard() };
                chosen.number = number.unwrap_or(chosen.number);
                let Producer { ready, consumer, .. } = *chosen;
                let pending = Pending { producer, ready, consumer, is_used_next: false, is_unused: false };
                groups[usize::from(chosen.number)].add(pending, chosen, true);
            }
        }
        self.exit(index, groups);
    }

    /// What is under way where a block begins, as far as the blocks before it have been scheduled.
    fn entry(&mut self, block: &Block) -> Option<Vec<Pending>> {
        let mut entry: Vec<Pending> = Vec::new();
        for predecessor in &block.predecessors {
            entry.extend(&self.exits[*predecessor]);
            self.budget = self.budget.checked_sub(self.exits[*predecessor].len())?;
        }
        entry.sort_unstable_by_key(|pending| (pending.producer, -pending.ready));
        entry.dedup_by_key(|pending| pending.producer);
        Some(entry)
    }

    /// Whether a producer without a consumer in a block has one in the next blocks.
    fn is_used_next(&self, index: usize, producer: usize, consumer: Option<usize>) -> bool {
        let next = self.next.get(index).filter(|_| consumer.is_none());
        next.is_some_and(|next| next.has_consumer(&self.producers.all[producer]))
    }

    fn groups(&self, index: usize, entry: &[Pending]) -> [Group; COUNT] {
        let block = &self.blocks[index];
        let mut groups: [Group; COUNT] = Default::default();
        if entry.is_empty() {
            return groups;
        }
        let uses = FirstUses::of(self.lines, block.range.clone(), self.family);
        // A return waits for everything, so that what is set in its block joins what is under way.
        let end = Some(block.last()).filter(|last| self.lines[*last].bits.is_return());
        for pending in entry {
            let producer = &self.producers.all[pending.producer];
            let consumer = uses.consumer(producer).or(end);
            let is_used_next = self.is_used_next(index, pending.producer, consumer);
            let is_unused =
                end.is_none() && self.later.get(index).is_some_and(|later| !later.has_consumer(producer));
            let pending = Pending { consumer, is_used_next, is_unused, ..*pending };
            groups[usize::from(producer.number)].add(pending, producer, false);
        }
        groups
    }

    /// An instruction waits for the scoreboards whose consumer it is. Where threads begin or end to go on as one, it
    /// waits for all.
    fn wait(&mut self, at: usize, is_last: bool, groups: &mut [Group; COUNT]) {
        let line = &self.lines[at];
        let leaves = line.bits.is_call_or_return() || closes(self.lines, at);
        let is_collective = line.begins_collective() || line.ends_collective() || leaves;
        for (number, group) in groups.iter_mut().enumerate() {
            if !group.is_empty() && (is_collective || group.consumer == Some(at)) {
                self.waits[at] |= 1 << number;
                let is_met = self.family.meets_with_uniform && group.consumer == Some(at);
                if is_met || !line.begins_collective() {
                    // What came from another block may be ready later than here: the end of the block still takes that into account.
                    let Group { members, ready, .. } = std::mem::take(group);
                    group.ready = ready;
                    for pending in members.iter().filter(|_| is_last) {
                        let own = &self.lines[self.producers.all[pending.producer].at];
                        if !own.guard.excludes(line.guard) {
                            self.producers.end(pending.producer);
                        }
                    }
                }
            }
        }
    }

    /// After a counted wait, only so many of the group are under way: the last ones.
    fn count(&self, wait: CountedWait, block: &Block, kinds: Kinds, groups: &mut [Group; COUNT]) {
        let Some((number, count)) = wait.counter.filter(|(number, _)| !kinds.is_counted(*number)) else {
            return;
        };
        let Some(group) = groups.get_mut(usize::from(number)) else { return };
        let members = std::mem::take(group).members;
        for pending in &members[members.len().saturating_sub(count.into())..] {
            let producer = &self.producers.all[pending.producer];
            group.add(*pending, producer, block.range.contains(&producer.at));
        }
    }

    /// The last instruction of a block waits for what is over anyway, if some of it is of this block; from 13.1 on, before loops only, and
    /// whichever block it is of. That of a loop with batches does not.
    fn end(&mut self, index: usize, mut groups: [Group; COUNT]) {
        let last = self.last(index);
        let enters_loop = self.enters_loop(index);
        let is_batched = self.hints.is_batched(self.blocks[index].range.start);
        for (number, group) in groups.iter_mut().enumerate() {
            let is_own = |pending: &Pending| {
                let producer = &self.producers.all[pending.producer];
                self.blocks[index].range.contains(&producer.at) && !producer.is_over
            };
            let is_over = !group.has_slow && !group.has_texture && group.ready <= self.times[last];
            let is_uniform = |pending: &Pending| {
                let producer = &self.producers.all[pending.producer];
                producer.is_uniform() && !producer.is_about_operands()
            };
            let is_here = if is_batched {
                false
            } else if self.family.waits_at_ends {
                group.members.iter().any(is_own)
            } else {
                enters_loop && !group.is_empty()
            };
            let is_exit = self.lines[last].operation() == operation::EXIT;
            let reads_uniform = |pending: &Pending| {
                let producer = &self.producers.all[pending.producer];
                producer.is_about_operands() && producer.is_uniform()
            };
            let is_end = is_exit || self.lines[last].operation() == operation::BPT;
            let ends =
                is_end && group.members.iter().any(|pending| is_uniform(pending) || reads_uniform(pending));
            if self.family.waits_at_ends && is_exit && group.has_texture && group.members.iter().any(is_own) {
                // Whoever goes on waits for it again.
                self.waits[last] |= 1 << number;
            } else if is_over && is_here || ends {
                self.waits[last] |= 1 << number;
                if !self.lines[last].begins_collective() {
                    *group = Group::default();
                }
            }
        }
        self.exit(index, groups);
    }

    /// The last instruction of a block that is not the delay of another one.
    fn last(&self, index: usize) -> usize {
        let block = &self.blocks[index];
        let mut places = block.range.clone().rev();
        let last = places.find(|at| *at == block.range.start || !is_filler(self.lines, *at));
        last.unwrap_or(block.last())
    }

    /// Whether a loop that the block is not in begins after it.
    fn enters_loop(&self, index: usize) -> bool {
        let mut successors = self.blocks[index].successors.iter();
        successors.any(|next| self.positions[*next] > self.positions[index] && self.is_head[*next])
    }

    /// Notes what is under way at the end of a block.
    fn exit(&mut self, index: usize, groups: [Group; COUNT]) {
        let length = self.lengths[index];
        let mut used = 0;
        for (number, group) in groups.into_iter().enumerate() {
            used |= u8::from(!group.is_empty()) << number;
            let ready = group.ready.saturating_sub(length);
            let later = |pending: Pending| Pending { ready, consumer: None, ..pending };
            self.exits[index].extend(group.members.into_iter().map(later));
        }
        for successor in &self.blocks[index].successors {
            self.entered[*successor] |= used;
        }
    }

    /// What is under way at the end of a loop has not been seen where the loop begins: adds waits there for what is not
    /// under way on the way into the loop as well.
    fn loops(&mut self, order: &[usize]) -> Option<()> {
        for head in order {
            let block = &self.blocks[*head];
            let is_back = |block: &usize| self.positions[*block] >= self.positions[*head];
            let (back, forward): (Vec<usize>, Vec<usize>) =
                block.predecessors.iter().partition(|b| is_back(b));
            if back.is_empty() || self.kept.contains(&block.range.start) {
                continue;
            }
            let mut pending = |blocks: &[usize]| {
                let count = blocks.iter().map(|block| self.exits[*block].len()).sum();
                self.budget = self.budget.checked_sub(count)?;
                let members = blocks.iter().flat_map(|block| &self.exits[*block]);
                let mut list: Vec<usize> = members.map(|pending| pending.producer).collect();
                list.sort_unstable();
                list.dedup();
                Some(list)
            };
            let (mut again, before) = (pending(&back)?, pending(&forward)?);
            let (stays, new) = again.drain(..).partition(|producer| before.binary_search(producer).is_ok());
            again = new;
            if !self.family.waits_at_ends {
                self.stay(*head, &stays);
            }
            if !again.is_empty() {
                self.head(block, &again, &before);
            }
        }
        Some(())
    }

    /// From 13.1 on the first block of a loop waits at its end for the reading of operands that began before the loop, and that the end of
    /// the loop leaves under way (mercury/loops-after-stores). It stays under way for what comes after.
    fn stay(&mut self, head: usize, stays: &[usize]) {
        let last = self.last(head);
        let range = &self.blocks[head].range;
        for number in 0..SCOREBOARDS {
            let is_of_group = |pending: &&Pending| self.producers.all[pending.producer].number == number;
            let is_older = |pending: &Pending| !range.contains(&self.producers.all[pending.producer].at);
            let is_read_still = |pending: &Pending| {
                self.producers.all[pending.producer].is_about_operands()
                    && stays.binary_search(&pending.producer).is_ok()
            };
            let mut group = self.exits[head].iter().filter(is_of_group);
            if group.clone().any(is_read_still) && group.all(is_older) {
                self.waits[last] |= 1 << number;
            }
        }
    }

    /// Adds waits for `again` to the first block of a loop.
    fn head(&mut self, block: &Block, again: &[usize], before: &[usize]) {
        let uses = FirstUses::of(self.lines, block.range.clone(), self.family);
        let mut active = 0;
        let mut consumers = [None; COUNT];
        for producer in again.iter().map(|producer| &self.producers.all[*producer]) {
            let consumer = &mut consumers[usize::from(producer.number)];
            *consumer = [*consumer, uses.consumer(producer)].into_iter().flatten().min();
            active |= 1 << producer.number;
        }
        for at in block.range.clone() {
            if active == 0 {
                return;
            }
            let sets = &self.producers.all[self.producers.of(at)];
            let mut needed = sets.iter().fold(self.waits[at], |mask, producer| mask | 1 << producer.number);
            let consumed = (0..COUNT).filter(|number| consumers[*number] == Some(at));
            needed = consumed.fold(needed, |mask, number| mask | 1 << number) & active;
            self.waits[at] |= needed;
            active &= !needed;
        }
        self.waits[block.last()] |= active & !self.expected(again, before);
    }

    /// The scoreboards on which what is under way at the end of a loop is nothing new where it begins: what has the same scoreboard
    /// on the way into the loop is about the same registers. Atomics whose results go nowhere are all alike.
    fn expected(&self, again: &[usize], before: &[usize]) -> u8 {
        let mut known = [[None; 2]; COUNT];
        for producer in before.iter().map(|producer| &self.producers.all[*producer]) {
            let of = &mut known[usize::from(producer.number)][usize::from(producer.is_about_operands())];
            let registers: &mut Registers = of.get_or_insert_default();
            registers.insert_from(&producer.registers);
        }
        let mut expected = ALL;
        for producer in again.iter().map(|producer| &self.producers.all[*producer]) {
            let of = known[usize::from(producer.number)][usize::from(producer.is_about_operands())];
            if !of.is_some_and(|registers| registers.contains_all(&producer.registers)) {
                expected &= !(1 << producer.number);
            }
        }
        let is_alike = |producer: &&Producer| producer.is_slow && producer.registers.is_empty();
        let alike = before.iter().map(|producer| &self.producers.all[*producer]).filter(is_alike);
        alike.fold(expected, |mask, producer| mask | 1 << producer.number)
    }

    /// When an instruction is issued, in cycles from the start of its block.
    pub fn time(&self, at: usize) -> i64 {
        self.times[at]
    }

    /// Waits for everything are kept where they were: they have other reasons. Assemblers before 13.0 also have some by chance, where
    /// nothing reads a clock or forgets what is in a cache (older/blackwell-waits-anew).
    pub fn keep_full_waits(&mut self, is_of_older: bool) {
        for (wait, line) in self.waits.iter_mut().zip(self.lines) {
            let reads_clock = line.operation() == operation::CS2R && !reads_cluster_size(line.bits);
            let has_reason = reads_clock || line.invalidates_all();
            if line.bits.wait_mask() == ALL && (!is_of_older || has_reason) {
                *wait = ALL;
            }
        }
    }
}

/// Whether the code is over after an instruction: a trap before the branch to itself that every function ends with
/// (older/blackwell-traps).
fn closes(lines: &[Line], at: usize) -> bool {
    let is_end = |next: &Line| Flow::of(at + 1, next.bits) == Flow::Jump(at as i64 + 1);
    lines[at].operation() == operation::BPT && lines.get(at + 1).is_some_and(is_end)
}

/// What is used in the blocks that control goes to from each block.
fn next(lines: &[Line], blocks: &[Block], family: Family) -> Vec<Uses> {
    let of = |block: &Block| {
        let mut uses = Uses::default();
        for next in block.successors.iter().map(|next| &blocks[*next]) {
            uses.add(&lines[next.range.clone()], family);
            if lines[next.range.start].begins_collective() {
                next.successors.iter().for_each(|next| uses.add(&lines[blocks[*next].range.clone()], family));
            }
        }
        uses
    };
    blocks.iter().map(of).collect()
}

/// What is used in each block and in all that control may go to after it.
fn later(lines: &[Line], blocks: &[Block], family: Family) -> Vec<Uses> {
    let of = |block: &Block| {
        let mut uses = Uses::default();
        uses.add(&lines[block.range.clone()], family);
        uses
    };
    let mut all: Vec<Uses> = blocks.iter().map(of).collect();
    let mut is_more = true;
    while is_more {
        is_more = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            for next in block.successors.iter().filter(|next| **next != index) {
                let uses = all[*next].clone();
                is_more |= all[index].join(&uses);
            }
        }
    }
    all
}
