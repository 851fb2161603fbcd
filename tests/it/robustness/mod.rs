//! Kills, full disks, damage, concurrency, clocks and hostile input.

mod bounded_time;
pub mod campaign;
mod clock;
mod concurrency;
mod crashes;
mod damage;
mod damage_served;
mod faults;
mod fsync;
mod hidden_characters;
mod hostile_input;
mod hostile_repository;
mod memory;
pub mod mounts;
mod other_versions;
mod upgrade;
