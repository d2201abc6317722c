//! Numerical methods that several models share: integrals, roots, functions that must not cancel.

pub(crate) mod elimination;
pub(crate) mod entire;
pub(crate) mod quadrature;
pub(crate) mod quantile;
pub(crate) mod root;
