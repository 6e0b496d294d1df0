//! The relay and native robots, each in its own process, without a browser.

mod input_ends;
mod listing;
mod lost_host;
mod lost_relay;
mod maze_robots;
mod referee;
mod sleeping_robot;
mod stopped_twice;
mod strangers;
