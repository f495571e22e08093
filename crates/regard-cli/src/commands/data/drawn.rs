//! Random instances on their way into files.

use regard::data::routes::cvrp::Cvrp;
use regard::data::routes::drawn::{DrawnCvrp, DrawnOrienteering, DrawnPrizeCollecting};
use regard::data::routes::formats::Instance;
use regard::data::routes::metric::Metric;
use regard::data::routes::orienteering::Orienteering;
use regard::data::routes::paper::{self, PaperSet};
use regard::data::routes::prize_collecting::PrizeCollecting;
use regard::data::routes::{generate, tsp::Tsp};
use regard::routes::problem::Drawing;

use crate::args::ProblemName;

/// Factor of the coordinates in TSPLIB files and their kin.
const ENLARGED: f64 = 1_000_000.0;

/// One instance in the unit square.
pub(super) enum Drawn {
    Tsp(Vec<[f32; 2]>),
    Cvrp(DrawnCvrp, bool),
    Orienteering(DrawnOrienteering),
    PrizeCollecting(DrawnPrizeCollecting, bool),
}

/// Instances of one of the paper's sets.
pub(super) fn paper_set(name: &str, limit: Option<usize>) -> anyhow::Result<Vec<Drawn>> {
    Ok(match PaperSet::parse(name)? {
        PaperSet::Tsp { n } => paper::test_set(&format!("tsp{n}"), limit)?.into_iter().map(Drawn::Tsp).collect(),
        PaperSet::Cvrp { n } => cvrp(paper::cvrp_set(n, limit)?, false),
        PaperSet::Sdvrp { n } => cvrp(paper::cvrp_set(n, limit)?, true),
        PaperSet::Orienteering { n, prizes } => {
            paper::orienteering_set(prizes, n, limit)?.into_iter().map(Drawn::Orienteering).collect()
        }
        PaperSet::PrizeCollecting { n } => prizes(paper::prize_collecting_set(n, limit)?, false),
        PaperSet::StochasticPrizeCollecting { n } => prizes(paper::prize_collecting_set(n, limit)?, true),
    })
}

/// Random instances with `n` places, a depot not counted.
pub(super) fn random(problem: ProblemName, drawing: &Drawing, seed: u64, count: usize, n: usize) -> Vec<Drawn> {
    match problem {
        ProblemName::Tsp => generate::tsp(drawing.points, seed, count, n).into_iter().map(Drawn::Tsp).collect(),
        ProblemName::Cvrp => cvrp(generate::cvrp_with(drawing.points, seed, count, n), false),
        ProblemName::Sdvrp => cvrp(generate::cvrp_with(drawing.points, seed, count, n), true),
        ProblemName::Op => {
            generate::orienteering(seed, count, n, drawing.prizes).into_iter().map(Drawn::Orienteering).collect()
        }
        ProblemName::Pctsp => prizes(generate::prize_collecting(seed, count, n), false),
        ProblemName::Spctsp => prizes(generate::prize_collecting(seed, count, n), true),
    }
}

fn cvrp(drawn: Vec<DrawnCvrp>, split: bool) -> Vec<Drawn> {
    drawn.into_iter().map(|drawn| Drawn::Cvrp(drawn, split)).collect()
}

fn prizes(drawn: Vec<DrawnPrizeCollecting>, stochastic: bool) -> Vec<Drawn> {
    drawn.into_iter().map(|drawn| Drawn::PrizeCollecting(drawn, stochastic)).collect()
}

impl Drawn {
    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.points().len()
    }

    fn points(&self) -> &[[f32; 2]] {
        match self {
            Drawn::Tsp(points) => points,
            Drawn::Cvrp(drawn, _) => &drawn.points,
            Drawn::Orienteering(drawn) => &drawn.points,
            Drawn::PrizeCollecting(drawn, _) => &drawn.points,
        }
    }

    /// The instance as a file holds it; `enlarged` for formats that know whole distances only, which
    /// in the unit square would all be 0 or 1.
    pub(super) fn instance(&self, name: &str, enlarged: bool) -> anyhow::Result<Instance> {
        let sites = sites(name, self.points(), enlarged)?;
        let doubles = |values: &[f32]| values.iter().copied().map(shortest).collect::<Vec<f64>>();
        let scale = if enlarged { ENLARGED } else { 1.0 };
        Ok(match self {
            Drawn::Tsp(_) => Instance::Tsp(sites),
            Drawn::Cvrp(drawn, split) => {
                let demands = drawn.demands.iter().map(|&demand| f64::from(demand)).collect();
                let instance = Cvrp::new(sites, demands, f64::from(drawn.capacity))?;
                Instance::Cvrp(if *split { instance.with_split() } else { instance })
            }
            Drawn::Orienteering(drawn) => {
                let longest = shortest(drawn.max_length) * scale;
                Instance::Orienteering(Orienteering::new(sites, doubles(&drawn.prizes), longest)?)
            }
            Drawn::PrizeCollecting(drawn, stochastic) => {
                let penalties = doubles(&drawn.penalties).into_iter().map(|penalty| penalty * scale).collect();
                let instance = PrizeCollecting::new(sites, doubles(&drawn.prizes), penalties, 1.0)?;
                Instance::PrizeCollecting(match stochastic {
                    true => instance.with_real_prizes(doubles(&drawn.real_prizes))?,
                    false => instance,
                })
            }
        })
    }
}

fn sites(name: &str, points: &[[f32; 2]], enlarged: bool) -> anyhow::Result<Tsp> {
    if !enlarged {
        return Ok(Tsp::euclidean(name, points.iter().map(|point| point.map(shortest)).collect())?);
    }
    let whole = |value: f32| (f64::from(value) * ENLARGED).round();
    let points = points.iter().map(|&[x, y]| [whole(x), whole(y), 0.0]).collect();
    let instance = Tsp::new(name, Metric::Euc2d, points)?;
    Ok(instance.with_comment(format!("random in the unit square, coordinates times {ENLARGED}")))
}

/// The number with the fewest digits that is this `f32` when read as one: 0.1, not 0.10000000149.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}
