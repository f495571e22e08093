//! Several processes that train one network: who they are, and how they add numbers.
//!
//! A batch is cut into a fixed number of shards (`train.shards`), whatever the number of ranks, and every rank takes the
//! same number of neighbouring shards. Numbers of shards are added by one binary tree over the shards: the parts of it
//! that lie inside a rank are added there, the others by messages between two ranks. The order of the additions therefore
//! does not depend on the number of ranks, nor on what carries the messages ([`Transport`]; MPI in the program), of which
//! only sending and receiving is used.
//!
//! The ranks of a training are those of its thread ([`Ranks::enter`]), as a recording or a cancellation is. A thread
//! without ranks is alone, and nothing is sent.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// Shards of a batch where several ranks train and no number is given.
const DEFAULT_SHARDS: usize = 8;

/// Messages between the ranks of a training.
///
/// A rank that cannot be reached ends the process: there is nothing to go on with.
pub trait Transport {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;
    /// Number of ranks.
    fn size(&self) -> usize;
    /// The machine of this rank.
    fn machine(&self) -> String;
    /// Sends a message to rank `to`; messages to one rank arrive in their order.
    fn send(&self, to: usize, message: &[u8]);
    /// The next message of rank `from`. `patience` is the factor of the time limit after which that rank is reported
    /// as silent: ranks that wait for others that wait themselves have more of it, so that the silent one is named.
    fn receive(&self, from: usize, patience: f64) -> Vec<u8>;
    /// The time that this rank has spent on messages so far, other ranks' work that it waited for included.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
    /// Ends all ranks with an exit code.
    fn abort(&self, code: u8);
}

