//! Groups: stars of texts as lists of places, without those that are part of another group.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use codeweaver_git::BString;

use super::Class;
use super::definitions::Definitions;
use super::stars::{Ray, Star};
use super::texts::Text;

/// Definitions that are copies of each other.
#[derive(Debug, Clone)]
pub struct Group {
    /// The class of the least similar member.
    pub class: Class,
    /// At least two, sorted by path and line.
    pub members: Vec<Member>,
    /// Position of the member that the others were compared with.
    pub reference: usize,
    /// Estimated number of lines that go if the members become one.
    pub saved_lines: u32,
}

/// A definition, or a file, at one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub path: BString,
    /// First and last line, 1-based, inclusive.
    pub lines: (u32, u32),
    /// Position of the file.
    pub doc: usize,
    /// Position of the definition; `None` for a file.
    pub definition: Option<usize>,
    pub class: Class,
    /// Similarity to the reference, 0–1.
    pub similarity: f32,
}

impl Member {
    pub fn n_lines(&self) -> u32 {
        (self.lines.1 + 1).saturating_sub(self.lines.0)
    }

    fn encloses(&self, other: &Member) -> bool {
        self.path == other.path && self.lines.0 <= other.lines.0 && other.lines.1 <= self.lines.1
    }
}

impl Group {
    /// A group of `members`, one of which is at `reference`; `None` if they are fewer than two.
    fn new(mut members: Vec<Member>, reference: &Member) -> Option<Group> {
        members.sort_by(|a, b| {
            (&a.path, a.lines.0, Reverse(a.lines.1)).cmp(&(&b.path, b.lines.0, Reverse(b.lines.1)))
        });
        // A definition and one inside it cannot become one. Enclosing ones come first.
        let all = members.clone();
        members.retain(|member| !all.iter().any(|other| other != member && other.encloses(member)));
        if members.len() < 2 {
            return None;
        }

        let at = members.iter().position(|member| member == reference).unwrap_or(0);
        let others = members.iter().enumerate().filter(|(other, _)| *other != at);
        let saved: f32 = others.map(|(_, member)| member.n_lines() as f32 * member.similarity).sum();
        let class = members.iter().map(|member| member.class).max()?;
        Some(Group { class, members, reference: at, saved_lines: saved.round() as u32 })
    }

    /// The similarity of the least similar member.
    pub fn similarity(&self) -> f32 {
        self.members.iter().map(|member| member.similarity).fold(1.0, f32::min)
    }

    /// Returns whether each member is inside one of `other`, so that unifying those unifies these.
    fn is_part_of(&self, other: &Group) -> bool {
        self.members.len() <= other.members.len()
            && self.members.iter().all(|member| other.members.iter().any(|outer| outer.encloses(member)))
    }
}

/// The groups of `stars`, in no particular order.
pub fn of_stars(definitions: &Definitions<'_>, texts: &[Text], stars: &[Star]) -> Vec<Group> {
    stars.iter().filter_map(|star| of_star(definitions, texts, star)).collect()
}

fn of_star(definitions: &Definitions<'_>, texts: &[Text], star: &Star) -> Option<Group> {
    let centre = Ray { text: star.centre, class: Class::Identical, similarity: 1.0 };
    let mut members = Vec::new();

    for ray in [centre].iter().chain(&star.others) {
        for &at in &texts[ray.text as usize].definitions {
            let definition = &definitions.list[at];
            members.extend(definitions.docs[definition.doc].paths.iter().map(|path| Member {
                path: path.clone(),
                lines: definition.lines(),
                doc: definition.doc,
                definition: Some(at),
                class: ray.class,
                similarity: ray.similarity,
            }));
        }
    }

    let reference = members.first()?.clone();
    Group::new(members, &reference)
}

/// The files that are at several paths.
pub fn of_files(definitions: &Definitions<'_>) -> Vec<Group> {
    let copied = definitions.docs.iter().enumerate().filter(|(_, doc)| doc.paths.len() > 1);
    let groups = copied.filter_map(|(at, doc)| {
        let members = doc.paths.iter().map(|path| Member {
            path: path.clone(),
            lines: (1, doc.n_lines),
            doc: at,
            definition: None,
            class: Class::Identical,
            similarity: 1.0,
        });

        let members: Vec<Member> = members.collect();
        Group::new(members.clone(), members.first()?)
    });
    groups.collect()
}

/// Sorts groups by the lines that they save, and removes those that are part of another.
pub fn sorted(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by(|a, b| {
        let place = |group: &Group| (group.members[0].path.clone(), group.members[0].lines);
        b.saved_lines.cmp(&a.saved_lines).then_with(|| place(a).cmp(&place(b)))
    });

    let mut by_path: FxHashMap<BString, Vec<usize>> = FxHashMap::default();
    let mut kept: Vec<Group> = Vec::new();
    for group in groups {
        // The group that has a member around the first of these has one around all.
        let around = by_path.get(&group.members[0].path).map_or(&[][..], Vec::as_slice);
        if around.iter().any(|&other| group.is_part_of(&kept[other])) {
            continue;
        }

        let mut paths: Vec<&BString> = group.members.iter().map(|member| &member.path).collect();
        paths.dedup();
        for path in paths {
            by_path.entry(path.clone()).or_default().push(kept.len());
        }
        kept.push(group);
    }

    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(path: &str, lines: (u32, u32)) -> Member {
        let (class, similarity) = (Class::Identical, 1.0);
        Member { path: path.into(), lines, doc: 0, definition: None, class, similarity }
    }

    fn group(members: &[Member]) -> Option<Group> {
        Group::new(members.to_vec(), &members[0])
    }

    #[test]
    fn what_is_inside_a_larger_group_is_left_out() {
        let classes = group(&[member("b", (1, 90)), member("a", (1, 90))]).unwrap();
        let methods = group(&[member("a", (5, 15)), member("b", (5, 15))]).unwrap();
        let elsewhere = group(&[member("a", (20, 30)), member("b", (20, 30)), member("c", (1, 11))]).unwrap();
        assert_eq!((&classes.members[0].path[..], classes.reference), (&b"a"[..], 1));
        let kept = sorted(vec![methods, classes, elsewhere]);
        let saved: Vec<u32> = kept.iter().map(|group| group.saved_lines).collect();
        assert_eq!(saved, [90, 22]);
    }

    #[test]
    fn several_methods_of_one_class_are_not_part_of_its_copies() {
        let classes = group(&[member("a", (1, 90)), member("b", (1, 90))]).unwrap();
        let methods = [(5, 15), (20, 30)].map(|lines| [member("a", lines), member("b", lines)]).concat();
        assert_eq!(sorted(vec![classes, group(&methods).unwrap()]).len(), 2);
    }

    #[test]
    fn a_definition_inside_another_is_no_copy_of_it() {
        assert!(group(&[member("a", (1, 9)), member("a", (2, 8))]).is_none());
        let three = group(&[member("a", (1, 9)), member("a", (2, 8)), member("b", (1, 9))]).unwrap();
        assert_eq!(three.members.len(), 2);
    }
}
