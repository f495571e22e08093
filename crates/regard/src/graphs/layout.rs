//! Places of the nodes of a graph on a plane, for pictures.

/// Steps of the layout, after which small graphs no longer move.
const STEPS: usize = 300;

/// Places whose distances are those along the edges as far as a plane allows: stress majorisation (Gansner,
/// Koren & North 2004) from a circle.
pub fn layout(nodes: usize, edges: &[[usize; 2]]) -> Vec<[f64; 2]> {
    let distance = distances(nodes, edges);
    let on_circle = |node: usize| {
        let (sin, cos) = (std::f64::consts::TAU * node as f64 / nodes.max(1) as f64).sin_cos();
        let radius = (nodes as f64).sqrt();
        [radius * cos, radius * sin]
    };
    let mut places: Vec<[f64; 2]> = (0..nodes).map(on_circle).collect();
    for _ in 0..STEPS {
        for node in 0..nodes {
            let (mut sum, mut weight) = ([0.0; 2], 0.0);
            for other in (0..nodes).filter(|&other| other != node) {
                let wanted = distance[node * nodes + other];
                let off = [0, 1].map(|axis| places[node][axis] - places[other][axis]);
                let found = off[0].hypot(off[1]).max(1e-9);
                let share = 1.0 / (wanted * wanted);
                for axis in 0..2 {
                    sum[axis] += share * (places[other][axis] + wanted * off[axis] / found);
                }
                weight += share;
            }
            if weight > 0.0 {
                places[node] = sum.map(|sum| sum / weight);
            }
        }
    }
    places
}

/// Numbers of edges between all nodes, `[nodes, nodes]`; parts that hang together by nothing stand a little
/// apart.
fn distances(nodes: usize, edges: &[[usize; 2]]) -> Vec<f64> {
    let mut beside = vec![vec![]; nodes];
    for &[a, b] in edges {
        beside[a].push(b);
        beside[b].push(a);
    }
    let mut all = vec![f64::INFINITY; nodes * nodes];
    for start in 0..nodes {
        let row = &mut all[start * nodes..][..nodes];
        row[start] = 0.0;
        let mut front = std::collections::VecDeque::from([start]);
        while let Some(node) = front.pop_front() {
            for &next in &beside[node] {
                if row[next].is_infinite() {
                    row[next] = row[node] + 1.0;
                    front.push_back(next);
                }
            }
        }
    }
    let apart = 1.0 + (nodes as f64).sqrt();
    all.iter_mut().filter(|distance| distance.is_infinite()).for_each(|distance| *distance = apart);
    all
}

#[cfg(test)]
mod tests {
    use super::layout;

    #[test]
    fn a_ring_becomes_round_and_nothing_is_lost() {
        let ring: Vec<[usize; 2]> = (0..6).map(|node| [node, (node + 1) % 6]).collect();
        let places = layout(6, &ring);
        let length = |[a, b]: [usize; 2]| (places[a][0] - places[b][0]).hypot(places[a][1] - places[b][1]);
        assert!(ring.iter().all(|&edge| (length(edge) - length(ring[0])).abs() < 0.05), "{places:?}");
        for (nodes, edges) in [(0, vec![]), (1, vec![]), (3, vec![[0, 1]])] {
            assert!(layout(nodes, &edges).iter().flatten().all(|x| x.is_finite()));
        }
    }
}
