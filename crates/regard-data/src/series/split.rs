//! The split of a panel into steps to train on, to validate with and to test on.

use std::ops::Range;

use super::Panel;
use crate::error::shown;
use crate::{Error, Result};

/// The ends of the parts of a panel.
#[derive(Debug, Clone, PartialEq)]
pub enum Split {
    /// The borders of the ETT files with hourly rows (Zhou et al., "Informer", 2021): 12, 4 and 4 months of 30
    /// days, 8640, 2880 and 2880 rows. Later rows are left out.
    EttHourly,
    /// The same borders for rows of 15 minutes: four times as many rows.
    EttMinutes,
    /// Shares of each series for training and, at its end, for testing, cut to whole rows as `int()` cuts them;
    /// validation has what lies between.
    Fractions {
        /// At the start.
        training: f64,
        /// At the end.
        test: f64,
    },
    /// These numbers of steps at the end of each series, training before them.
    Last {
        /// Before the test.
        validation: usize,
        /// At the end.
        test: usize,
    },
    /// Stamps with which parts begin; everything before them is training.
    Dates {
        /// The first stamp of validation.
        validation: String,
        /// The first stamp of the test.
        test: String,
    },
}

/// A part of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The steps to learn from.
    Training,
    /// The steps to choose by.
    Validation,
    /// The steps to test on once.
    Test,
}

/// The targets of each part of one series, as places in its values. Inputs of validation and test may lie in
/// the part before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The steps to learn from.
    pub training: Range<usize>,
    /// The steps to choose by.
    pub validation: Range<usize>,
    /// The steps to test on once.
    pub test: Range<usize>,
}

impl Parts {
    /// The targets of a part.
    #[must_use]
    pub fn of(&self, part: Part) -> Range<usize> {
        match part {
            Part::Training => self.training.clone(),
            Part::Validation => self.validation.clone(),
            Part::Test => self.test.clone(),
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::Test => "test",
        })
    }
}

impl Split {
    /// 70 % for training, 20 % for testing: the split of the sets that have no borders of their own.
    pub const USUAL: Self = Self::Fractions { training: 0.7, test: 0.2 };

    /// The parts of each series.
    ///
    /// # Errors
    /// [`Error::Invalid`] when a panel is shorter than the borders, fractions are no shares of 1, stamps
    /// cannot be read or the test begins before validation.
    ///
    /// ```
    /// use regard_data::series::{Clock, Panel, Series, Split};
    ///
    /// let panel = Panel::new(Clock::steps(), vec![Series::new("a", 0, vec![0.0; 966])])?;
    /// let parts = &Split::USUAL.parts(&panel)?[0];
    /// assert_eq!((parts.training.clone(), parts.validation.clone(), parts.test.clone()), (0..676, 676..773, 773..966));
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn parts(&self, panel: &Panel) -> Result<Vec<Parts>> {
        let cut: Box<dyn Fn(usize, usize) -> Result<[usize; 3]>> = match self {
            Self::EttHourly => Box::new(|start, len| ett(start, len, 1)),
            Self::EttMinutes => Box::new(|start, len| ett(start, len, 4)),
            Self::Fractions { training, test } => {
                let shares = [*training, *test];
                if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || training + test > 1.0 + 1e-9 {
                    let reason = format!("are {training} and {test}, expected shares that sum to at most 1");
                    return Err(Error::invalid("fractions of training and test", reason));
                }
                Box::new(move |_, len| {
                    let [training, test] = shares.map(|share| (len as f64 * share) as usize);
                    Ok([training, len - test.min(len - training), len])
                })
            }
            Self::Last { validation, test } => Box::new(|_, len| {
                let before = len.saturating_sub(*test);
                Ok([before.saturating_sub(*validation), before, len])
            }),
            Self::Dates { validation, test } => {
                let borders = [panel.clock().step(validation)?, panel.clock().step(test)?];
                if borders[0] > borders[1] {
                    let reason = format!("is `{}`, before validation at `{}`", shown(test), shown(validation));
                    return Err(Error::invalid("the start of the test", reason));
                }
                Box::new(move |start, len| {
                    let [a, b] = borders.map(|border| border.saturating_sub(start).min(len));
                    Ok([a, b, len])
                })
            }
        };
        let parts = |one: &super::Series| {
            let [a, b, end] = cut(one.start(), one.len())?;
            Ok(Parts { training: 0..a, validation: a..b, test: b..end })
        };
        panel.series().iter().map(parts).collect()
    }
}

