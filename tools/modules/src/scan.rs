//! Reads the source files of a crate: its modules, their definitions and imports, and the paths in them.

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path as written, such as `super::stream::Stream`.
pub(crate) type Segments = Vec<String>;

/// A name that a `use` imports. The last segment of a glob import is `*`.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Segments,
    pub(crate) public: bool,
    pub(crate) line: usize,
}

/// A module: a file, or a `mod name { … }` inside one.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Index of its file in [`CrateSource::files`].
    pub(crate) file: usize,
    pub(crate) definitions: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// The paths outside of imports, each with its line.
    pub(crate) paths: Vec<(Segments, usize)>,
}

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) mentioned: BTreeSet<String>,
}

/// A crate without its tests.
#[derive(Debug, Default)]
pub(crate) struct CrateSource {
    pub(crate) files: Vec<File>,
    /// Modules by path from the crate's root, whose path is empty.
    pub(crate) modules: BTreeMap<Segments, Module>,
}

impl CrateSource {
    /// Reads the crate with this root file.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut source = Self::default();
        let folder = root.parent().context("a crate's root stands in a folder")?;
        source.file(root, folder, Vec::new())?;
        Ok(source)
    }

    /// Reads a file as the module `at`; its child modules are in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, at: Segments) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let tokens: TokenStream =
            text.parse().map_err(|error| anyhow::anyhow!("{}: not Rust: {error}", path.display()))?;
        let file = self.files.len();
        self.files.push(File { path: path.to_owned(), mentioned: BTreeSet::new() });
        self.modules.insert(at.clone(), Module { file, ..Module::default() });
        self.walk(tokens, folder, &at, true)
    }

    /// Reads the tokens of a module. If `items` is false, the tokens are only a part of an item.
    fn walk(&mut self, tokens: TokenStream, folder: &Path, at: &Segments, items: bool) -> Result<()> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut place = 0;
        let mut own_path = None;
        while let Some(token) = tokens.get(place) {
            if let Some((attribute, after)) = attribute(&tokens, place) {
                place = after;
                if for_tests(&attribute.stream()) {
                    place = item_end(&tokens, place);
                } else {
                    own_path = path_attribute(attribute).or(own_path);
                    self.walk(attribute.stream(), folder, at, false)?;
                }
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    self.walk(group.stream(), folder, at, false)?;
                    place += 1;
                }
                TokenTree::Ident(ident) if ident == "use" && !is_bound(&tokens, place) => {
                    place = self.import(&tokens, place, at);
                }
                TokenTree::Ident(ident) if items && ident == "mod" => {
                    place = self.module(&tokens, place, folder, at, own_path.take())?;
                }
                TokenTree::Ident(ident) => {
                    if items && DEFINING.iter().any(|word| ident == word) {
                        self.define(&tokens, place, at);
                    }
                    place = self.path(&tokens, place, at);
                }
                _ => place += 1,
            }
        }
        Ok(())
    }

    /// Reads a child module, which has a file of its own or is in this file. Returns the place after it.
    fn module(
        &mut self,
        tokens: &[TokenTree],
        place: usize,
        folder: &Path,
        at: &Segments,
        own_path: Option<String>,
    ) -> Result<usize> {
        let Some(TokenTree::Ident(name)) = tokens.get(place + 1) else { return Ok(place + 1) };
        let name = name.to_string();
        let child: Segments = at.iter().cloned().chain([name.clone()]).collect();
        let inside = folder.join(&name);
        if let Some(TokenTree::Group(body)) = tokens.get(place + 2) {
            let file = self.modules.get(at).map_or(0, |module| module.file);
            self.modules.insert(child.clone(), Module { file, ..Module::default() });
            self.walk(body.stream(), &inside, &child, true)?;
        } else if let Some(own) = own_path {
            let here =
                self.modules.get(at).and_then(|module| self.files.get(module.file)).map(|file| file.path.clone());
            let path = here.unwrap_or_default().with_file_name(own);
            self.file(&path, path.parent().unwrap_or(folder), child)?;
        } else {
            let beside = folder.join(format!("{name}.rs"));
            let path = if beside.exists() { beside } else { inside.join("mod.rs") };
            self.file(&path, &inside, child)?;
        }
        Ok(place + 3)
    }

    /// Adds the name of the item whose keyword is at `place`.
    fn define(&mut self, tokens: &[TokenTree], place: usize, at: &Segments) {
        // The name follows further tokens in `macro_rules ! name`, `static mut NAME` and `const fn name`.
        let name = tokens.iter().skip(place + 1).find_map(|token| match token {
            TokenTree::Ident(ident) if ident == "mut" => None,
            TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        });
        if let (Some(name), Some(module)) = (name, self.modules.get_mut(at)) {
            module.definitions.insert(name);
        }
    }

    /// Reads the path or the lone identifier at `place`. Returns the place after it.
    fn path(&mut self, tokens: &[TokenTree], place: usize, at: &Segments) -> usize {
        let (path, after, line) = segments(tokens, place);
        let Some(module) = self.modules.get_mut(at) else { return after };
        if let Some(file) = self.files.get_mut(module.file) {
            file.mentioned.extend(path.iter().cloned());
        }
        let absolute = place >= 2 && punct(tokens, place - 1, ':') && punct(tokens, place - 2, ':');
        if path.len() > 1 && !absolute {
            module.paths.push((path, line));
        }
        after
    }

    /// Reads the `use` at `place`. Returns the place after it.
    fn import(&mut self, tokens: &[TokenTree], place: usize, at: &Segments) -> usize {
        let end = (place..tokens.len()).find(|at| punct(tokens, *at, ';')).unwrap_or(tokens.len());
        let public = match place.checked_sub(1).and_then(|before| tokens.get(before)) {
            Some(TokenTree::Ident(word)) => word == "pub",
            // `pub(crate) use`
            Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
            _ => false,
        };
        let mut imports = Vec::new();
        tree(tokens.get(place + 1..end).unwrap_or_default(), &[], public, &mut imports);
        if let Some(module) = self.modules.get_mut(at) {
            module.imports.extend(imports);
        }
        end + 1
    }
}

