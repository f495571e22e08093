//! The mixtures of bags of points, as tables and JSON.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::predictions::RowTable;
use crate::sets::Bags;
use crate::sets::mixture::{LogWeights, Mixture};
use crate::table::write::{Cell, TableSource, csv, write};
use crate::{Error, Result};

/// The mixture of each bag, ready to be written.
///
/// ```
/// use regard_data::sets::formats::mixtures::Mixtures;
/// use regard_data::sets::mixture::Mixture;
/// use regard_data::sets::{Bags, FeatureNames};
///
/// let bags = Bags::new(FeatureNames::Named(vec!["x".into()]), vec![0.0, 4.0], vec![0, 2])?;
/// let two = Mixture::isotropic(vec![0.5, 0.5], vec![0.0, 4.0], &[1.0, 1.0])?;
/// let found = Mixtures::new(&bags, vec![Some(two)])?;
/// assert_eq!(found.csv(), "id,component,weight,mean(x),deviation(x)\n1,1,0.5,0,1\n1,2,0.5,4,1\n");
/// assert_eq!(found.rows_csv(), "id,row,component\n1,1,1\n1,2,2\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mixtures<'b> {
    bags: &'b Bags,
    found: Vec<Option<Mixture>>,
    /// The likeliest component of each row, counted from 0.
    components: Vec<usize>,
}

impl<'b> Mixtures<'b> {
    /// The mixtures of these bags; none for a bag without points.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many as bags, one is of another dimension, or a bag with
    /// points has none.
    pub fn new(bags: &'b Bags, found: Vec<Option<Mixture>>) -> Result<Self> {
        let wrong = |reason: String| Err(Error::invalid("mixtures", reason));
        if found.len() != bags.len() {
            return wrong(format!("are {}, expected one for each of {} bags", found.len(), bags.len()));
        }
        let mut components = Vec::with_capacity(bags.rows());
        for (bag, mixture) in found.iter().enumerate() {
            match mixture {
                Some(mixture) if mixture.dimension() != bags.width() => {
                    let (found, width) = (mixture.dimension(), bags.width());
                    return wrong(format!("have {found} coordinates, expected {width}"));
                }
                Some(mixture) => components.extend(mixture.assign(bags.bag(bag), LogWeights::Exact)),
                None if bags.size(bag) > 0 => return wrong(format!("lack that of `{}`", bags.ids()[bag])),
                None => {}
            }
        }
        Ok(Self { bags, found, components })
    }

    /// The mixture of a bag.
    #[must_use]
    pub fn of(&self, bag: usize) -> Option<&Mixture> {
        self.found.get(bag)?.as_ref()
    }

    /// The likeliest component of each row of a bag, counted from 0.
    ///
    /// # Panics
    /// If there is no such bag.
    #[must_use]
    pub fn components(&self, bag: usize) -> &[usize] {
        &self.components[self.bags.offsets()[bag]..self.bags.offsets()[bag + 1]]
    }

    /// One line for each component: `id,component,weight`, then mean and deviation of every feature.
    /// Components are counted from 1.
    #[must_use]
    pub fn csv(&self) -> String {
        csv(self)
    }

    /// One line for each row: the bag's id, the row's number in its bag, the line of its file where it
    /// has one, and its likeliest component, counted from 1.
    #[must_use]
    pub fn rows_csv(&self) -> String {
        csv(&self.row_table())
    }