/// The borders of the ETT files, in places of a series that starts at this step.
fn ett(start: usize, len: usize, rows_an_hour: usize) -> Result<[usize; 3]> {
    const MONTH: usize = 30 * 24;
    let borders = [12, 16, 20].map(|months| months * MONTH * rows_an_hour);
    if start > 0 || len < borders[2] {
        let reason =
            format!("has rows {} to {}, expected at least {} from the start", start + 1, start + len, borders[2]);
        return Err(Error::invalid("a split at the borders of ETT", reason));
    }
    Ok(borders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Clock, Series};

    fn panel(lengths: &[(usize, usize)]) -> Panel {
        let series = lengths.iter().enumerate();
        let series = series.map(|(at, (start, len))| Series::new(at.to_string(), *start, vec![0.0; *len])).collect();
        Panel::new(Clock::new("2020-01-01", "day".parse().unwrap()).unwrap(), series).unwrap()
    }

    fn cut(split: &Split, lengths: &[(usize, usize)]) -> Vec<[usize; 3]> {
        let all = split.parts(&panel(lengths)).unwrap();
        all.iter().map(|parts| [parts.training.end, parts.validation.end, parts.test.end]).collect()
    }

    #[test]
    fn borders_are_those_of_the_originals() {
        assert_eq!(cut(&Split::EttHourly, &[(0, 17420)]), [[8640, 11520, 14400]]);
        assert_eq!(cut(&Split::EttMinutes, &[(0, 69680)]), [[34560, 46080, 57600]]);
        // int(n * 0.7), and test rows int(n * 0.2) at the end.
        assert_eq!(cut(&Split::USUAL, &[(0, 52696), (5, 7)]), [[36887, 42157, 52696], [4, 6, 7]]);
    }

    #[test]
    fn dates_hold_for_all_series_and_last_steps_for_each() {
        let dates = Split::Dates { validation: "2020-01-05".into(), test: "2020-01-07".into() };
        assert_eq!(cut(&dates, &[(0, 10), (2, 3), (8, 2)]), [[4, 6, 10], [2, 3, 3], [0, 0, 2]]);
        assert_eq!(
            cut(&Split::Last { validation: 2, test: 3 }, &[(0, 10), (2, 4), (0, 1)]),
            [[5, 7, 10], [0, 1, 4], [0, 0, 1]]
        );
    }

    #[test]
    fn parts_that_cannot_be_are_refused() {
        let said = |split: Split| split.parts(&panel(&[(0, 100)])).unwrap_err().to_string();
        assert_eq!(
            said(Split::EttHourly),
            "a split at the borders of ETT: has rows 1 to 100, expected at least 14400 from the start"
        );
        assert_eq!(
            said(Split::Fractions { training: 0.9, test: 0.2 }),
            "fractions of training and test: are 0.9 and 0.2, expected shares that sum to at most 1"
        );
        assert!(said(Split::Fractions { training: f64::NAN, test: 0.2 }).contains("NaN"));
        assert!(said(Split::Dates { validation: "soon".into(), test: "2020".into() }).contains("is not a time stamp"));
        let swapped = Split::Dates { validation: "2020-02-01".into(), test: "2020-01-01".into() };
        assert_eq!(said(swapped), "the start of the test: is `2020-01-01`, before validation at `2020-02-01`");
    }
}
