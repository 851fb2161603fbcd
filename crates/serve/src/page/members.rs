//! Members: the repositories of a catalogue.

use maud::{Markup, html};

use codeweaver_git::{Member, MemberState};
use codeweaver_store::time;
use codeweaver_text::{ago, plural};

use super::code::{self, safe};
use super::links;
use crate::failure::Failure;
use crate::job::Work;

/// Maximum number of repositories that are listed.
const MAX_LISTED: usize = 500;

/// The repositories of a catalogue that the client may see, with their states; empty in a single repository.
///
/// # Errors
/// The list cannot be read.
pub fn list(work: &Work) -> Result<Markup, Failure> {
    if !work.app.is_catalogue {
        return Ok(html! {});
    }

    let members = work.codebase().repo.members()?;
    let visible: Vec<&Member> =
        members.all().iter().filter(|member| work.access.allows(&member.name)).collect();
    let n_more = visible.len().saturating_sub(MAX_LISTED);

    Ok(html! {
        h2 { "Repositories" " " span.count { (visible.len()) } }
        div.wide {
            table.list.members {
                thead { tr {
                    th scope="col" { "Name" } th scope="col" { "Commit" }
                    th scope="col" { "Updated" } th scope="col" { "" }
                } }
                tbody { @for member in visible.into_iter().take(MAX_LISTED) { (row(member)) } }
            }
        }
        @if n_more > 0 { p.note { (plural(n_more as u64, "more repository")) " not listed here" } }
    })
}

fn row(member: &Member) -> Markup {
    let commit = member.commit.as_deref().map(code::short_oid);

    html! {
        tr {
            th scope="row" {
                @if member.state == MemberState::Indexed {
                    a.open href=(links::files(&member.name, None)) { (safe(&member.name)) }
                } @else {
                    (safe(&member.name)) " " span.badge title=(safe(&member.error)) { "not searched" }
                }
            }
            td { @if let Some(commit) = commit { code { (commit) } } }
            td { @if member.updated > 0 { (ago(member.updated, time::now())) } }
            td { a href=(links::search(&format!("repo:{}", member.name))) { "Search here" } }
        }
    }
}
