//! Time series: panels of series on one clock, read from files, and their preparation for training.
//!
//! A [`Panel`] holds the values; [`formats`] reads and writes them; [`Split`], [`Scaler`] and [`Windows`] prepare
//! training; [`generate`] makes series to learn from; [`baseline`] forecasts without a model. Forecasts are measured by
//! [`crate::metrics::forecast`].
//!
//! ```
//! use regard_data::series::formats::{ReadOptions, parse};
//! use regard_data::series::{Part, Scaler, Split, Windows, baseline};
//!
//! let rows: String = (0..48).map(|hour| format!("2020-01-{:02} {:02}:00,{}\n", 1 + hour / 24, hour % 24, hour % 24)).collect();
//! let mut panel = parse(&format!("date,load\n{rows}"), "load.csv".as_ref(), &ReadOptions::default())?.panel;
//! assert_eq!((panel.clock().frequency().to_string(), panel.clock().season()), ("hour".into(), 24));
//! let parts = Split::Last { validation: 0, test: 6 }.parts(&panel)?;
//! Scaler::fit(&panel, &parts)?.apply(&mut panel)?;
//! let windows = Windows::new(&panel, &parts, Part::Test, 24, 6)?;
//! let (mut inputs, mut observed, mut forecast) = ([0.0; 24], [true; 24], [0.0; 6]);
//! windows.get(0).copy_look_back(&panel, &mut inputs, &mut observed);
//! baseline::seasonal_naive(&inputs, 24, &mut forecast);
//! assert_eq!(forecast[0], inputs[0]);
//! assert_eq!(panel.stamp(0, 48)?, "2020-01-03 00:00");
//! # Ok::<(), regard_data::Error>(())
//! ```

pub mod baseline;
mod clock;
pub mod formats;
pub mod generate;
mod panel;
mod scaler;
mod split;
mod windows;

pub use self::clock::{Clock, Frequency, Unit};
pub use self::panel::{Panel, Series, are_aligned};
pub use self::scaler::{Scaler, moments};
pub use self::split::{Part, Parts, Split};
pub use self::windows::{Window, Windows, fill_missing};
