//! Roles: purposes of files (test, example, documentation, …), and the priors of these roles.

use codeweaver_chunk::LanguageId;
use codeweaver_index::policy::PathFlags;

use super::weights::Weights;
use crate::query::intent::Intent;
use crate::query::parse::ParsedQuery;

/// Roles of a file that the query does not ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Roles {
    /// Roles by path.
    pub flags: PathFlags,
    /// Written in a markup or prose language.
    pub is_prose: bool,
    /// Written in a data language.
    pub is_data: bool,
    /// Whether the file has a role that the intent of the query asks for, or the intent asks for none.
    pub is_asked: bool,
    /// The minimum prior of documentation.
    pub docs_floor: f32,
}

impl Roles {
    /// Returns the roles of a file with these `flags` that `query` does not ask for. `language` may be empty.
    pub fn unwanted(query: &ParsedQuery, flags: PathFlags, language: &str) -> Roles {
        // A report mentions many identifiers that it does not ask for, so only its words count.
        let asked = query.terms.iter().filter(|term| !query.is_report || term.is_word());
        let asked: Vec<&str> = asked.map(|term| term.term.as_str()).collect();
        let has = |words: &[&str]| asked.iter().any(|term| words.contains(term));

        let acting = query.acting_intent();
        let wants_tests = query.asks_for_tests();
        let wants_docs = acting == Some(Intent::Document)
            || (!query.is_report && has(&["doc", "docs", "readme", "changelog", "guide", "tutorial"]));

        let wanted = [
            (PathFlags::TEST, wants_tests),
            (PathFlags::EXAMPLE, has(&["exampl", "example", "sample", "demo", "tutorial"])),
            (PathFlags::DOCS, wants_docs),
            (PathFlags::COMPAT, has(&["compat", "compatibility", "legacy", "deprecat", "polyfill"])),
            (PathFlags::BENCH, has(&["bench", "benchmark", "perf", "performance"])),
            (PathFlags::VENDORED_LIKE, false),
            (PathFlags::STUB, has(&["type", "stub", "declaration"])),
            (PathFlags::REEXPORT, has(&["export", "reexport", "index", "init"])),
        ];

        let all_flags = flags;
        let unwanted = wanted.iter().filter(|(flag, is_wanted)| flags.contains(*flag) && !is_wanted);
        let flags = unwanted.fold(PathFlags::default(), |all, (flag, _)| all | *flag);

        let language = LanguageId::by_name(language);
        let is_prose_language = language.is_some_and(LanguageId::is_prose);
        let is_prose = is_prose_language && !wants_docs;
        let is_data =
            !is_prose && language.is_some_and(LanguageId::is_data) && acting != Some(Intent::Configure);
        let is_asked = match acting {
            Some(Intent::Test) => all_flags.contains(PathFlags::TEST),
            Some(Intent::Document) => is_prose_language,
            _ => true,
        };
        let docs_floor = acting.map_or(0.0, |intent| intent.profile().docs_floor);

        Roles { flags, is_prose, is_data, is_asked, docs_floor }
    }

    /// Returns the prior: the least of the roles' priors, 1 without roles.
    pub fn prior(&self, weights: &Weights) -> f32 {
        let by_role = [
            (self.flags.contains(PathFlags::TEST), weights.prior_test),
            (self.flags.contains(PathFlags::EXAMPLE), weights.prior_example),
            (self.flags.contains(PathFlags::DOCS), weights.prior_docs.max(self.docs_floor)),
            (self.flags.contains(PathFlags::COMPAT), weights.prior_compat),
            (self.flags.contains(PathFlags::BENCH), weights.prior_bench),
            (self.flags.contains(PathFlags::VENDORED_LIKE), weights.prior_vendored),
            (self.flags.contains(PathFlags::STUB), weights.prior_stub),
            (self.flags.contains(PathFlags::REEXPORT), weights.prior_reexport),
            (self.is_prose, weights.prior_prose.max(self.docs_floor)),
            (self.is_data, weights.prior_data),
        ];

        by_role.iter().filter(|(has_role, _)| *has_role).map(|(_, prior)| *prior).fold(1.0, f32::min)
    }
}
