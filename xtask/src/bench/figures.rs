//! What runs took, and what follows from it.

use super::workloads::Workload;
use std::time::Duration;

/// The figures of one workload in one size.
pub struct Row {
    pub workload: &'static Workload,
    pub size: usize,
    /// `None` where solder ran alone.
    pub nvlink: Option<Figures>,
    pub solder: Figures,
    /// `cat` of the inputs into a file.
    pub copy: Figures,
    /// Of the largest size: the exponent of the growth of solder's processor time from the next smaller size.
    pub growth: Option<f64>,
    pub differences: Vec<String>,
}

/// What the runs of one program took.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// In seconds, ascending.
    pub walls: Vec<f64>,
    /// Time of all processors, in seconds, ascending.
    pub processor: Vec<f64>,
    /// Largest peak memory in KiB.
    pub peak: u64,
}

impl Figures {
    pub fn add(&mut self, wall: Duration, processor: Duration, peak: u64) {
        for (list, value) in [(&mut self.walls, wall), (&mut self.processor, processor)] {
            let value = value.as_secs_f64();
            list.insert(list.partition_point(|other| *other < value), value);
        }
        self.peak = self.peak.max(peak);
    }

    pub fn median(&self) -> f64 {
        median(&self.walls)
    }

    pub fn processor(&self) -> f64 {
        median(&self.processor)
    }
}

/// How time grows from one size to another: 1 is linear.
pub fn exponent((small, short): (usize, f64), (large, long): (usize, f64)) -> f64 {
    (long / short).ln() / (large as f64 / small as f64).ln()
}

fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    match ascending.len() {
        0 => f64::NAN,
        count if count.is_multiple_of(2) => f64::midpoint(ascending[middle - 1], ascending[middle]),
        _ => ascending[middle],
    }
}

impl Row {
    /// How many times faster solder is.
    pub fn ratio(&self) -> Option<f64> {
        self.nvlink.as_ref().map(|nvlink| nvlink.median() / self.solder.median())
    }

    pub fn goal(&self) -> Option<f64> {
        self.workload.goals.iter().find(|(size, _)| *size == self.size).map(|(_, goal)| *goal)
    }
}