/// A digest of data, from how it is written for debugging: every number of it to the last bit.
pub(crate) fn digest(data: &impl Debug) -> String {
    /// Text that is hashed while it is written.
    struct Hashed(Sha256);
    impl fmt::Write for Hashed {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(Sha256::new());
    // Writing into a hash does not fail.
    let _ = fmt::write(&mut hashed, format_args!("{data:?}"));
    hashed.0.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of the running program, and its version.
pub(crate) fn program() -> String {
    let program = std::env::current_exe().and_then(std::fs::read).map(|bytes| Sha256::digest(&bytes));
    let digest = program.map(|hash| hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>());
    format!("{} {}", env!("CARGO_PKG_VERSION"), digest.unwrap_or_default())
}

/// If true, a launcher of MPI programs (`mpirun`, `srun`) started this process.
pub fn launched() -> bool {
    ["OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"].iter().any(|name| std::env::var_os(name).is_some())
}

/// The ranks that train one network together; one alone by default.
#[derive(Clone, Default)]
pub struct Ranks(Option<Rc<dyn Transport>>);

thread_local! {
    static CURRENT: RefCell<Ranks> = RefCell::default();
}

/// Patience is greater by this share of the time limit with each rank in between.
const PATIENCE_STEP: f64 = 0.1;

impl Ranks {
    /// The ranks that a transport connects.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self(Some(Rc::new(transport)))
    }

    /// The ranks of this thread.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Calls `run` with these ranks as those of the thread.
    pub fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        /// Puts the ranks back, after a panic too.
        struct Before(Ranks);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(std::mem::take(&mut self.0));
            }
        }
        let _before = Before(CURRENT.replace(self.clone()));
        run()
    }

    /// Calls `run` without other ranks: what one rank does, the others need not wait for.
    pub(crate) fn alone<R>(run: impl FnOnce() -> R) -> R {
        Self::default().enter(run)
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |transport| transport.rank())
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.0.as_ref().map_or(1, |transport| transport.size())
    }

    /// The time that this rank has spent on messages so far, as of [`Transport::waited`].
    pub fn waited(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |transport| transport.waited())
    }

    /// If true, this rank is the one that writes.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// If true, there are other ranks.
    pub fn are_several(&self) -> bool {
        self.size() > 1
    }

    /// Ends all ranks with an exit code; does nothing for one alone.
    pub fn abort(&self, code: u8) {
        if let Some(transport) = &self.0 {
            transport.abort(code);
        }
    }

    /// The number of shards where `given` is that of the settings, in which 0 leaves it open.
    pub(crate) fn shards_of(&self, given: usize) -> usize {
        match given {
            // One rank under `mpirun` agrees with several.
            0 if self.0.is_some() => DEFAULT_SHARDS,
            0 => 1,
            given => given,
        }
    }

    /// Splits `count` shards among the ranks.
    ///
    /// # Errors
    /// [`Error::Config`] if the number of ranks does not divide the number of shards.
    pub(crate) fn shards(&self, count: usize) -> Result<Shards> {
        let (rank, size, count) = (self.rank(), self.size(), count.max(1));
        if !count.is_multiple_of(size) {
            let divisors = (1..=count).filter(|ranks| count.is_multiple_of(*ranks)).map(|ranks| ranks.to_string());
            let divisors = divisors.collect::<Vec<_>>().join(", ");
            let reason = format!("is {count}, but there are {size} ranks; expected a multiple of {size}");
            return Err(Error::config("train.shards", reason).with_hint(format!(
                "start a number of ranks that divides {count} ({divisors}), or begin a run with `--set train.shards={}`",
                count.next_multiple_of(size)
            )));
        }
        let each = count / size;
        Ok(Shards { count, mine: rank * each..(rank + 1) * each, ranks: self.clone() })
    }

    /// The message of rank 0 on all ranks; `message` is called on rank 0 alone.
    pub(crate) fn broadcast(&self, message: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let Some(transport) = &self.0 else { return message() };
        let (rank, size) = (transport.rank(), transport.size());
        // A binomial tree: rank r gets the message from r without its lowest bit, and hands it on to r with lower bits.
        let message = match rank {
            0 => message(),
            _ => transport.receive(rank & (rank - 1), 2.0 + PATIENCE_STEP * f64::from(rank.count_ones())),
        };
        let lowest = if rank == 0 { size.next_power_of_two() } else { rank & rank.wrapping_neg() };
        let mut bit = lowest >> 1;
        while bit > 0 {
            if rank + bit < size {
                transport.send(rank + bit, &message);
            }
            bit >>= 1;
        }
        message
    }

    /// The messages of all ranks on all ranks, in their order.
    pub(crate) fn all_gather(&self, message: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(transport) = &self.0 else { return vec![message] };
        let all = self.broadcast_answer(message, |mine, theirs| {
            let lengths = std::iter::once(&mine).chain(&theirs).map(|one| (one.len() as u64).to_le_bytes());
            let lengths: Vec<u8> = lengths.flatten().collect();
            [lengths, mine, theirs.concat()].concat()
        });
        let (lengths, mut rest) = all.split_at(8 * transport.size());
        let length = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)) as usize;
        let lengths = lengths.chunks_exact(8).map(length);
        lengths
            .map(|length| {
                let (one, others) = rest.split_at(length);
                rest = others;
                one.to_vec()
            })
            .collect()
    }

    /// Hands the messages of all ranks to rank 0, which answers all: its own, and those of the others in their order.
    fn broadcast_answer(&self, message: Vec<u8>, answer: impl FnOnce(Vec<u8>, Vec<Vec<u8>>) -> Vec<u8>) -> Vec<u8> {
        let Some(transport) = &self.0 else { return answer(message, vec![]) };
        match transport.rank() {
            0 => {
                let theirs = (1..transport.size()).map(|rank| transport.receive(rank, 1.0)).collect();
                self.broadcast(|| answer(message, theirs))
            }
            _ => {
                transport.send(0, &message);
                self.broadcast(Vec::new)
            }
        }
    }

    /// The decision of rank 0, which knows whether `flag` is true on any rank; on all ranks.
    pub(crate) fn decision(&self, flag: bool, decide: impl FnOnce(bool) -> Vec<u8>) -> Vec<u8> {
        self.broadcast_answer(vec![u8::from(flag)], |mine, theirs| {
            decide(std::iter::once(mine).chain(theirs).any(|flag| flag == [1]))
        })
    }

    /// Numbers of `length` things, in their order: each rank computes those of its shards, and all ranks get all numbers.
    /// Kernels add in another order in another batch, so the things that go through a network together must not depend on
    /// the number of ranks. `given` is the number of shards of the settings.
    ///
    /// # Errors
    /// [`Error::Config`] if the number of ranks does not divide the number of shards; those of `compute` on this rank.
    pub(crate) fn spread(
        &self,
        given: usize,
        length: usize,
        compute: impl Fn(Range<usize>) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let ranges = self.shards(self.shards_of(given))?.mine().map(|shard| shard.range(length));
        let mut mine = vec![];
        for range in ranges.filter(|range| !range.is_empty()) {
            mine.extend(compute(range)?);
        }
        Ok(self.joined(mine))
    }

    /// Calls `visit` on all ranks with the results of `count` things, in their order; each is computed by one rank.
    pub(crate) fn each<T: Serialize + DeserializeOwned>(
        &self,
        count: usize,
        compute: impl Fn(usize) -> T,
        mut visit: impl FnMut(usize, T),
    ) {
        if !self.are_several() {
            return (0..count).for_each(|at| visit(at, compute(at)));
        }
        let mine = (self.rank()..count).step_by(self.size()).map(compute).collect();
        self.dealt(mine).into_iter().enumerate().for_each(|(at, one)| visit(at, one));
    }

    /// Results of things that are dealt out one by one, the first to rank 0, in their order on all ranks; `mine` are those
    /// of this rank.
    pub(crate) fn dealt<T: Serialize + DeserializeOwned>(&self, mine: Vec<T>) -> Vec<T> {
        if !self.are_several() {
            return mine;
        }
        let ours = |error: postcard::Error| -> ! { unreachable!("ranks read what they have written: {error}") };
        let all = self.all_gather(postcard::to_allocvec(&mine).unwrap_or_else(|error| ours(error)));
        let read = |bytes: &Vec<u8>| postcard::from_bytes::<Vec<T>>(bytes).unwrap_or_else(|error| ours(error));
        let mut all: Vec<_> = all.iter().map(|bytes| read(bytes).into_iter()).collect();
        let mut results = vec![];
        // Each round takes one result of every rank, the last one of some.
        loop {
            let before = results.len();
            results.extend(all.iter_mut().filter_map(Iterator::next));
            if results.len() == before {
                return results;
            }
        }
    }

    /// The numbers of all ranks, in the order of the ranks.
    fn joined(&self, mine: Vec<f64>) -> Vec<f64> {
        match self.are_several() {
            true => self.all_gather(bytes_of(&mine)).iter().flat_map(|bytes| numbers_of::<f64>(bytes)).collect(),
            false => mine,
        }
    }

    /// Checks that all ranks have the same facts: names with values.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on all ranks with the first rank that differs from rank 0, and the fact; of a value of
    /// several lines, the first line that differs.
    pub(crate) fn check_same(&self, facts: &[(&str, String)]) -> Result<()> {
        let Some(transport) = &self.0 else { return Ok(()) };
        let mine: Vec<String> =
            std::iter::once(transport.machine()).chain(facts.iter().map(|(_, value)| value.clone())).collect();
        let bytes = serde_json::to_vec(&mine).map_err(|error| Error::state("ranks", error))?;
        let all = self.all_gather(bytes);
        let all = all.iter().map(|bytes| serde_json::from_slice::<Vec<String>>(bytes));
        let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| Error::state("ranks", error))?;
        for (rank, theirs) in all.iter().enumerate().skip(1) {
            let mut values = facts.iter().zip(all[0].iter().zip(theirs).skip(1));
            if let Some(((name, _), (first, other))) = values.find(|(_, (first, other))| first != other) {
                let differing = || first.lines().zip(other.lines()).find(|(first, other)| first != other);
                let (first, other) = differing().unwrap_or((first, other));
                let what = format!("rank {rank} ({})", theirs[0]);
                let reason = format!("has the {name} `{other}`, but rank 0 ({}) has `{first}`", all[0][0]);
                return Err(Error::Unsupported { what, reason }
                    .with_hint("all ranks need the same program, settings, data and number of threads"));
            }
        }
        Ok(())
    }
}

