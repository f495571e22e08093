//! Errors of the library as Python exceptions with their hint.

use std::any::Any;
use std::io;

use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyNotADirectoryError, PyOSError, PyPermissionError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};
use regard::Error;
use regard::data::Fault;

create_exception!(
    regard,
    InputError,
    PyValueError,
    "An array, a file, a setting or a model is at fault. `hint` says what to do about it, or is None."
);
create_exception!(regard, ArrayTypeError, PyTypeError, "An argument has another type than the one needed.");
create_exception!(
    regard,
    ComputeError,
    PyRuntimeError,
    "A computation failed: a network diverged, or computed a number that is not finite."
);
create_exception!(
    regard,
    InternalError,
    PyRuntimeError,
    "A fault of this package; please report it with the message and the input."
);

/// An exception with its hint, as its text and as its attribute `hint`.
pub(crate) fn with_hint<E: PyTypeInfo>(message: &str, hint: Option<&str>) -> PyErr {
    let (message, hint) = (in_python(message), hint.map(in_python));
    let text = match &hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    };
    Python::attach(|py| {
        let error = PyErr::from_type(E::type_object(py), (text,));
        match error.value(py).setattr("hint", hint) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}

/// A value of the caller that cannot be taken.
pub(crate) fn invalid(what: &str, reason: &str, hint: Option<&str>) -> PyErr {
    with_hint::<InputError>(&format!("{what}: {reason}"), hint)
}

/// The exception for an error of the library.
pub(crate) fn raised(error: &Error) -> PyErr {
    let (message, hint) = (error.to_string(), error.hint());
    match error.root() {
        // What the caller's own function raised goes on as it is.
        Error::Foreign(error) if error.is::<PyErr>() => Python::attach(|py| {
            let raised = error.downcast_ref::<PyErr>().map(|error| error.clone_ref(py));
            raised.unwrap_or_else(|| with_hint::<InternalError>(&message, None))
        }),
        Error::Io { source, .. } | Error::Data(regard::data::Error::Io { source, .. }) => of_file(source, &message, hint),
        Error::NotFinite { .. } | Error::Diverged { .. } | Error::State { .. } | Error::Device(_) => {
            with_hint::<ComputeError>(&message, hint)
        }
        _ => with_hint::<InputError>(&message, hint),
    }
}

/// The exception for a fault of arrays in memory.
pub(crate) fn faulty(fault: &Fault) -> PyErr {
    match fault.place() {
        "" => with_hint::<InputError>(fault.reason(), fault.advice()),
        place => with_hint::<InputError>(&format!("{place}: {}", fault.reason()), fault.advice()),
    }
}

/// The exception for a panic, which is a fault of the library.
pub(crate) fn panicked(cause: &(dyn Any + Send)) -> PyErr {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
    with_hint::<InternalError>(&format!("internal error: {text}"), Some("please report it with the input"))
}

fn of_file(source: &io::Error, message: &str, hint: Option<&str>) -> PyErr {
    match source.kind() {
        io::ErrorKind::NotFound => with_hint::<PyFileNotFoundError>(message, hint),
        io::ErrorKind::PermissionDenied => with_hint::<PyPermissionError>(message, hint),
        io::ErrorKind::IsADirectory => with_hint::<PyIsADirectoryError>(message, hint),
        io::ErrorKind::NotADirectory => with_hint::<PyNotADirectoryError>(message, hint),
        _ => with_hint::<PyOSError>(message, hint),
    }
}

/// Flags of the command line that have another name as an argument.
const ARGUMENTS: [(&str, &str); 4] = [("time", "time_limit"), ("set", "settings"), ("levels", "level"), ("out", "out")];

/// A message of the library with arguments of Python in place of flags: `--max-length` is `max_length`.
fn in_python(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let length = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let begins = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        text.push_str(before);
        if begins && after.starts_with(|c: char| c.is_ascii_lowercase()) {
            let flag = after[..length].trim_end_matches('-');
            let known = ARGUMENTS.iter().find(|(name, _)| *name == flag).map(|(_, argument)| (*argument).to_owned());
            text.push_str(&known.unwrap_or_else(|| flag.replace('-', "_")));
            text.push_str(&after[flag.len()..length]);
            rest = &after[length..];
        } else {
            text.push_str("--");
            rest = after;
        }
    }
    text + rest
}

/// Results of the library as those of Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised(&error))
    }
}

impl<T> OrRaise<T> for Result<T, regard::data::Error> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised(&error.into()))
    }
}

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("ArrayTypeError", py.get_type::<ArrayTypeError>())?;
    module.add("ComputeError", py.get_type::<ComputeError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}