/// Keywords after which an item's name follows.
const DEFINING: [&str; 9] = ["struct", "enum", "fn", "trait", "type", "const", "static", "union", "macro_rules"];

fn punct(tokens: &[TokenTree], place: usize, wanted: char) -> bool {
    matches!(tokens.get(place), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Whether this `use` is a part of a bound, as in `impl Trait + use<'a>`.
fn is_bound(tokens: &[TokenTree], place: usize) -> bool {
    punct(tokens, place + 1, '<')
}

/// The attribute at `place`, and the place after it.
fn attribute(tokens: &[TokenTree], place: usize) -> Option<(&Group, usize)> {
    if !punct(tokens, place, '#') {
        return None;
    }
    let at = place + 1 + usize::from(punct(tokens, place + 1, '!'));
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some((group, at + 1)),
        _ => None,
    }
}

/// Whether an attribute limits the next item to test builds: `cfg(test)`, `cfg(all(test, …))` or `test`.
fn for_tests(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().chars().filter(|c| !c.is_whitespace()).collect();
    text == "test" || text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
}

/// The file in `path = "…"`.
fn path_attribute(attribute: &Group) -> Option<String> {
    let text = attribute.stream().to_string();
    let value = text.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The place after the item, field or statement at `place`.
fn item_end(tokens: &[TokenTree], mut place: usize) -> usize {
    while let Some((_, after)) = attribute(tokens, place) {
        place = after;
    }
    let item = tokens.get(place).is_some_and(|token| match token {
        TokenTree::Ident(ident) => ITEMS.iter().any(|word| ident == word),
        _ => false,
    });
    // Items with these keywords end with a semicolon, even if they contain braces.
    let statement = tokens
        .iter()
        .skip(place)
        .filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        })
        .find(|word| word != "pub")
        .is_some_and(|word| ["use", "let", "static", "type"].contains(&word.as_str()));
    while let Some(token) = tokens.get(place) {
        place += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' || (!item && punct.as_char() == ',') => break,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !statement => break,
            _ => {}
        }
    }
    place
}

/// Words with which an item begins. A comma does not end such an item.
const ITEMS: [&str; 15] = [
    "pub",
    "fn",
    "impl",
    "struct",
    "enum",
    "mod",
    "trait",
    "unsafe",
    "async",
    "extern",
    "const",
    "use",
    "static",
    "type",
    "macro_rules",
];

/// The path that begins with the identifier at `place`, the place after it, and its line.
fn segments(tokens: &[TokenTree], mut place: usize) -> (Segments, usize, usize) {
    let mut path = Vec::new();
    let mut line = 0;
    while let Some(TokenTree::Ident(ident)) = tokens.get(place) {
        if path.is_empty() {
            line = ident.span().start().line;
        }
        path.push(ident.to_string());
        place += 1;
        let more = punct(tokens, place, ':') && punct(tokens, place + 1, ':');
        if !(more && matches!(tokens.get(place + 2), Some(TokenTree::Ident(_)))) {
            break;
        }
        place += 2;
    }
    (path, place, line)
}

/// All names in a tree of imports.
fn tree(tokens: &[TokenTree], prefix: &[String], public: bool, into: &mut Vec<Import>) {
    let branches = tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
    for branch in branches.filter(|branch| !branch.is_empty()) {
        // `::name` names a crate; no file of the workspace uses this form.
        let (path, after, line) = segments(branch, 0);
        let mut path: Segments = prefix.iter().cloned().chain(path).collect();
        let joined = punct(branch, after, ':') && punct(branch, after + 1, ':');
        let rest = if joined { after + 2 } else { after };
        match branch.get(rest) {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                tree(&inner, &path, public, into);
            }
            Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                let line = star.span().start().line;
                path.push("*".to_owned());
                into.push(Import { name: "*".to_owned(), path, public, line });
            }
            other => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let alias = match (other, branch.get(rest + 1)) {
                    (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(name))) if word == "as" => {
                        Some(name.to_string())
                    }
                    _ => None,
                };
                let Some(name) = alias.or_else(|| path.last().cloned()) else { continue };
                into.push(Import { name, path, public, line });
            }
        }
    }
}
