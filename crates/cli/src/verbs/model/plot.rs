//! A sweep as a picture: lines over the first swept parameter, one for each figure and each value of the others.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::document::{FigureName, ModelDocument, PointDocument, Value};
use crate::figure;

/// Width and height in pixels.
const SIZE: (u32, u32) = (880, 520);

/// The most lines that a reader can tell apart.
const LINES: usize = 8;

/// Colours that the colour-blind can tell apart (Okabe and Ito, 2008), black last.
const COLOURS: [RGBColor; LINES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(140, 140, 0),
    RGBColor(0, 0, 0),
];

/// A line: its name and its points, in pieces where a point between them has no answer.
struct Line {
    name: String,
    pieces: Vec<Vec<(f64, f64)>>,
}

/// The picture.
pub fn svg(document: &ModelDocument) -> Result<String> {
    let (lines, unit) = lines(document)?;
    let all = || lines.iter().flat_map(|line| line.pieces.iter().flatten());
    let (x0, x1) = ends(all().map(|point| point.0));
    let (_, y1) = ends(all().map(|point| point.1));
    let y0 = all().map(|point| point.1).fold(0.0, f64::min);
    let wrong = |error: &dyn std::fmt::Display| anyhow!("drawing: {error}");
    let mut picture = String::new();
    {
        let root = SVGBackend::with_string(&mut picture, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(|e| wrong(&e))?;
        let fixed: Vec<String> =
            document.parameters.iter().map(|(name, text)| format!("{name} {text}")).collect();
        let mut chart = ChartBuilder::on(&root)
            .caption(
                [vec![document.title.clone()], fixed].concat().join(" · "),
                ("sans-serif", 18).into_font(),
            )
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(84)
            .build_cartesian_2d(x0..x1, y0..y1 * 1.05)
            .map_err(|e| wrong(&e))?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc(document.sweep[0].as_str())
            .x_label_formatter(&|x| figure::text(*x, tollway_model::Unit::Count))
            .y_label_formatter(&|y| figure::text(*y, unit))
            .draw()
            .map_err(|e| wrong(&e))?;
        for (line, colour) in lines.iter().zip(COLOURS) {
            for (i, piece) in line.pieces.iter().enumerate() {
                let series = LineSeries::new(piece.iter().copied(), colour.stroke_width(2)).point_size(3);
                let drawn = chart.draw_series(series).map_err(|e| wrong(&e))?;
                if i == 0 {
                    drawn.label(&line.name).legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2))
                    });
                }
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(|e| wrong(&e))?;
        root.present().map_err(|e| wrong(&e))?;
    }
    Ok(picture)
}

/// The lines, and the unit that all their figures have.
fn lines(document: &ModelDocument) -> Result<(Vec<Line>, tollway_model::Unit)> {
    let shown = shown(document);
    let Some(unit) = shown.first().map(|figure| figure.of) else {
        return Err(wanted("there is no figure to draw", "name one with --figure").into());
    };
    if let Some(other) = shown.iter().find(|figure| figure.of != unit) {
        let reason = format!("{} and {} have different units", shown[0].name, other.name);
        return Err(wanted(&reason, "name figures of one unit with --figure").into());
    }
    let first = &document.sweep[0];
    let mut lines: Vec<Line> = Vec::new();
    for figure in &shown {
        for point in &document.points {
            let others = document.sweep[1..].iter().filter_map(|name| Some((name, point.at.get(name)?)));
            let others: Vec<String> = others.map(|(name, text)| format!("{name} {text}")).collect();
            let name = [vec![figure.name.clone()], others].concat().join(" · ");
            let at = match lines.iter().position(|line| line.name == name) {
                Some(at) => at,
                None if lines.len() == LINES => {
                    return Err(
                        wanted(&format!("that makes more than {LINES} lines"), "sweep fewer values").into()
                    );
                }
                None => {
                    lines.push(Line { name, pieces: vec![Vec::new()] });
                    lines.len() - 1
                }
            };
            let pieces = &mut lines[at].pieces;
            match point.figures.get(&figure.name) {
                Some(y) => {
                    if let Some(piece) = pieces.last_mut() {
                        piece.push((number(point, first)?, *y));
                    }
                }
                None => pieces.push(Vec::new()),
            }
        }
    }
    lines.iter_mut().for_each(|line| line.pieces.retain(|piece| !piece.is_empty()));
    Ok((lines, unit))
}

/// What is drawn where nothing was asked for: mean response and its p99, or the first figure.
fn shown(document: &ModelDocument) -> Vec<&FigureName> {
    if document.figures.len() <= LINES && document.figures.windows(2).all(|pair| pair[0].of == pair[1].of) {
        return document.figures.iter().collect();
    }
    let named = |name: &str| document.figures.iter().find(|figure| figure.name == name);
    let usual: Vec<&FigureName> = ["response.mean", "response.p99"].into_iter().filter_map(named).collect();
    if usual.is_empty() { document.figures.iter().take(1).collect() } else { usual }
}

/// The value of the swept parameter here.
fn number(point: &PointDocument, name: &str) -> Result<f64> {
    match point.at.get(name) {
        Some(Value::Number(value)) => Ok(*value),
        _ => Err(wanted("what is swept first has no place on an axis", "sweep a number first").into()),
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low < high { (low, high) } else { (low - 0.5 * low.abs(), low + 0.5 * low.abs().max(1e-12)) }
}

fn wanted(reason: &str, remedy: &str) -> tollway_model::ModelError {
    tollway_model::ModelError::parameter("--plot", reason, remedy)
}
