//! Names of the types of atoms and bonds.

use super::{Atom, Molecule, elements};
use crate::graphs::features::Vocabulary;
use crate::graphs::{Graph, Kinds};
use crate::names::FeatureNames;

/// The rule by which molecules become graphs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rule {
    /// The types of ZINC-12k: [`ZINC_ATOMS`] in their order, others behind them, and [`ZINC_BONDS`].
    ///
    /// An atom's brackets count where the molecule, written with double bonds, would need them: with a
    /// charge, a mark of chirality, an element that always has brackets, or hydrogens that do not fill
    /// the lowest valence. Without brackets hydrogens are not counted. Masses are left out.
    #[default]
    Zinc,
    /// Elements as types; beside them `charge`, `hydrogens`, `degree`, `aromatic`, `ring` and `chiral` as
    /// numbers. Bonds are single, double, triple, quadruple or aromatic, and have `ring`.
    Described,
}

/// The 28 atom types of ZINC-12k, in the benchmark's order (`atom_dict` of its `molecules.pkl`).
pub const ZINC_ATOMS: [&str; 28] = [
    "C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -", "S -", "I", "P",
    "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +", "C H1 -", "P H1 +",
];

/// The bond types of ZINC-12k; the first does not occur.
pub const ZINC_BONDS: [&str; 4] = ["none", "single", "double", "triple"];

const DESCRIBED_BONDS: [&str; 5] = ["single", "double", "triple", "quadruple", "aromatic"];
const ATOM_NUMBERS: [&str; 6] = ["charge", "hydrogens", "degree", "aromatic", "ring", "chiral"];

impl Rule {
    /// The types that exist whatever the molecules.
    pub(in crate::graphs) fn vocabulary(self) -> Vocabulary {
        match self {
            Self::Zinc => Vocabulary::of(&ZINC_ATOMS),
            Self::Described => Vocabulary::default(),
        }
    }

    /// The features of edges.
    #[must_use]
    pub fn edge_kinds(self) -> Kinds {
        match self {
            Self::Zinc => Kinds::types(ZINC_BONDS),
            Self::Described => Kinds {
                types: DESCRIBED_BONDS.map(String::from).to_vec(),
                columns: FeatureNames::Named(vec!["ring".into()]),
            },
        }
    }

    /// The features of nodes, with types of these names.
    #[must_use]
    pub fn node_kinds(self, types: Vec<String>) -> Kinds {
        let columns = match self {
            Self::Zinc => FeatureNames::Count(0),
            Self::Described => FeatureNames::Named(ATOM_NUMBERS.map(String::from).to_vec()),
        };
        Kinds { types, columns }
    }
}

impl Molecule {
    /// The name of an atom's type.
    ///
    /// # Panics
    /// If there is no such atom.
    #[must_use]
    pub fn atom_type(&self, at: usize, rule: Rule) -> String {
        match rule {
            Rule::Described => self.atoms()[at].symbol.to_owned(),
            Rule::Zinc => zinc_name(&self.atoms()[at], self.orders()[at]),
        }
    }

    /// The graph of a molecule; `types` learns the names of its atoms.
    ///
    /// # Errors
    /// The place in the text of an atom that has no type by this rule, or whose bond has none.
    pub(in crate::graphs) fn graph(
        &self,
        id: String,
        rule: Rule,
        types: &mut Vocabulary,
    ) -> Result<Graph, super::SmilesError> {
        let mut graph = Graph::new(id, self.atoms.len());
        let orders = self.orders();
        let mut degrees = vec![0u32; self.atoms.len()];
        for bond in &self.bonds {
            degrees[bond.a as usize] += 1;
            degrees[bond.b as usize] += 1;
        }
        for ((atom, order), degree) in self.atoms.iter().zip(orders).zip(degrees) {
            let name = match rule {
                Rule::Zinc => zinc_name(atom, order),
                Rule::Described => atom.symbol.to_owned(),
            };
            let code = types
                .code(&name)
                .ok_or_else(|| super::SmilesError::new(atom.at, "there are too many types of atoms"))?;
            graph.node_types.push(code);
            if rule == Rule::Described {
                let flags = [atom.aromatic, atom.ring, atom.chiral].map(|flag| f32::from(u8::from(flag)));
                graph.node_dense.extend([f32::from(atom.charge), f32::from(atom.hydrogens), degree as f32]);
                graph.node_dense.extend(flags);
            }
        }
        for bond in &self.bonds {
            let kind = match rule {
                Rule::Zinc if bond.order > 3 => {
                    let reason = "has a quadruple bond, which is no bond type of ZINC";
                    return Err(super::SmilesError::new(self.atoms[bond.a as usize].at, reason));
                }
                Rule::Zinc => u32::from(bond.order),
                Rule::Described if bond.aromatic => 4,
                Rule::Described => u32::from(bond.order) - 1,
            };
            graph.join(bond.a, bond.b, kind);
            if rule == Rule::Described {
                graph.edge_dense.extend([f32::from(u8::from(bond.ring)); 2]);
            }
        }
        Ok(graph)
    }
}

/// Symbol, hydrogens in brackets, charge.
fn zinc_name(atom: &Atom, orders: u32) -> String {
    let lowest = elements::valences(atom.symbol, 0).first().copied().unwrap_or(0);
    let fills = orders + u32::from(atom.hydrogens) == u32::from(lowest);
    let brackets = atom.charge != 0 || atom.chiral || !elements::is_organic(atom.symbol) || !fills;
    let mut name = atom.symbol.to_owned();
    if brackets && atom.hydrogens > 0 {
        name.push_str(&format!(" H{}", atom.hydrogens));
    }
    match atom.charge {
        0 => {}
        1 => name.push_str(" +"),
        -1 => name.push_str(" -"),
        more => name.push_str(&format!(" {more:+}")),
    }
    name
}
