//! The one tokeniser that counts chunk sizes, limits and budgets (C10).
