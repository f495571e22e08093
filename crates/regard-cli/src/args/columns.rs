//! Columns of a file that is measured, where they are not those of training.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Columns of a file of sets, graphs or series.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Columns of sets, graphs and series")]
pub(crate) struct ColumnArgs {
    /// Sets: column of set identifiers [default: as in training]
    #[arg(long, value_name = "COLUMN", requires = "data", requires = "model")]
    pub(crate) group_by: Option<String>,
    /// Columns of the answers: the target of sets, one or several of graphs, the values of series [default: as in
    /// training]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', requires = "data", requires = "model")]
    pub(crate) target: Vec<String>,
    /// Graphs: column of SMILES [default: as in training]
    #[arg(long, value_name = "COLUMN", requires = "data", requires = "model")]
    pub(crate) smiles: Option<String>,
    /// Graphs: column of identifiers; series: column of their names in a long file [default: as in training]
    #[arg(long, value_name = "COLUMN", requires = "data", requires = "model")]
    pub(crate) id: Option<String>,
    /// Graphs: file of edges that belongs to a file of nodes [default: the same name with `edges` instead of `nodes`]
    #[arg(long, value_name = "FILE", requires = "data", requires = "model")]
    pub(crate) edges: Option<PathBuf>,
}

impl ColumnArgs {
    /// Refuses the options that models of a family do not have. `has` are the names of those it has.
    ///
    /// # Errors
    /// [`Failure`] with the first other option.
    pub(crate) fn only(&self, has: &[&str], family: &str) -> anyhow::Result<()> {
        match self.given().find(|name| !has.contains(name)) {
            Some(name) => Err(Failure::new(format!("{name} does not apply to models for {family}"))
                .hint(if has.is_empty() { "leave it out".to_owned() } else { format!("they have {}", has.join(", ")) })
                .into()),
            None => Ok(()),
        }
    }

    /// The options that are given.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--group-by", self.group_by.is_some()),
            ("--target", !self.target.is_empty()),
            ("--smiles", self.smiles.is_some()),
            ("--id", self.id.is_some()),
            ("--edges", self.edges.is_some()),
        ];
        given.into_iter().filter_map(|(name, given)| given.then_some(name))
    }
}
