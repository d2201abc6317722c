//! The server's work as in the study: the product of two matrices of n×n whole numbers for each request.

use std::hint::black_box;

/// Two matrices and room for their product.
#[derive(Clone, Debug)]
pub struct Matrices {
    rows: usize,
    left: Vec<u32>,
    right: Vec<u32>,
    product: Vec<u32>,
}

impl Matrices {
    /// The largest number of rows.
    pub const MOST: usize = 256;

    /// Of so many rows and columns, filled with numbers that are always the same.
    pub fn new(rows: usize) -> Matrices {
        let filled = |seed: u32| {
            // The generator of Numerical Recipes (W. H. Press and others, second edition, section 7.1, "quick and dirty").
            let mut number = seed;
            let mut next = || {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                number >> 8
            };
            (0..rows * rows).map(|_| next()).collect()
        };
        Matrices { rows, left: filled(1), right: filled(2), product: vec![0; rows * rows] }
    }

    /// Multiplies them, modulo 2^32; the sum of the product's elements.
    pub fn multiply(&mut self) -> u64 {
        let Matrices { rows, left, right, product } = self;
        if *rows == 0 {
            return 0;
        }
        let (left, right) = (black_box(&*left), black_box(&*right));
        product.fill(0);
        for (row, into) in left.chunks_exact(*rows).zip(product.chunks_exact_mut(*rows)) {
            for (factor, line) in row.iter().zip(right.chunks_exact(*rows)) {
                for (to, element) in into.iter_mut().zip(line) {
                    *to = to.wrapping_add(factor.wrapping_mul(*element));
                }
            }
        }
        black_box(&*product).iter().map(|element| u64::from(*element)).sum()
    }

    /// The matrices themselves, row by row, and what was made of them last.
    pub fn elements(&self) -> [&[u32]; 3] {
        [&self.left, &self.right, &self.product]
    }
}
