//! `regard explain`.

use std::path::Path;

use regard::Device;
use regard::explain::{self, AttentionInput};

use super::Outcome;
use crate::args::AttentionArgs;
use crate::failure::Failure;
use crate::report::{self, Printer};

/// Largest input file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Shows every intermediate of one attention layer.
pub(super) fn attention(args: &AttentionArgs, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let input = match &args.input {
        Some(path) => AttentionInput::parse(&read(path)?, path)?,
        None => AttentionInput::hand_worked(),
    };
    let trace = explain::attention(&input, device)?;
    if printer.json() {
        printer.object(&trace)?;
    } else {
        printer.result(&report::explain::attention(&trace))?;
    }
    Ok(Outcome::Done)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path).map_err(|source| regard::Error::io(path, source))?.len();
    if size > MOST_BYTES {
        return Err(
            Failure::new(format!("{}: is {size} bytes long; at most {MOST_BYTES} are read", path.display())).into()
        );
    }
    Ok(regard::data::file::read_text(path)?)
}
