//! What makes a bootstrap interval honest when only a few processes were started.
//!
//! A percentile interval over g groups is too narrow twice: the resamples vary by (g − 1)/g of what they
//! should, and it uses normal quantiles, in effect, where Student's are due. The nominal 95 % interval of a
//! mean of five normal groups holds the truth 85 % of the time (simulated). The remedy is the factor
//! `√(g/(g − 1)) · t/z` of the "expanded percentile interval" in Hesterberg (2015), "What Teachers Should
//! Know About the Bootstrap", The American Statistician 69:371. Hesterberg moves the percentiles outward by
//! that factor on the normal scale. With five groups that is one resample in a thousand, and no resample
//! leaves the range of the groups anyway. So the ordinary percentiles are taken here, and their distances
//! from the estimate are stretched by the factor, which keeps the skewness.

use crate::student::{t_two_sided, z_two_sided};

/// With this many groups or fewer the percentiles of a resample are the extremes of the sample; the standard
/// deviation of the resamples is used instead.
const TOO_FEW_FOR_PERCENTILES: usize = 3;

/// `√(g/(g − 1))`: makes up for resamples that vary too little.
pub(crate) fn spread_correction(groups: usize) -> f64 {
    let g = groups as f64;
    (g / (g - 1.0)).sqrt()
}

/// Lower and upper end from the bootstrap's percentiles and standard deviation, for two groups or more.
pub(crate) fn honest_ends(
    estimate: f64,
    percentiles: (f64, f64),
    standard_deviation: f64,
    groups: usize,
    confidence: f64,
) -> (f64, f64) {
    let t = t_two_sided(confidence, (groups - 1) as f64);
    let correction = spread_correction(groups);
    if groups <= TOO_FEW_FOR_PERCENTILES {
        let reach = t * correction * standard_deviation;
        return (estimate - reach, estimate + reach);
    }
    let stretch = correction * t / z_two_sided(confidence);
    (
        estimate - (estimate - percentiles.0).max(0.0) * stretch,
        estimate + (percentiles.1 - estimate).max(0.0) * stretch,
    )
}
