//! Pickles of lists, tuples and numbers: what a program of Python's writes with `pickle.dump`.
//!
//! Nothing that would have to be run is understood: a pickle that names or calls anything of Python's is refused.

mod cursor;
mod literal;
mod machine;
mod value;

pub use self::machine::load;
pub use self::value::{Heap, Value};
