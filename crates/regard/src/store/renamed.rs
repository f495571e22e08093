//! Names and layouts of another code's files for a network's numbers.

use std::collections::BTreeMap;

use super::layout::ParamSpec;
use super::{Array, Weights};

/// One array of a network: our path, and its name and layout in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renamed {
    pub(crate) ours: String,
    pub(crate) theirs: String,
    pub(crate) form: Form,
}

/// Names that are put together one after another.
#[derive(Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<Renamed>);

impl Table {
    pub(crate) fn add(&mut self, ours: String, theirs: String, form: Form) {
        self.0.push(Renamed { ours, theirs, form });
    }

    /// Weight and bias of a linear map.
    pub(crate) fn linear(&mut self, ours: &str, theirs: &str) {
        self.add(format!("{ours}.weight"), format!("{theirs}.weight"), Form::Transposed);
        self.add(format!("{ours}.bias"), format!("{theirs}.bias"), Form::Same);
    }
}

/// The layout of an array in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As here.
    Same,
    /// Ours `[in, out]`, theirs `[out, in]`.
    Transposed,
    /// Ours `[rows, width]`, theirs `[1, rows, width]`.
    LeadingOne,
    /// Ours `[in, out]`, theirs the weight `[out, in, 1]` of a convolution over single places.
    Convolution,
}

impl Form {
    fn shape(self, ours: &[usize]) -> Vec<usize> {
        match (self, ours) {
            (Self::Transposed, &[inputs, outputs]) => vec![outputs, inputs],
            (Self::LeadingOne, &[rows, width]) => vec![1, rows, width],
            (Self::Convolution, &[inputs, outputs]) => vec![outputs, inputs, 1],
            _ => ours.to_vec(),
        }
    }

    fn to_theirs(self, array: Array) -> Array {
        match (self, array.shape.as_slice()) {
            (Self::Transposed, &[_, _]) => transposed(&array),
            (Self::LeadingOne, &[rows, width]) => Array { shape: vec![1, rows, width], data: array.data },
            (Self::Convolution, &[inputs, outputs]) => {
                Array { shape: vec![outputs, inputs, 1], data: transposed(&array).data }
            }
            _ => array,
        }
    }

    fn to_ours(self, array: &Array) -> Array {
        match (self, array.shape.as_slice()) {
            (Self::Transposed, &[_, _]) => transposed(array),
            (Self::LeadingOne, &[1, rows, width]) => Array { shape: vec![rows, width], data: array.data.clone() },
            (Self::Convolution, &[outputs, inputs, 1]) => {
                transposed(&Array { shape: vec![outputs, inputs], data: array.data.clone() })
            }
            _ => array.clone(),
        }
    }
}

/// Every tensor of a file, from the shapes of our arrays.
pub(crate) fn param_specs(table: Vec<Renamed>, shapes: Vec<(String, Vec<usize>)>) -> Vec<ParamSpec> {
    let table: BTreeMap<String, Renamed> = table.into_iter().map(|entry| (entry.ours.clone(), entry)).collect();
    let slot = |(path, shape): (String, Vec<usize>)| {
        let trainable = !path.contains("running_");
        let entry = table.get(&path)?;
        Some(ParamSpec { name: entry.theirs.clone(), shape: entry.form.shape(&shape), trainable })
    };
    shapes.into_iter().filter_map(slot).collect()
}

/// Our weights, named and laid out as in files.
pub(crate) fn to_theirs(table: Vec<Renamed>, mut ours: Weights) -> Weights {
    let found = table.into_iter().filter_map(|entry| {
        let array = ours.remove(&entry.ours)?;
        Some((entry.theirs, entry.form.to_theirs(array)))
    });
    found.collect()
}

/// Weights of a file under our paths.
pub(crate) fn to_ours(table: Vec<Renamed>, theirs: &Weights) -> Weights {
    let found = table.into_iter().filter_map(|entry| {
        let array = theirs.get(&entry.theirs)?;
        Some((entry.ours, entry.form.to_ours(array)))
    });
    found.collect()
}

fn transposed(array: &Array) -> Array {
    let (rows, columns) = (array.shape[0], array.shape[1]);
    let data = (0..columns).flat_map(|column| (0..rows).map(move |row| array.data[row * columns + column]));
    Array { shape: vec![columns, rows], data: data.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_layouts_go_there_and_back() {
        let entry = |ours: &str, form| Renamed { ours: ours.into(), theirs: format!("their.{ours}"), form };
        let table = || {
            let of =
                [("a", Form::Transposed), ("b", Form::LeadingOne), ("d", Form::Convolution), ("running_c", Form::Same)];
            of.into_iter().map(|(ours, form)| entry(ours, form)).collect::<Vec<_>>()
        };
        let array = |shape: &[usize]| Array { shape: shape.to_vec(), data: (0..6).map(|x| x as f32).collect() };
        let ours = Weights::from([
            ("a".to_owned(), array(&[2, 3])),
            ("b".to_owned(), array(&[3, 2])),
            ("d".to_owned(), array(&[2, 3])),
            ("running_c".to_owned(), array(&[6])),
        ]);
        let theirs = to_theirs(table(), ours.clone());
        assert_eq!(theirs["their.a"].data, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(theirs["their.b"].shape, [1, 3, 2]);
        assert_eq!((theirs["their.d"].shape.as_slice(), theirs["their.d"].data[1]), ([3, 2, 1].as_slice(), 3.0));
        assert_eq!(to_ours(table(), &theirs), ours);
        let shapes = ours.iter().map(|(path, array)| (path.clone(), array.shape.clone())).collect();
        for slot in param_specs(table(), shapes) {
            assert_eq!(slot.shape, theirs[&slot.name].shape);
            assert_eq!(slot.trainable, slot.name != "their.running_c");
        }
    }
}
