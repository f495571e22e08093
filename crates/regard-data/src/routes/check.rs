//! Is it a tour? Decided from the instance's size and the list alone, whatever made the list.

use crate::{Error, Result};

/// Checks that `tour` visits each of the nodes of `ids` exactly once.
pub(crate) fn tour(ids: &[String], tour: &[usize]) -> Result<()> {
    let n = ids.len();
    let mut position = vec![usize::MAX; n];
    for (at, &node) in tour.iter().enumerate() {
        let Some(seen) = position.get_mut(node) else {
            let reason = format!("position {}: node index {node} is not below {n}", at + 1);
            return Err(Error::Infeasible { reason });
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
