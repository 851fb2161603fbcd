//! `dataset`: makes the dataset file from `.pairs` files and a vocabulary.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use codeweaver_embed::{Vocabulary, bag_of, bag_of_path};

use super::held_out;
use super::source::{for_each_file, pair_files, repository_name};
use super::{Dataset, MAX_BAG, Repository};
use crate::pair::{Pair, PairKind, PairReader, PairWriter};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory with `.pairs` files.
    #[arg(long)]
    pairs: PathBuf,
    #[arg(long)]
    vocabulary: PathBuf,
    /// Share of the repositories of a language to hold out.
    #[arg(long, default_value_t = 0.06)]
    held_out: f64,
    /// Output file; the raw pairs of held-out repositories are written to the directory of this name plus
    /// `.held-out`.
    #[arg(long)]
    out: PathBuf,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// The bags of one repository.
#[derive(Default)]
struct Bags {
    kinds: Vec<u8>,
    languages: Vec<Box<str>>,
    /// Hashes of text and code, and of the code alone.
    hashes: Vec<(u64, u64)>,
    /// Lengths of text, code and path of each pair.
    lengths: Vec<[u16; 3]>,
    ids: Vec<u16>,
    counts: Vec<u8>,
    main_language: String,
}

pub fn run(args: &Args) -> Result<()> {
    let entries = crate::vocabulary::read(&args.vocabulary)?;
    let encoded = Vocabulary::encode(&entries)?;
    let files = pair_files(&args.pairs)?;
    let bags = for_each_file(&files, args.threads, |_, path| {
        bags_of(path, &Vocabulary::new(&encoded)?).with_context(|| format!("reading {}", path.display()))
    })?;
    let names: Vec<String> = files.iter().map(|path| repository_name(path)).collect();
    let described: Vec<(&str, &str)> =
        names.iter().zip(&bags).map(|(name, bags)| (name.as_str(), bags.main_language.as_str())).collect();
    let held_out = held_out::choose(&described, args.held_out);
    let n_read: usize = bags.iter().map(|bags| bags.kinds.len()).sum();
    let (dataset, kept) = join(entries, &names, bags, &held_out)?;
    dataset.write(&args.out)?;
    let side = held_out_folder(&args.out);
    write_held_out(&files, &held_out, &kept, &side)?;
    println!("{} of {n_read} pairs; {} entries of bags", dataset.len(), dataset.ids.len());
    print!("{}", table(&dataset));
    Ok(())
}

/// Directory of the raw pairs of held-out repositories.
pub fn held_out_folder(dataset: &Path) -> PathBuf {
    let mut name = dataset.as_os_str().to_owned();
    name.push(".held-out");
    PathBuf::from(name)
}

fn bags_of(path: &Path, vocabulary: &Vocabulary) -> Result<Bags> {
    let mut out = Bags::default();
    let mut by_language: BTreeMap<Box<str>, usize> = BTreeMap::new();
    let mut bag = Vec::new();
    for pair in PairReader::open(path)? {
        let pair = pair?;
        let language: Box<str> = pair.language.as_str().into();
        *by_language.entry(language.clone()).or_default() += 1;
        let mut lengths = [0; 3];
        let start = out.ids.len();
        for (side, text) in [&pair.text, &pair.code, &pair.path].into_iter().enumerate() {
            match side {
                2 => bag_of_path(text, vocabulary, &mut bag),
                _ => bag_of(text, vocabulary, &mut bag),
            }
            lengths[side] = push(&mut bag, &mut out);
        }
        let code = start + usize::from(lengths[0]);
        let path = code + usize::from(lengths[1]);
        out.hashes.push((
            hash_bag(&out.ids[start..path], &out.counts[start..path]),
            hash_bag(&out.ids[code..path], &out.counts[code..path]),
        ));
        out.kinds.push(pair.kind as u8);
        out.languages.push(language);
        out.lengths.push(lengths);
    }
    let main = by_language.into_iter().max_by_key(|(_, n)| *n);
    out.main_language = main.map(|(language, _)| language.into_string()).unwrap_or_default();
    Ok(out)
}

