//! Symbols of the elements, and the numbers of their bonds.

/// Symbols in the order of atomic numbers; the wildcard stands in front.
const SYMBOLS: [&str; 119] = [
    "*", "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca",
    "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",
    "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce",
    "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
    "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc",
    "Lv", "Ts", "Og",
];

/// Elements that may stand without brackets.
const ORGANIC: [&str; 10] = ["B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I"];

/// An element's symbol; [`SYMBOLS`] has each once, so that symbols compare as texts do.
pub(super) fn symbol(text: &str) -> Option<&'static str> {
    SYMBOLS.iter().find(|symbol| **symbol == text).copied()
}

/// The element of a symbol in small letters, as aromatic atoms are written.
pub(super) fn aromatic(text: &str) -> Option<&'static str> {
    Some(match text {
        "b" => "B",
        "c" => "C",
        "n" => "N",
        "o" => "O",
        "p" => "P",
        "s" => "S",
        "se" => "Se",
        "as" => "As",
        "te" => "Te",
        "si" => "Si",
        _ => return None,
    })
}

pub(super) fn is_organic(symbol: &str) -> bool {
    ORGANIC.contains(&symbol)
}

/// The numbers of bonds that an element makes, hydrogens included, in rising order; empty where none is known.
/// A charge is taken for the neighbour in the table of elements: N+ bonds as C, C- and O+ as N.
pub(super) fn valences(symbol: &str, charge: i8) -> &'static [u8] {
    let group: i16 = match symbol {
        "B" | "Al" => 13,
        "C" | "Si" | "Ge" => 14,
        "N" | "P" | "As" => 15,
        "O" | "S" | "Se" | "Te" => 16,
        "F" | "Cl" | "Br" | "I" => 17,
        _ => return &[],
    };
    // The second row has no more than four bonds, but nitrogen is often written with five.
    let first_row = matches!(symbol, "B" | "C" | "O" | "F");
    match group - i16::from(charge) {
        13 => &[3],
        14 => &[4],
        15 if first_row => &[3],
        15 => &[3, 5],
        16 if first_row || symbol == "N" => &[2],
        16 => &[2, 4, 6],
        17 if matches!(symbol, "F" | "Cl" | "Br") || first_row || symbol == "N" => &[1],
        17 => &[1, 3, 5],
        12 => &[2],
        _ => &[],
    }
}

/// Hydrogens of an atom without brackets whose bonds have this sum of orders.
pub(super) fn implicit_hydrogens(symbol: &str, orders: u32) -> u8 {
    let filled = valences(symbol, 0).iter().find(|valence| u32::from(**valence) >= orders);
    filled.map_or(0, |valence| valence - orders as u8)
}

/// Electrons in the outer shell of an element of the main groups 13 to 17.
pub(super) fn outer_electrons(symbol: &str) -> Option<i32> {
    Some(match symbol {
        "B" | "Al" | "Ga" | "In" | "Tl" => 3,
        "C" | "Si" | "Ge" | "Sn" | "Pb" => 4,
        "N" | "P" | "As" | "Sb" | "Bi" => 5,
        "O" | "S" | "Se" | "Te" | "Po" => 6,
        "F" | "Cl" | "Br" | "I" | "At" => 7,
        _ => return None,
    })
}

/// If true, `other` draws electrons from `symbol`, as RDKit judges: it has more outer electrons, or as many in a smaller
/// shell.
pub(super) fn is_more_electronegative(other: &str, symbol: &str) -> bool {
    let number = |symbol: &str| SYMBOLS.iter().position(|known| *known == symbol);
    let key = |symbol: &str| outer_electrons(symbol).map(|outer| (outer, std::cmp::Reverse(number(symbol))));
    key(other) > key(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_shift_valences() {
        assert_eq!((valences("N", 1), valences("N", 0), valences("N", -1)), (&[4][..], &[3, 5][..], &[2][..]));
        assert_eq!((valences("S", 0), valences("S", 1), valences("O", -1)), (&[2, 4, 6][..], &[3, 5][..], &[1][..]));
        assert_eq!((valences("Fe", 2), valences("C", -1)), (&[][..], &[3][..]));
    }

    #[test]
    fn every_symbol_is_there_once() {
        assert!(SYMBOLS.iter().enumerate().all(|(at, symbol)| !SYMBOLS[..at].contains(symbol)));
        assert_eq!((symbol("Og"), symbol("X"), aromatic("se")), (Some("Og"), None, Some("Se")));
    }
}
