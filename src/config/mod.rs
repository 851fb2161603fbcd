//! Settings with their origin, defaults and validation (requirement U4).

mod settings;

pub use settings::{
    ChunkerSettings, CustomDelimiter, Granularity, HnswMode, HooksMode, HooksSettings, IndexSettings,
    MarkdownSettings, ModelSettings, OverlaySettings, PolicySettings, SearchSettings, Settings,
};
