//! Model and decoding options of `solve` and `eval`.

use std::path::PathBuf;

use clap::Args;
use regard::routes::decode::Decode;

use crate::failure::Failure;

/// Model and decoding.
#[derive(Debug, Args)]
pub(crate) struct NetworkArgs {
    /// Model folder, or name of a built-in model [default: $REGARD_MODEL, else the built-in model for the
    /// problem]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Decoding method: greedy, sample:K, multistart, multistart:K or beam:K
    #[arg(long, value_name = "METHOD", value_parser = decode)]
    pub(crate) decode: Option<Decode>,
    /// Number of views of each instance: 1, or 8 for its reflections and rotations
    #[arg(long, value_name = "1|8", value_parser = views)]
    pub(crate) augment: Option<usize>,
    /// Softmax temperature of sample:K; below 1 prefers probable nodes, above 1 explores
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = temperature)]
    pub(crate) temperature: f32,
    /// Probability mass for nucleus sampling with sample:K: it samples from the most probable nodes
    /// that together reach this mass
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = share)]
    pub(crate) top_p: f32,
}

impl NetworkArgs {
    /// Refuses options of sampling where nothing is sampled.
    ///
    /// # Errors
    /// [`Failure`] with the option.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let given = [("--temperature", self.temperature != 1.0), ("--top-p", self.top_p != 1.0)];
        match (self.decode, given.iter().find(|(_, given)| *given)) {
            (Some(Decode::Sample(_)), _) | (_, None) => Ok(()),
            (_, Some((flag, _))) => Err(Failure::new(format!("{flag} applies only to sampling"))
                .hint("add --decode sample:K, for example --decode sample:128")
                .into()),
        }
    }
}

/// Largest K of `sample:K`, `multistart:K` and `beam:K`.
const MOST: usize = 1_000_000;

fn decode(text: &str) -> Result<Decode, String> {
    let decode = text.parse::<Decode>().map_err(|error| error.to_string())?;
    match decode {
        Decode::Sample(k) | Decode::MultiStart(Some(k)) | Decode::Beam(k) if k > MOST => {
            Err(format!("{k} is more than {MOST}"))
        }
        decode => Ok(decode),
    }
}

fn views(text: &str) -> Result<usize, String> {
    match text {
        "1" => Ok(1),
        "8" => Ok(8),
        _ => Err("expected 1 or 8".to_owned()),
    }
}

fn temperature(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

fn share(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|number| *number > 0.0 && *number <= 1.0);
    number.ok_or_else(|| "expected a number above 0, at most 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_strings_are_read() {
        for good in ["greedy", "sample:1280", "multistart", "multistart:8", "beam:5"] {
            assert!(decode(good).is_ok(), "{good}");
        }
        for bad in ["", "gready", "sample", "sample:0", "beam:x", "beam:-1", "sample:1000001"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sampling_is_bounded() {
        assert_eq!((temperature("0.5"), share("1")), (Ok(0.5), Ok(1.0)));
        for bad in ["0", "-1", "inf", "NaN", "x"] {
            assert!(temperature(bad).is_err() && share(bad).is_err(), "{bad}");
        }
        assert!(share("1.1").is_err());
    }

    #[test]
    fn one_or_eight_views() {
        assert_eq!(views("8"), Ok(8));
        assert!(views("2").is_err());
    }
}
