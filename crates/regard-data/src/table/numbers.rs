//! Numbers as people write them: with a decimal point or a decimal comma, and with marks between thousands.

/// The decimal mark of numbers. The other one of point and comma may stand between thousands, as may spaces and
/// apostrophes with either of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    /// `1,234.5` is a thousand and more.
    Point,
    /// `1.234,5` is a thousand and more.
    Comma,
}

/// The decimal mark of a field or a column, as far as its numbers tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// There is no mark.
    Plain,
    /// Numbers as this one have one meaning.
    Sure(Decimal, String),
    /// Numbers as this one may have a decimal mark or one between thousands, which is a comma or not.
    Either(String),
    /// Some numbers have the one and some the other, or each may be between thousands.
    Mixed,
}

impl Decimal {
    /// The mark of that name: `point` or `comma`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "point" => Some(Self::Point),
            "comma" => Some(Self::Comma),
            _ => None,
        }
    }

    /// The name of the mark.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Comma => "comma",
        }
    }

    /// The other mark.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Point => Self::Comma,
            Self::Comma => Self::Point,
        }
    }

    fn mark(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    /// The number of a field; `None` where it is none, or where its marks stand in places where no number has them.
    ///
    /// ```
    /// use regard_data::table::numbers::Decimal;
    ///
    /// assert_eq!(Decimal::Comma.number("1.234,5"), Some(1234.5));
    /// assert_eq!(Decimal::Point.number("1,234.5"), Some(1234.5));
    /// assert_eq!(Decimal::Point.number("12'000"), Some(12000.0));
    /// assert_eq!(Decimal::Point.number("0,5"), None);
    /// ```
    #[must_use]
    pub fn number(self, field: &str) -> Option<f64> {
        if self == Self::Point
            && let Ok(number) = field.parse()
        {
            return Some(number);
        }
        let (sign, rest) = match field.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => ("-", rest),
            None => ("", field.strip_prefix('+').unwrap_or(field)),
        };
        let (mantissa, exponent) = rest.split_at(rest.find(['e', 'E']).unwrap_or(rest.len()));
        let (whole, fraction) = mantissa.split_once(self.mark()).unwrap_or((mantissa, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let plain = without_groups(whole, self.other().mark())?;
        format!("{sign}{plain}.{fraction}0{exponent}").parse().ok()
    }

    /// The decimal mark as a field tells it.
    fn of_field(field: &str) -> Reading {
        if !field.contains(['.', ',']) {
            return Reading::Plain;
        }
        match (Self::Point.number(field), Self::Comma.number(field)) {
            (Some(point), Some(comma)) if point == comma => Reading::Plain,
            (Some(_), Some(_)) => Reading::Either(field.to_owned()),
            (Some(_), None) => Reading::Sure(Self::Point, field.to_owned()),
            (None, Some(_)) => Reading::Sure(Self::Comma, field.to_owned()),
            (None, None) => Reading::Plain,
        }
    }
}

/// The digits of a whole number whose groups of three are divided by `mark`, spaces or apostrophes.
fn without_groups(whole: &str, mark: char) -> Option<String> {
    let between = |c: char| c == mark || matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}');
    let Some(divider) = whole.chars().find(|c| between(*c)) else {
        return whole.bytes().all(|byte| byte.is_ascii_digit()).then(|| whole.to_owned());
    };
    let mut groups = whole.split(divider);
    let first = groups.next()?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // No number of thousands begins with 0.
    let begins = (1..=3).contains(&first.len()) && digits(first) && !first.starts_with('0');
    let all = begins && groups.all(|group| group.len() == 3 && digits(group));
    all.then(|| whole.chars().filter(|c| *c != divider).collect())
}

impl Reading {
    /// The decimal mark of a column of these fields.
    ///
    /// ```
    /// use regard_data::table::numbers::{Decimal, Reading};
    ///
    /// assert_eq!(Reading::of(["1,250", "12,5"]), Reading::Sure(Decimal::Comma, "12,5".into()));
    /// assert_eq!(Reading::of(["1,250", "7"]), Reading::Either("1,250".into()));
    /// ```
    #[must_use]
    pub fn of<'f>(fields: impl IntoIterator<Item = &'f str>) -> Self {
        let mut all = Self::Plain;
        let (mut either_comma, mut either_point) = (false, false);
        for field in fields {
            let found = Decimal::of_field(field);
            if let Self::Either(field) = &found {
                either_comma |= field.contains(',');
                either_point |= field.contains('.');
            }
            all = match (all, found) {
                (all, Self::Plain) => all,
                (Self::Plain, found) => found,
                (Self::Sure(one, _), Self::Sure(other, _)) if one != other => return Self::Mixed,
                (Self::Either(_), found @ Self::Sure(..)) => found,
                (all, _) => all,
            };
        }
        match all {
            Self::Either(_) if either_comma && either_point => Self::Mixed,
            all => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_where_numbers_have_them() {
        for (field, point, comma) in [
            ("1.5", Some(1.5), None),
            ("1,5", None, Some(1.5)),
            ("-1.234.567,5", None, Some(-1_234_567.5)),
            ("1,234,567", Some(1_234_567.0), None),
            ("1.250", Some(1.25), Some(1250.0)),
            ("1,250", Some(1250.0), Some(1.25)),
            ("0,250", None, Some(0.25)),
            ("1 234,5", None, Some(1234.5)),
            ("1\u{a0}234.5", Some(1234.5), None),
            ("12'000", Some(12000.0), Some(12000.0)),
            ("\u{2212}3", Some(-3.0), Some(-3.0)),
            ("1e3", Some(1000.0), Some(1000.0)),
            ("1,5e2", None, Some(150.0)),
            (",5", None, Some(0.5)),
            ("7,", None, Some(7.0)),
            ("12,34,567", None, None),
            ("1.2.3", None, None),
            ("1,2,3", None, None),
            (",", None, None),
            ("", None, None),
            ("abc", None, None),
            ("1 5", None, None),
        ] {
            assert_eq!((Decimal::Point.number(field), Decimal::Comma.number(field)), (point, comma), "{field}");
        }
    }

    #[test]
    fn columns_tell_their_mark_where_one_number_does() {
        let of = |fields: &[&str]| Reading::of(fields.iter().copied());
        assert_eq!(of(&["1", "abc", ""]), Reading::Plain);
        assert_eq!(of(&["1.250", "3"]), Reading::Either("1.250".into()));
        assert_eq!(of(&["1.250", "3.5"]), Reading::Sure(Decimal::Point, "3.5".into()));
        assert_eq!(of(&["1,5", "2.5"]), Reading::Mixed);
        assert_eq!(of(&["1,250", "1.300"]), Reading::Mixed);
        assert_eq!(of(&["1,250", "1.300", "12,5"]), Reading::Sure(Decimal::Comma, "12,5".into()));
    }
}
