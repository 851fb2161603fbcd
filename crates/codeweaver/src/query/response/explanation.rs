//! Explanation: the composition of a score, and the values from which a relevance was computed.

/// The composition of a score: the weighted features.
///
/// `score` is the sum of all others × `prior` × `part` × `intent`. `lexical`, `dense`, `definition` and
/// `importance` are those of the best chunk, the others those of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[allow(missing_docs, reason = "the fields are the features of the same names, times their weights")]
#[non_exhaustive]
pub struct Explanation {
    pub lexical: f32,
    pub dense: f32,
    pub definition: f32,
    pub importance: f32,
    pub file_sum: f32,
    pub second_chunk: f32,
    pub file_lexical: f32,
    pub size: f32,
    pub path: f32,
    pub path_dense: f32,
    /// Not above 0.
    pub depth: f32,
    /// Not above 0.
    pub name_words: f32,
    pub mention: f32,
    pub prior: f32,
    pub part: f32,
    pub intent: f32,
    pub score: f32,
    /// The parts of a long query, whose sum times `factor` is then the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartScores>,
    /// Values from which the relevance of a long query was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportEvidence>,
}

impl Explanation {
    /// Lexical and dense contribution of the chunk.
    pub fn similarity(&self) -> f32 {
        self.lexical + self.dense
    }

    /// Contribution of the chunk.
    pub fn chunk(&self) -> f32 {
        self.lexical + self.dense + self.definition + self.importance
    }

    /// Contribution of the file.
    pub(crate) fn file(&self) -> f32 {
        self.file_sum
            + self.second_chunk
            + self.file_lexical
            + self.size
            + self.path
            + self.path_dense
            + self.depth
            + self.name_words
            + self.mention
    }
}

/// Contributions of the parts of a report to the score of a file, before its factor.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct PartScores {
    /// The title, as a query of its own.
    pub title: f32,
    /// The words of the whole text.
    pub text: f32,
    /// Frames of stack traces.
    pub frames: f32,
    /// Named paths.
    pub paths: f32,
    /// Named modules.
    pub modules: f32,
    /// Messages that the file has verbatim.
    pub messages: f32,
    /// Definitions of the named symbols.
    pub names: f32,
    /// Factor for tests, documents and data.
    pub factor: f32,
}

impl PartScores {
    /// The score before the factor.
    pub(crate) fn sum(&self) -> f32 {
        self.title + self.text + self.frames + self.paths + self.modules + self.messages + self.names
    }
}

/// Values from which the relevance of a file is computed. They compare between queries and repositories.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Evidence {
    /// Cosine of the nearest chunk, −1 to 1.
    pub cosine: f32,
    /// Share of the query, weighted by idf, that the best chunk of any file covers, 0–1.
    pub coverage: f32,
    /// Share of the words of the query that occur nowhere in the repository, 0–1.
    pub absent: f32,
    /// Share of the words of the query that occur only in other forms (`valid` for `validation`), 0–1.
    pub inflected: f32,
    /// Fit of the name of a definition in the file to a name in the query, 0–1.
    pub definition: f32,
    /// Share of the words of the query in the path, 0–1.
    pub path: f32,
    /// Number of words of the query as a share of 8, at most 1.
    pub words: f32,
    /// ln(1 + rows of the view) / 10, at most 1: the more rows there are, the nearer is something by chance.
    pub rows: f32,
}

impl Evidence {
    /// Number of values.
    pub const LEN: usize = 8;

    /// The values in the order of the fields.
    pub fn values(&self) -> [f32; Evidence::LEN] {
        let Evidence { cosine, coverage, absent, inflected, definition, path, words, rows } = *self;
        [cosine, coverage, absent, inflected, definition, path, words, rows]
    }
}

/// Values from which the relevance of a report is computed, besides whether it names the best file. They
/// compare between reports and repositories.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct ReportEvidence {
    /// Cosine of the title and the nearest chunk of its best file, 0–1.
    pub title_cosine: f32,
    /// Share of the title, weighted by idf, that the best chunk of any file covers, 0–1.
    pub title_coverage: f32,
    /// As `title_cosine`, of title and prose.
    pub text_cosine: f32,
    /// As `title_coverage`, of the whole text.
    pub text_coverage: f32,
    /// Share of the words outside of code blocks that no chunk has, 0–1.
    pub absent_words: f32,
    /// Share of the identifiers outside of code blocks that no chunk has, 0–1.
    pub absent_names: f32,
    /// 1 if there are such identifiers, else 0.
    pub has_names: f32,
    /// ln(1 + rows of the view) / 10, at most 1.
    pub rows: f32,
}

impl ReportEvidence {
    /// The values in the order of the fields.
    pub(crate) fn values(&self) -> [f32; 8] {
        let &ReportEvidence { title_cosine, title_coverage, text_cosine, text_coverage, .. } = self;
        let &ReportEvidence { absent_words, absent_names, has_names, rows, .. } = self;

        [
            title_cosine,
            title_coverage,
            text_cosine,
            text_coverage,
            absent_words,
            absent_names,
            has_names,
            rows,
        ]
    }
}
