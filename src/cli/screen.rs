//! The terminal that output is displayed on.

use serde::{Deserialize, Serialize};

use super::surroundings::Surroundings;

/// Size of the terminal. Each value is `None` if stdout is not displayed on a terminal, or on one of unknown
/// size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    pub columns: Option<usize>,
    pub rows: Option<usize>,
}

/// Minimum number of columns to which lines are cut; a narrower terminal wraps them.
const MIN_COLUMNS: usize = 20;

impl Screen {
    /// Columns of a line that are left after the first `used`; unlimited without a terminal.
    pub fn columns_after(self, used: usize) -> usize {
        self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used).max(MIN_COLUMNS))
    }

    /// The terminal of stdout, also behind a pager that git has started. `COLUMNS` has precedence over the
    /// width of the terminal.
    pub fn from_surroundings(around: &Surroundings) -> Screen {
        if !around.is_displayed() {
            return Screen::default();
        }

        let columns = around.text("COLUMNS").and_then(|text| text.trim().parse().ok());
        Screen {
            columns: columns.or(around.size.map(|(columns, _)| columns.into())).filter(|&n| n > 0),
            rows: around.size.map(|(_, rows)| rows.into()).filter(|&n| n > 0),
        }
    }
}
