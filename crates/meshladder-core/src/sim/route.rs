//! Route tables.
