//! Tables with a row for each series, as the M4 competition has them (Makridakis, Spiliotis and Assimakopoulos 2020): the
//! columns are `V1`, `V2`, …, the first field of a row is the id of its series, and rows end where their series ends.

use super::{Read, ReadOptions, ReadReport, report_of};
use crate::error::shown;
use crate::series::{Clock, Panel, Series, Unit};
use crate::table::{Beginning, Column, Header, Precision, Rows, Spread};
use crate::{Error, Result};

/// If true, a table has a row for each series.
pub(super) fn looks_like(header: &Header<'_>, beginning: &Beginning) -> bool {
    let counted = (1..).zip(&header.names).all(|(at, name)| *name == format!("V{at}"));
    header.len() > 1 && counted && beginning.is_text(0)
}

/// Reads the rows below a header.
pub(super) fn read(mut rows: Rows<'_>, header: &Header<'_>, options: &ReadOptions) -> Result<Read> {
    let without = [
        ("covariates", !options.covariates.is_empty()),
        ("static features", !options.statics.is_empty()),
        ("labels", options.label.is_some()),
        ("dates", options.date.is_some() || options.date_pattern.is_some()),
    ];
    if let Some((what, _)) = without.iter().find(|(_, asked)| *asked) {
        let reason = format!("names the columns `V1`, `V2`, …: each row is a series, and there are no {what}");
        return Err(header.error(reason).with_hint("give the table a header of its own, with a column of dates"));
    }
    let mut series = Vec::new();
    let (mut count, mut precision) = (0, Precision::new(Spread::Changes));
    while let Some(row) = rows.next()? {
        let name = row.text(0);
        if name.is_empty() {
            return Err(row.error("V1", "is empty, expected the id of a series"));
        }
        if row.len() > header.len() {
            row.check_fields(header.len(), "the header has")?;
        }
        let len = (1..row.len()).rev().find(|at| !row.text(*at).is_empty()).unwrap_or(0);
        let column = |at: usize| Column::new(at, &header.names[at]);
        let mut single = |at| Ok(precision.single(count, row.exact_or_nan(&column(at))?));
        let values: Vec<f32> = (1..=len).map(&mut single).collect::<Result<_>>()?;
        if values.iter().all(|value| value.is_nan()) {
            return Err(row.error("V2", format!("series `{}` has no value, expected at least one", shown(name))));
        }
        series.push(Series::new(name, 0, values));
        count += 1;
    }
    if series.is_empty() {
        return Err(Error::parse(rows.path, 0, "has no rows below its header, expected at least one"));
    }
    let lost = precision.note("series", |at| Some(series[at].name()));
    let (season, how) = season(&series, options);
    let panel = Panel::new(Clock::steps().with_season(season), series)?;
    let panel = match &options.columns {
        Some(names) => panel.select(names)?,
        None => panel,
    };
    let note = format!(
        "one row for each series, named in its first field, as the M4 competition has them: steps without dates, season \
         of {season} {how}; `--season` (`data.season_length`) and `--frequency` (`data.frequency`) give another"
    );
    let notes = std::iter::once(note).chain(lost).collect();
    let report = ReadReport { rows: count, season, notes, ..report_of(&panel, None)? };
    Ok(Read { panel, report })
}

/// The length of a season: that of the frequency that is given, or the one that the competition measures series with whose
/// ids begin as these do.
fn season(series: &[Series], options: &ReadOptions) -> (usize, String) {
    if let Some(frequency) = options.frequency.filter(|frequency| frequency.unit() != Unit::Step) {
        return (frequency.season(), format!("of a {frequency}"));
    }
    let kind = |name: &str| {
        let (letter, number) = name.split_at_checked(1)?;
        number.parse::<u32>().ok()?;
        letter.chars().next()
    };
    let first = kind(series[0].name());
    let season = match first.filter(|_| series.iter().all(|one| kind(one.name()) == first)) {
        Some('Q') => 4,
        Some('M') => 12,
        Some('H') => 24,
        Some('Y' | 'W' | 'D') => 1,
        _ => return (1, "step".to_owned()),
    };
    (season, format!("as ids such as `{}` have", shown(series[0].name())))
}
