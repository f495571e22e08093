//! Is it a tour? Decided from the instance's size and the list alone, whatever made the list.

use crate::{Error, Result};

/// Checks that `tour` visits each of the nodes of `ids` exactly once.
pub(crate) fn tour(ids: &[String], tour: &[usize]) -> Result<()> {
    let n = ids.len();
    let mut position = vec![usize::MAX; n];
    for (at, &node) in tour.iter().enumerate() {
        let Some(seen) = position.get_mut(node) else {
            return Err(unknown(&format!("position {}", at + 1), node, n));
        };
        if *seen != usize::MAX {
            let reason = format!("node {} is visited twice, at positions {} and {}", ids[node], *seen + 1, at + 1);
            return Err(Error::Infeasible { reason });
        }
        *seen = at;
    }
    match position.iter().position(|&at| at == usize::MAX) {
        Some(node) => {
            let missing = n - tour.len();
            let reason = format!("node {} is not visited ({missing} of {n} missing)", ids[node]);
            Err(Error::Infeasible { reason })
        }
        None => Ok(()),
    }
}

/// Checks that `visits` are customers, that is nodes but the depot (node 0), each at most once.
pub(crate) fn visits(ids: &[String], visits: &[usize]) -> Result<()> {
    let mut position = vec![usize::MAX; ids.len()];
    for (at, &node) in visits.iter().enumerate() {
        customer(ids, node, || format!("position {}", at + 1))?;
        if position[node] != usize::MAX {
            let (first, second) = (position[node] + 1, at + 1);
            let reason = format!("node {} is visited twice, at positions {first} and {second}", ids[node]);
            return Err(Error::Infeasible { reason });
        }
        position[node] = at;
    }
    Ok(())
}

/// Checks that `node` is a customer; `place` says where it stands.
pub(crate) fn customer(ids: &[String], node: usize, place: impl Fn() -> String) -> Result<()> {
    match node {
        0 => {
            let reason = format!("{}: the depot ({}) is among the customers", place(), ids[0]);
            Err(Error::Infeasible { reason })
        }
        _ if node < ids.len() => Ok(()),
        _ => Err(unknown(&place(), node, ids.len())),
    }
}

fn unknown(place: &str, node: usize, n: usize) -> Error {
    Error::Infeasible { reason: format!("{place}: node index {node} is not below {n}") }
}

#[cfg(test)]
mod tests {
    fn reason(list: &[usize]) -> String {
        let ids: Vec<String> = (1..=4).map(|i| i.to_string()).collect();
        super::tour(&ids, list).map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn the_first_violation_is_named_by_the_ids_of_the_file() {
        assert_eq!(reason(&[2, 0, 3, 1]), "");
        assert!(reason(&[0, 1, 2]).contains("node 4 is not visited (1 of 4 missing)"));
        assert!(reason(&[0, 1, 2, 1]).contains("node 2 is visited twice, at positions 2 and 4"));
        assert!(reason(&[0, 1, 2, 4]).contains("position 4: node index 4 is not below 4"));
        assert!(reason(&[0, 1, 2, 3, 3]).contains("visited twice"));
        assert!(reason(&[]).contains("4 of 4 missing"));
    }
}
