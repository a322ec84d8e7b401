//! A bundle in a tar archive.

use super::error::BundleError;
use super::files::{BundleFiles, DirectoryFiles};
use super::name::{self, FILES_MAX};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const BLOCK: u64 = 512;
/// Advice in error messages: the command that makes a readable archive.
const REMEDY: &str = "make it with `tar --format=ustar -C BUNDLE -cf FILE .`";

/// The files of a tar archive in the ustar form, without extensions. They are at the top of the archive or in one
/// folder. Nothing is extracted to disk. A link, a duplicate name and a truncated file are errors.
#[derive(Clone, Debug)]
pub struct ArchiveFiles {
    path: PathBuf,
    /// Offset and size of each file, in bytes.
    files: BTreeMap<String, (u64, u64)>,
}

impl ArchiveFiles {
    /// Reads the list of files of the archive at `path`. Errors: [`BundleError`]: `Nothing` if the file is not an
    /// archive, `Content`, `Kind`, `Litter`, `Io`.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        let shown = path.to_string_lossy();
        let mut from = BufReader::new(File::open(path).map_err(BundleError::io(&shown))?);
        let length = from.get_ref().metadata().map_err(BundleError::io(&shown))?.len();
        let mut files = BTreeMap::new();
        let mut at = 0u64;
        while let Some(header) = TarHeader::read(&mut from, &shown, at, path)? {
            let begins = at + BLOCK;
            let blocks = header.size.div_ceil(BLOCK) * BLOCK;
            at = begins + blocks;
            if begins + header.size > length || files.len() >= FILES_MAX {
                return Err(BundleError::content(&shown, format!("`{}` is cut short, or one too many", header.name)));
            }
            from.seek(SeekFrom::Start(at)).map_err(BundleError::io(&shown))?;
            let last = header.name.rsplit('/').next().unwrap_or_default();
            match header.kind {
                b'5' => {}
                b'0' | 0 if name::is_litter(last) => return Err(BundleError::Litter(header.name)),
                b'0' | 0 => {
                    if files.insert(header.name.clone(), (begins, header.size)).is_some() {
                        return Err(BundleError::content(&shown, format!("`{}` is there twice", header.name)));
                    }
                }
                b'L' | b'K' | b'x' | b'g' => {
                    return Err(BundleError::content(&shown, format!("it has extended headers; {REMEDY}")));
                }
                _ => return Err(BundleError::Kind(header.name)),
            }
        }
        Ok(Self { path: path.to_owned(), files: without_folder(files) })
    }
}

impl BundleFiles for ArchiveFiles {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        Ok(self.files.iter().map(|(name, (_, size))| (name.clone(), *size)).collect())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        let missing = || std::io::Error::from(ErrorKind::NotFound);
        let (begins, size) = *self.files.get(name).ok_or_else(missing).map_err(BundleError::io(name))?;
        let mut file = File::open(&self.path).map_err(BundleError::io(name))?;
        file.seek(SeekFrom::Start(begins)).map_err(BundleError::io(name))?;
        Ok(Box::new(file.take(size)))
    }
}

/// The files of a bundle at `path`. A file is read as a tar archive, anything else as a folder. Errors: as
/// [`ArchiveFiles::open`]. A folder is not read yet.
pub fn at(path: &Path) -> Result<Box<dyn BundleFiles>, BundleError> {
    Ok(if path.is_file() { Box::new(ArchiveFiles::open(path)?) } else { Box::new(DirectoryFiles::new(path)) })
}

/// Whether `path` is the folder of a bundle without a manifest: its session still runs, or it died.
#[must_use]
pub fn is_unfinished(path: &Path) -> bool {
    path.join(name::TICKET).is_file() && !path.join(name::MANIFEST).exists()
}

/// If every file is in the same folder, removes that folder from the names. Archives of a folder have this form.
fn without_folder(files: BTreeMap<String, (u64, u64)>) -> BTreeMap<String, (u64, u64)> {
    let folder = files.keys().next().and_then(|name| Some(format!("{}/", name.split_once('/')?.0)));
    match folder {
        Some(folder) if files.keys().all(|name| name.starts_with(&folder)) => {
            files.into_iter().map(|(name, place)| (name.split_at(folder.len()).1.to_owned(), place)).collect()
        }
        _ => files,
    }
}

struct TarHeader {
    name: String,
    size: u64,
    kind: u8,
}

/// The kind of a compressed file that begins with these bytes.
fn compressed(start: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh", "bzip2"),
    ];
    KINDS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind)
}

impl TarHeader {
    /// Reads the next header; `None` at the block of zeros that ends an archive.
    fn read(from: &mut impl Read, shown: &str, at: u64, path: &Path) -> Result<Option<Self>, BundleError> {
        let wrong = |what: &str| BundleError::content(shown, format!("{what} at byte {at}"));
        let mut block = [0; BLOCK as usize];
        let read = from.read_exact(&mut block);
        let is_header = read.is_ok() && block.get(257..262) == Some(b"ustar");
        if at == 0 && !is_header {
            let what = match compressed(&block) {
                Some(kind) => format!("it is a {kind} file: unpack it first"),
                None => "it is neither a folder nor a tar archive".to_owned(),
            };
            return Err(BundleError::Nothing { path: path.to_owned(), what });
        }
        match read {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(wrong("the archive ends")),
            read => read.map_err(BundleError::io(shown))?,
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let field = |range: std::ops::Range<usize>| {
            let bytes = block.get(range).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            std::str::from_utf8(bytes.get(..end).unwrap_or_default()).map_err(|_| wrong("a header that is not text"))
        };
        let octal = |range| u64::from_str_radix(field(range)?.trim(), 8).map_err(|_| wrong("a malformed number"));
        let blanked = block.iter().enumerate().map(|(i, byte)| if (148..156).contains(&i) { b' ' } else { *byte });
        if !is_header || octal(148..156)? != blanked.map(u64::from).sum::<u64>() {
            return Err(wrong("no header with its checksum"));
        }
        // An archive in GNU's form has other fields in these bytes.
        let prefix = if block.get(262) == Some(&0) { field(345..500)? } else { "" };
        let name = field(0..100)?;
        let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        let name = name.strip_prefix("./").map_or(name.clone(), str::to_owned);
        let kind = *block.get(156).unwrap_or(&0);
        Ok(Some(Self { name, size: octal(124..136)?, kind }))
    }
}