    /// Writes the table of rows as [`write()`] does.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_rows(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path, &self.row_table())
    }

    fn row_table(&self) -> RowTable<'_> {
        let cell = Box::new(|row: usize| Cell::Whole(self.components[row] + 1));
        RowTable { bags: self.bags, predicted: None, name: "component", cell }
    }

    /// A list with an object for each bag: `id`, `rows`, `log_likelihood` (the mean of a point),
    /// `components` with `weight`, `mean` and `deviation`, and with each row's component in `row_components`,
    /// counted from 1.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |bag: usize| {
            let mixture = self.found[bag].as_ref();
            let likelihood = mixture.map(|found| found.mean_log_likelihood(self.bags.bag(bag), LogWeights::Exact));
            let component = |[weight, mean, deviation]: [&[f64]; 3]| json!({"weight": weight[0], "mean": mean, "deviation": deviation});
            json!({
                "id": self.bags.ids()[bag],
                "rows": self.bags.size(bag),
                "log_likelihood": likelihood,
                "components": mixture.into_iter().flat_map(parts).map(component).collect::<Vec<_>>(),
                "row_components": self.components(bag).iter().map(|at| at + 1).collect::<Vec<_>>(),
            })
        };
        Value::Array((0..self.bags.len()).map(one).collect())
    }
}

impl TableSource for Mixtures<'_> {
    fn columns(&self) -> Vec<String> {
        let names: Vec<String> = (0..self.bags.width()).map(|at| self.bags.names().name(at)).collect();
        let mut columns = ["id", "component", "weight"].map(str::to_owned).to_vec();
        for what in ["mean", "deviation"] {
            columns.extend(names.iter().map(|name| format!("{what}({name})")));
        }
        columns
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for (bag, mixture) in self.found.iter().enumerate() {
            for (at, [weight, mean, deviation]) in mixture.iter().flat_map(parts).enumerate() {
                let mut cells = vec![Cell::Text(&self.bags.ids()[bag]), Cell::Whole(at + 1)];
                cells.extend(weight.iter().chain(mean).chain(deviation).map(|number| Cell::Number(*number)));
                visit(&cells)?;
            }
        }
        Ok(())
    }
}

/// Weight, mean and deviation of each component.
fn parts(mixture: &Mixture) -> impl Iterator<Item = [&[f64]; 3]> {
    let rows = mixture.means().chunks(mixture.dimension()).zip(mixture.deviations().chunks(mixture.dimension()));
    mixture.weights().chunks(1).zip(rows).map(|(weight, (mean, deviation))| [weight, mean, deviation])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::FeatureNames;

    fn line(middle: f64) -> Mixture {
        Mixture::isotropic(vec![0.25, 0.75], vec![middle, middle + 8.0], &[1.0, 2.0]).unwrap()
    }

    #[test]
    fn components_rows_and_empty_bags_are_written() {
        let bags = Bags::new(FeatureNames::Named(vec!["a,b".into()]), vec![9.0, 0.5], vec![0, 2, 2]).unwrap();
        let found = Mixtures::new(&bags, vec![Some(line(0.0)), None]).unwrap();
        assert_eq!(found.csv(), "id,component,weight,\"mean(a,b)\",\"deviation(a,b)\"\n1,1,0.25,0,1\n1,2,0.75,8,2\n");
        assert_eq!(found.rows_csv(), "id,row,component\n1,1,2\n1,2,1\n");
        assert_eq!((found.components(0), found.components(1)), ([1, 0].as_slice(), [].as_slice()));
        let json = found.json();
        assert_eq!((&json[0]["components"][1]["mean"], &json[0]["row_components"]), (&json!([8.0]), &json!([2, 1])));
        assert_eq!((&json[1]["components"], &json[1]["log_likelihood"]), (&json!([]), &Value::Null));
    }

    #[test]
    fn what_does_not_fit_the_bags_is_refused() {
        let bags = Bags::new(FeatureNames::Count(1), vec![1.0], vec![0, 1]).unwrap();
        let flat = Mixture::isotropic(vec![1.0], vec![0.0, 0.0], &[1.0]).unwrap();
        for (found, expected) in [
            (vec![], "are 0, expected one for each of 1 bags"),
            (vec![None], "lack that of `1`"),
            (vec![Some(flat)], "have 2 coordinates, expected 1"),
        ] {
            let error = Mixtures::new(&bags, found).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