fn hash_bag(ids: &[u16], counts: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    (ids, counts).hash(&mut hasher);
    hasher.finish()
}

/// Appends a bag, cut to its [`MAX_BAG`] most frequent ids, and returns its length.
fn push(bag: &mut Vec<(u32, u32)>, out: &mut Bags) -> u16 {
    if bag.len() > MAX_BAG {
        bag.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        bag.truncate(MAX_BAG);
        bag.sort_unstable();
    }
    out.ids.extend(bag.iter().map(|&(id, _)| id as u16));
    out.counts.extend(bag.iter().map(|&(_, count)| count.min(255) as u8));
    bag.len() as u16
}

/// Joins all repositories, in order, to one dataset; also returns for each pair of each whether it was kept.
///
/// Pairs without text or code, duplicates (equal bags of text and code anywhere), and pairs of held-out
/// repositories whose code occurs in the training part are dropped.
fn join(
    vocabulary: Vec<String>,
    names: &[String],
    bags: Vec<Bags>,
    held_out: &[bool],
) -> Result<(Dataset, Vec<Vec<bool>>)> {
    let mut trained: FxHashSet<u64> = FxHashSet::default();
    for (bags, _) in bags.iter().zip(held_out).filter(|(_, held_out)| !**held_out) {
        trained.extend(bags.hashes.iter().map(|(_, code)| code));
    }
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut languages: FxHashMap<Box<str>, u8> = FxHashMap::default();
    let mut data = Dataset { vocabulary, starts: vec![0], ..Dataset::default() };
    let mut all_kept = Vec::with_capacity(bags.len());
    for ((name, bags), &held_out) in names.iter().zip(bags).zip(held_out) {
        let first = data.len();
        let mut kept = Vec::with_capacity(bags.kinds.len());
        let mut end = 0;
        for (pair, lengths) in bags.lengths.iter().enumerate() {
            let start = end;
            end += lengths.iter().map(|&length| usize::from(length)).sum::<usize>();
            let (both, code) = bags.hashes[pair];
            let keep = lengths[0] > 0
                && lengths[1] > 0
                && !(held_out && trained.contains(&code))
                && seen.insert(both);
            kept.push(keep);
            if !keep {
                continue;
            }
            let language = &bags.languages[pair];
            let n = languages.len();
            let number = *languages.entry(language.clone()).or_insert_with(|| {
                data.languages.push(language.to_string());
                n as u8
            });
            ensure!(data.languages.len() <= 256, "more than 256 languages");
            data.kinds.push(bags.kinds[pair]);
            data.language.push(number);
            data.text_lengths.push(lengths[0]);
            data.code_lengths.push(lengths[1]);
            data.ids.extend_from_slice(&bags.ids[start..end]);
            data.counts.extend_from_slice(&bags.counts[start..end]);
            data.starts.push(u32::try_from(data.ids.len()).context("more than 2^32 entries of bags")?);
        }
        all_kept.push(kept);
        data.repositories.push(Repository {
            name: name.clone(),
            language: bags.main_language,
            held_out,
            pairs: first..data.len(),
        });
    }
    Ok((data, all_kept))
}

/// Writes the raw pairs of held-out repositories that are in the dataset, one file for each repository.
fn write_held_out(files: &[PathBuf], held_out: &[bool], kept: &[Vec<bool>], folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    for ((path, _), kept) in files.iter().zip(held_out).zip(kept).filter(|((_, held_out), _)| **held_out) {
        let mut writer = PairWriter::create(&folder.join(format!("{}.pairs", repository_name(path))))?;
        for (pair, keep) in PairReader::open(path)?.zip(kept) {
            let pair: Pair = pair?;
            if *keep {
                writer.write(&pair)?;
            }
        }
        writer.finish()?;
    }
    Ok(())
}

/// Minimum number of pairs of a language that is printed.
const MIN_PRINTED: usize = 500;