/// The shards of a batch, and those of this rank.
#[derive(Clone)]
pub(crate) struct Shards {
    count: usize,
    mine: Range<usize>,
    ranks: Ranks,
}

impl Shards {
    /// If true, a batch is computed as one piece.
    pub(crate) fn is_one(&self) -> bool {
        self.count == 1
    }

    /// The shards of this rank.
    pub(crate) fn mine(&self) -> impl Iterator<Item = Shard> + use<> {
        let count = self.count;
        self.mine.clone().map(move |index| Shard { index, count })
    }

    /// The sum of the numbers of all shards, from those of each shard of this rank; the same bits on all ranks, and for
    /// any number of ranks.
    pub(crate) fn sum<T: Number>(&self, mine: Vec<Vec<T>>) -> Vec<T> {
        debug_assert_eq!(mine.len(), self.mine.len());
        let mut leaves: Vec<Option<Vec<T>>> = mine.into_iter().map(Some).collect();
        let sum = self.node(0..self.count, &mut leaves);
        match &self.ranks.0 {
            None => sum.unwrap_or_default(),
            Some(_) => {
                let bytes = self.ranks.broadcast(|| bytes_of(&sum.unwrap_or_default()));
                numbers_of(&bytes).collect()
            }
        }
    }

    /// The sum of the shards of a node of the tree, on the rank of its first shard; `None` on all others.
    fn node<T: Number>(&self, shards: Range<usize>, leaves: &mut [Option<Vec<T>>]) -> Option<Vec<T>> {
        if shards.end <= self.mine.start || self.mine.end <= shards.start {
            return None;
        }
        let length = shards.len();
        if length == 1 {
            return leaves[shards.start - self.mine.start].take();
        }
        let middle = shards.start + length.next_power_of_two() / 2;
        let first = self.node(shards.start..middle, leaves);
        let second = self.node(middle..shards.end, leaves);
        let (to, from) = (self.rank_of(shards.start), self.rank_of(middle));
        let Some(transport) = self.ranks.0.as_ref().filter(|_| to != from) else { return added(first?, &second?) };
        let rank = transport.rank();
        if rank == from {
            transport.send(to, &bytes_of(&second?));
        } else if rank == to {
            // The other rank may wait for ranks of its own.
            let ranks = self.rank_of(shards.end - 1) - from + 1;
            let patience = 1.0 + PATIENCE_STEP * f64::from(ranks.ilog2());
            let second: Vec<T> = numbers_of(&transport.receive(from, patience)).collect();
            return added(first?, &second);
        }
        None
    }

