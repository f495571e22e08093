//! What a file of bags cannot say itself.

/// How a file of bags is read. Which of these matter depends on its format.
///
/// ```
/// use regard_data::sets::formats::ReadOptions;
///
/// let options = ReadOptions { group_by: Some("customer".into()), target: Some("left".into()), ..Default::default() };
/// assert!(options.features.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Tables: the column whose equal values make a bag.
    pub group_by: Option<String>,
    /// Tables: the column of a bag's label, the same in all its rows.
    pub target: Option<String>,
    /// Labels may be absent, all of them: bags to be predicted.
    pub target_optional: bool,
    /// Tables: the column of a row's label.
    pub row_target: Option<String>,
    /// Tables with a header: the columns to read as features, in this order; `None` takes every other
    /// column in which there are numbers.
    pub features: Option<Vec<String>>,
    /// Tables: the character between fields; `None` is the one of comma, semicolon and tab that the
    /// first line has most of.
    pub delimiter: Option<u8>,
    /// Tables: whether the first line names the columns.
    pub layout: Layout,
    /// libsvm: how many features there are; `None` is the largest that occurs.
    pub width: Option<usize>,
    /// libsvm: features are counted from 0 instead of 1.
    pub zero_based: bool,
}

/// What the first line of a table is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Rows as in [`Layout::Headerless`] when no column is named in the options and the first line is
    /// numbers from its third field on, otherwise a header. Numbers that count columns (`0,1,2`) are a
    /// header.
    #[default]
    Auto,
    /// The first line names the columns.
    Header,
    /// There is no header: rows are the bag's label, its id, then the features, as is customary for
    /// multiple-instance learning.
    Headerless,
}

impl ReadOptions {
    /// Whether a column is named.
    pub(super) fn names_columns(&self) -> bool {
        self.group_by.is_some() || self.target.is_some() || self.row_target.is_some() || self.features.is_some()
    }
}
