//! Predictions from rows of numbers: linear, kernel and tree learners, and their stack.
