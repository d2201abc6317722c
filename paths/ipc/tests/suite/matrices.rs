//! The product of matrices against the definition.

use tollway_ipc::engine::matrix::Matrices;

#[test]
fn a_product_is_what_its_definition_says() {
    for rows in [0, 1, 2, 3, 10, 20, 30, 64] {
        let mut matrices = Matrices::new(rows);
        let sum = matrices.multiply();
        let [left, right, product] = matrices.elements();
        let mut total = 0u64;
        for row in 0..rows {
            for column in 0..rows {
                let exact: u128 = (0..rows)
                    .map(|k| u128::from(left[row * rows + k]) * u128::from(right[k * rows + column]))
                    .sum();
                assert_eq!(
                    product[row * rows + column],
                    (exact % (1 << 32)) as u32,
                    "{rows}: {row}, {column}"
                );
                total += u64::from(product[row * rows + column]);
            }
        }
        assert_eq!(sum, total);
        // The next product is the same, and no two factors are.
        assert_eq!(matrices.multiply(), sum);
        assert!(rows == 0 || matrices.elements()[0] != matrices.elements()[1]);
    }
}
