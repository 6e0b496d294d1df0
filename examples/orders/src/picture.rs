//! Draws plays as sequence charts, and mazes.

use core::fmt::Write as _;

use samovar_orders::pacmen::{Maze, SIDES, WALLS};
use samovar_orders::play::{Play, What};
use samovar_orders::scenes::Scene;

/// The width of a chart, and the room above and below its lines.
const WIDTH: f64 = 300.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 14.0;
/// The length of a chart's lines.
const LENGTH: f64 = 300.0;

/// A chart: each member is a line, time runs down.
pub(crate) fn chart(scene: &Scene, play: &Play, lasts: f64) -> String {
    let width = WIDTH / scene.roles.len() as f64;
    let x = |role: usize| width * (role as f64 + 0.5);
    let y = |at: f64| ABOVE + LENGTH * at.max(0.0) / lasts;
    let height = ABOVE + LENGTH + BELOW;
    let mut svg = format!(
        "<svg viewBox='0 0 {WIDTH} {height}' role='img' aria-label='Messages \
         between the members; time runs down'>"
    );
    for (role, name) in scene.roles.iter().enumerate() {
        let (x, end) = (x(role), ABOVE + LENGTH);
        let _ = write!(
            svg,
            "<text class=role x={x} y=20>{name}</text>\
             <line class=life x1={x} y1={ABOVE} x2={x} y2={end} />"
        );
    }
    let said = |line: usize| {
        play.records.iter().find(|record| record.what == What::Said(line))
    };
    for record in &play.records {
        let (to, at) = (x(record.role), y(record.at));
        match record.what {
            What::Heard(line) => {
                let Some(said) = said(line) else { continue };
                let (from, since) = (x(said.role), y(said.at));
                let _ = write!(
                    svg,
                    "<line class='way line{line}' x1={from} y1={since} \
                     x2={to} y2={at} />\
                     <circle class=line{line} cx={to} cy={at} r=4 />"
                );
            }
            What::Said(line) => {
                let text = scene.lines[line].text;
                // A text at the chart's edge stands inside.
                let anchor = match to {
                    to if to < WIDTH * 0.3 => "start",
                    to if to > WIDTH * 0.7 => "end",
                    _ => "middle",
                };
                let shift = match anchor {
                    "start" => 8.0,
                    "end" => -8.0,
                    _ => 0.0,
                };
                let (text_x, text_y) = (to + shift, at - 6.0);
                let _ = write!(
                    svg,
                    "<rect class=line{line} x={} y={} width=8 height=8 />\
                     <text class='said line{line}' x={text_x} y={text_y} \
                     text-anchor={anchor}>{text}</text>",
                    to - 4.0,
                    at - 4.0
                );
            }
            What::NewHost => {
                let _ = write!(
                    svg,
                    "<path class=host d='M{to} {} l5 5 l-5 5 l-5 -5 z'>\
                     <title>Another member hosts</title></path>",
                    at - 5.0
                );
            }
        }
    }
    svg + "</svg>"
}

/// A screen of the maze.
pub(crate) fn maze(maze: &Maze) -> String {
    let mut svg = format!(
        "<svg class=maze viewBox='0 0 {} {}' role=img aria-label='A maze'>",
        SIDES[0], SIDES[1]
    );
    for (row, walls) in WALLS.iter().enumerate() {
        for (column, cell) in walls.bytes().enumerate() {
            let bit = 1_u64 << (row * SIDES[0] + column);
            let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
            if cell == b'#' {
                let _ = write!(
                    svg,
                    "<rect class=wall x={column} y={row} width=1 height=1 />"
                );
            } else if maze.pellets & bit != 0 {
                let _ =
                    write!(svg, "<circle class=pellet cx={x} cy={y} r=.1 />");
            }
        }
    }
    for (cell, class) in maze.cells.iter().zip(["red", "blue"]) {
        let cell = usize::from(*cell);
        let x = (cell % SIDES[0]) as f64 + 0.5;
        let y = (cell / SIDES[0]) as f64 + 0.5;
        let _ = write!(svg, "<circle class={class} cx={x} cy={y} r=.42 />");
    }
    svg + "</svg>"
}