    fn rank_of(&self, shard: usize) -> usize {
        shard / self.mine.len()
    }
}

fn added<T: Number>(mut first: Vec<T>, second: &[T]) -> Option<Vec<T>> {
    debug_assert_eq!(first.len(), second.len());
    first.iter_mut().zip(second).for_each(|(first, &second)| *first += second);
    Some(first)
}

/// One of the shards of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// A batch as one piece.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// The places of this shard among the `length` places of a batch; none if the batch has fewer places than shards.
    pub fn range(self, length: usize) -> Range<usize> {
        self.index * length / self.count..(self.index + 1) * length / self.count
    }

    /// The seed of this shard, where `seed` is that of the batch.
    pub(crate) fn seed(self, seed: u64) -> u64 {
        match self.count {
            1 => seed,
            _ => super::derived(seed, super::Stream::Shard, self.index as u64),
        }
    }
}

/// A number that ranks add and send.
pub(crate) trait Number: Copy + std::ops::AddAssign {
    const BYTES: usize;
    fn write(self, bytes: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

impl Number for f32 {
    const BYTES: usize = 4;

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(f32::NAN, Self::from_le_bytes)
    }
}

impl Number for f64 {
    const BYTES: usize = 8;

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(f64::NAN, Self::from_le_bytes)
    }
}

fn bytes_of<T: Number>(numbers: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * T::BYTES);
    numbers.iter().for_each(|number| number.write(&mut bytes));
    bytes
}

fn numbers_of<T: Number>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(T::BYTES).map(T::read)
}
