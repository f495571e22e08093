//! The decimal mark of the numbers in tables.

use regard_data::table::numbers::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The decimal mark of the numbers in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecimalMark {
    /// The mark that the numbers of a column show.
    #[default]
    Auto,
    /// A point; commas may stand between thousands.
    Point,
    /// A comma; points may stand between thousands.
    Comma,
}

impl DecimalMark {
    /// If true, the numbers of a file show the mark.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }

    /// The mark, where it is given.
    #[must_use]
    pub fn mark(self) -> Option<Decimal> {
        match self {
            Self::Auto => None,
            Self::Point => Some(Decimal::Point),
            Self::Comma => Some(Decimal::Comma),
        }
    }
}

impl From<Option<Decimal>> for DecimalMark {
    fn from(mark: Option<Decimal>) -> Self {
        mark.map_or(Self::Auto, Self::from)
    }
}

impl From<Decimal> for DecimalMark {
    fn from(mark: Decimal) -> Self {
        match mark {
            Decimal::Point => Self::Point,
            Decimal::Comma => Self::Comma,
        }
    }
}

impl std::str::FromStr for DecimalMark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Decimal::named(text) {
            Some(mark) => Ok(mark.into()),
            None => Err(format!("`{text}` is no decimal mark; expected point or comma")),
        }
    }
}