/// Renders a table of the pairs, in thousands, by language and kind.
fn table(data: &Dataset) -> String {
    use std::fmt::Write as _;
    let mut cells: BTreeMap<&str, [usize; PairKind::ALL.len() + 2]> = BTreeMap::new();
    for repository in &data.repositories {
        for index in repository.pairs.clone() {
            let row = cells.entry(&data.languages[usize::from(data.language[index])]).or_default();
            row[usize::from(data.kinds[index])] += 1;
            row[PairKind::ALL.len()] += 1;
            row[PairKind::ALL.len() + 1] += usize::from(repository.held_out);
        }
    }
    let mut out = format!("{:<12}", "thousands");
    for kind in PairKind::ALL {
        let _ = write!(out, "{:>13}", kind.name());
    }
    out += "          all     held out\n";
    for (language, row) in cells.iter().filter(|(_, row)| row[PairKind::ALL.len()] >= MIN_PRINTED) {
        let _ = write!(out, "{language:<12}");
        row.iter().for_each(|&n| {
            let _ = write!(out, "{:>13.1}", n as f64 / 1000.0);
        });
        out.push('\n');
    }
    let held_out = data.repositories.iter().filter(|repository| repository.held_out);
    let _ = writeln!(out, "{} repositories, {} held out", data.repositories.len(), held_out.count());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(kind: PairKind, text: &str, code: &str) -> Pair {
        Pair {
            kind,
            language: "rust".into(),
            text: text.into(),
            code: code.into(),
            path: "src/http/parser.rs".into(),
        }
    }

    fn write(folder: &Path, name: &str, pairs: &[Pair]) {
        let mut writer = PairWriter::create(&folder.join(name)).unwrap();
        pairs.iter().for_each(|pair| writer.write(pair).unwrap());
        writer.finish().unwrap();
    }

    #[test]
    fn pairs_become_distinct_bags_grouped_by_repository() {
        let folder = tempfile::tempdir().unwrap();
        let words = "pars header read file http parser src open close";
        let vocabulary = folder.path().join("vocabulary");
        std::fs::write(&vocabulary, words.replace(' ', "\n")).unwrap();
        for n in 0..4 {
            let own = pair(PairKind::Doc, "open files", &format!("open(); {}", "close();".repeat(n + 1)));
            let common = pair(PairKind::Doc, "parse the header", "header.parse() + header");
            let empty = pair(PairKind::Doc, "nothing known", "header");
            write(folder.path(), &format!("a+{n}.pairs"), &[common.clone(), own, common, empty]);
        }
        let out = folder.path().join("dataset");
        let args =
            Args { pairs: folder.path().into(), vocabulary, held_out: 0.06, out: out.clone(), threads: 2 };
        run(&args).unwrap();
        let data = Dataset::read(&out).unwrap();
        let held: Vec<&Repository> =
            data.repositories.iter().filter(|repository| repository.held_out).collect();
        assert_eq!((data.repositories.len(), held.len()), (4, 1));
        // The pair that all share is kept once, outside the held-out part; each repository has one pair of
        // its own.
        assert_eq!(data.len(), 5);
        assert_eq!(held[0].pairs.len(), 1);
        let spelt = |bag: super::super::Bag| {
            let words = bag.ids.iter().zip(bag.counts);
            words
                .map(|(&id, n)| format!("{}:{n}", data.vocabulary[usize::from(id)]))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let first = data.pair(data.repositories.iter().find(|r| r.pairs.len() == 2).unwrap().pairs.start);
        assert_eq!(spelt(first.text), "pars:1 header:1");
        assert_eq!(spelt(first.code), "pars:1 header:2");
        assert_eq!(spelt(first.path), "http:1 parser:1 src:1");
        let raw: Vec<Pair> = PairReader::open(&held_out_folder(&out).join(format!("{}.pairs", held[0].name)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(raw.len(), 1);
        assert_eq!(raw[0].text, "open files");

        let bytes = std::fs::read(&out).unwrap();
        std::fs::write(&out, &bytes[..bytes.len() - 1]).unwrap();
        assert!(Dataset::read(&out).is_err());
    }
}
