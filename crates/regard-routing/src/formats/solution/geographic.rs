//! Solutions of places with latitude and longitude, for maps and navigation devices: GeoJSON (RFC 7946) and GPX 1.1.

use serde_json::{Value, json};

use super::stops::rounded;
use crate::instance::Instance;
use crate::itinerary::{Itinerary, Route, Stop};

/// Longitude in -180 to 180 and latitude, which [`super::check_ending`] asks for.
fn place(instance: &Instance, node: usize) -> [f64; 2] {
    let [latitude, longitude] = instance.sites().degrees(node).unwrap_or_default();
    [if longitude > 180.0 { longitude - 360.0 } else { longitude }, latitude]
}

/// The name of a node for people.
fn name(instance: &Instance, node: usize) -> &str {
    let sites = instance.sites();
    sites.label(node).unwrap_or(&sites.ids()[node])
}

/// A line for each route, then a point for each of its stops.
pub(super) fn geojson(instance: &Instance, solution: &[usize]) -> String {
    let mut features = Vec::new();
    for (number, route) in Itinerary::of(instance, solution).routes.iter().enumerate() {
        let line: Vec<[f64; 2]> = route.stops.iter().map(|stop| place(instance, stop.node)).collect();
        let mut properties = json!({
            "route": number + 1,
            "stops": route.visits(),
            "length": rounded(route.length),
            "unit": instance.sites().unit(),
        });
        if let Some(load) = route.load {
            properties["load"] = rounded(load).into();
        }
        features.push(feature("LineString", json!(line), properties));
        for (order, stop) in route.stops.iter().enumerate() {
            let mut properties = json!({
                "route": number + 1,
                "order": order,
                "id": instance.sites().ids()[stop.node],
                "name": name(instance, stop.node),
                "arrival": rounded(stop.arrival),
            });
            if let Some(waiting) = stop.waiting {
                properties["waiting"] = rounded(waiting).into();
            }
            if let Some(time) = instance.times().and_then(|times| times.of_day(stop.arrival)) {
                properties["arrival"] = time.into();
            }
            if let (Some(amount), Some((what, _))) = (stop.amount, instance.amounts()) {
                properties[what] = rounded(amount).into();
            }
            features.push(feature("Point", json!(place(instance, stop.node)), properties));
        }
    }
    let mut text = json!({"type": "FeatureCollection", "features": features}).to_string();
    text.push('\n');
    text
}

fn feature(kind: &str, coordinates: Value, properties: Value) -> Value {
    json!({"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties})
}

/// A `rte` for each route, with a `rtept` for each stop.
pub(super) fn gpx(instance: &Instance, solution: &[usize]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <gpx version=\"1.1\" creator=\"regard\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n"
        .to_owned();
    for (number, route) in Itinerary::of(instance, solution).routes.iter().enumerate() {
        let (number, about) = (number + 1, escaped(&description(instance, route)));
        text += &format!(
            "  <rte>\n    <name>route {number}</name>\n    <desc>{about}</desc>\n    <number>{number}</number>\n"
        );
        for stop in &route.stops {
            text += &point(instance, stop);
        }
        text += "  </rte>\n";
    }
    text + "</gpx>\n"
}

fn description(instance: &Instance, route: &Route) -> String {
    let (stops, length, unit) = (route.visits(), rounded(route.length), instance.sites().unit());
    let load = route.load.map(|load| format!(", load {}", rounded(load))).unwrap_or_default();
    let plural = if stops == 1 { "stop" } else { "stops" };
    format!("{stops} {plural}, {length} {unit}{load}")
}

fn point(instance: &Instance, stop: &Stop) -> String {
    let ([longitude, latitude], name) = (place(instance, stop.node), escaped(name(instance, stop.node)));
    let about = match stop.waiting {
        Some(_) => {
            let of_day = instance.times().and_then(|times| times.of_day(stop.arrival));
            format!("at {}", of_day.unwrap_or_else(|| rounded(stop.arrival).to_string()))
        }
        None => format!("after {} {}", rounded(stop.arrival), instance.sites().unit()),
    };
    let amount = stop.amount.zip(instance.amounts()).filter(|(amount, _)| *amount > 0.0);
    let amount = amount.map(|(amount, (what, _))| format!(", {what} {}", rounded(amount))).unwrap_or_default();
    format!(
        "    <rtept lat=\"{latitude}\" lon=\"{longitude}\">\n      <name>{name}</name>\n      <desc>{about}{amount}</desc>\n    \
         </rtept>\n"
    )
}

/// Text as XML holds it; control characters and U+FFFE and U+FFFF, which it cannot hold, are left out.
fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => all.push(c),
        }
    }
    all
}
