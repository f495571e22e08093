//! Placement of the names of nodes: beside the node, off every other name and node, and off the line
//! where that can be.

use kuva::render::render::TextAnchor;

use super::{Frame, Point};
use crate::report::picture::HEADING;

/// Size of the letters.
pub(super) const SIZE: u32 = 12;

/// More nodes than this stay without names.
const MOST: usize = 60;

/// A letter is about this wide, in letter heights.
const LETTER: f64 = 0.58;

/// A name and where it stands.
pub(super) struct Label {
    /// The end or middle of the base line, as the anchor says.
    pub(super) at: Point,
    pub(super) anchor: TextAnchor,
    pub(super) text: String,
}

/// The names that find room; few enough nodes are all named unless they crowd.
pub(super) fn place(names: &[String], points: &[Point], stops: &[Point], radius: f64, frame: &Frame) -> Vec<Label> {
    if points.len() > MOST {
        return Vec::new();
    }
    let mut taken: Vec<Area> = points.iter().map(|&point| Area::around(point, radius + 0.5)).collect();
    let mut labels = Vec::new();
    for (name, &point) in names.iter().zip(points) {
        let best = candidates(name, point, radius)
            .filter(|(area, _)| frame.holds(area) && !taken.iter().any(|other| area.meets(other)))
            .map(|(area, anchor)| (crossings(&area, stops), area, anchor))
            .min_by_key(|(crossings, ..)| *crossings);
        if let Some((_, area, anchor)) = best {
            labels.push(Label { at: area.base(anchor), anchor, text: name.clone() });
            taken.push(area);
        }
    }
    labels
}

/// Eight places around a node, the more usual ones first.
fn candidates(name: &str, (x, y): Point, radius: f64) -> impl Iterator<Item = (Area, TextAnchor)> {
    let width = name.chars().count() as f64 * LETTER * f64::from(SIZE);
    let height = f64::from(SIZE);
    let gap = radius + 3.5;
    let slant = 0.75 * gap;
    use TextAnchor::{End, Middle, Start};
    [
        (gap, -height / 2.0, Start),
        (-gap - width, -height / 2.0, End),
        (-width / 2.0, -gap - height, Middle),
        (-width / 2.0, gap, Middle),
        (slant, -slant - 0.7 * height, Start),
        (slant, slant - 0.3 * height, Start),
        (-slant - width, -slant - 0.7 * height, End),
        (-slant - width, slant - 0.3 * height, End),
    ]
    .into_iter()
    .map(move |(right, down, anchor)| {
        let corner = (x + right, y + down);
        (Area { from: corner, to: (corner.0 + width, corner.1 + height) }, anchor)
    })
}

/// Number of legs of the tour that run through an area.
fn crossings(area: &Area, stops: &[Point]) -> usize {
    stops.windows(2).filter(|leg| area.is_crossed(leg[0], leg[1])).count()
}

/// A rectangle along the axes.
struct Area {
    from: Point,
    to: Point,
}

impl Area {
    fn around((x, y): Point, half: f64) -> Self {
        Self { from: (x - half, y - half), to: (x + half, y + half) }
    }

    fn meets(&self, other: &Self) -> bool {
        self.from.0 < other.to.0 && other.from.0 < self.to.0 && self.from.1 < other.to.1 && other.from.1 < self.to.1
    }

    /// Anchor of the text that fills the area; letters stand on 0.82 of the height.
    fn base(&self, anchor: TextAnchor) -> Point {
        let x = match anchor {
            TextAnchor::Start => self.from.0,
            TextAnchor::Middle => (self.from.0 + self.to.0) / 2.0,
            TextAnchor::End => self.to.0,
        };
        (x, self.from.1 + 0.82 * (self.to.1 - self.from.1))
    }

    /// If true, a straight line enters the area: Liang and Barsky, "A new concept and method for
    /// line clipping", ACM Transactions on Graphics 3 (1984).
    fn is_crossed(&self, a: Point, b: Point) -> bool {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (start, step, low, high) in
            [(a.0, b.0 - a.0, self.from.0, self.to.0), (a.1, b.1 - a.1, self.from.1, self.to.1)]
        {
            if step == 0.0 {
                if start < low || start > high {
                    return false;
                }
            } else {
                let (one, other) = ((low - start) / step, (high - start) / step);
                enter = enter.max(one.min(other));
                leave = leave.min(one.max(other));
            }
        }
        enter <= leave
    }
}

impl Frame {
    fn holds(&self, area: &Area) -> bool {
        area.from.0 >= 4.0
            && area.to.0 <= self.width - 4.0
            && area.from.1 >= HEADING - 4.0
            && area.to.1 <= self.height - 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_crosses_where_it_should() {
        let area = Area { from: (0.0, 0.0), to: (2.0, 1.0) };
        assert!(area.is_crossed((-1.0, 0.5), (3.0, 0.5)));
        assert!(area.is_crossed((1.0, 0.5), (1.0, 0.5)));
        assert!(!area.is_crossed((-1.0, 0.5), (-0.5, 0.5)));
        assert!(!area.is_crossed((-1.0, 0.8), (0.5, 3.0)));
    }

    #[test]
    fn names_never_lie_on_each_other_and_crowds_stay_unnamed() {
        let places: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 8), f64::from(i / 8)]).collect();
        let frame = Frame::around(&places);
        let points: Vec<Point> = places.iter().map(|&place| frame.point(place)).collect();
        let names: Vec<String> = (0..40).map(|i| format!("place {i}")).collect();
        assert_eq!(place(&names, &points, &points, 4.0, &frame).len(), 40);
        let crowd = vec![points[0]; 40];
        assert!(place(&names, &crowd, &crowd, 4.0, &frame).len() <= 8);
        let many = vec![points[0]; MOST + 1];
        assert!(place(&names, &many, &many, 4.0, &frame).is_empty());
    }
}
