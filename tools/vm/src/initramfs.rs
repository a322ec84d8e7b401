//! A root file system in memory, in the kernel's format (kernel: `early-userspace/buffer-format`, "newc").

use anyhow::{Context, Result};
use portcullis_tools::tool::capture;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Default)]
pub(crate) struct Initramfs {
    bytes: Vec<u8>,
    there: BTreeSet<String>,
}

impl Initramfs {
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) {
        let name = name.trim_start_matches('/');
        let mut folder = String::new();
        for part in Path::new(name).parent().into_iter().flat_map(Path::components) {
            folder.push_str(if folder.is_empty() { "" } else { "/" });
            folder.push_str(&part.as_os_str().to_string_lossy());
            if self.there.insert(folder.clone()) {
                self.entry(&folder.clone(), 0o040_755, &[]);
            }
        }
        if self.there.insert(name.to_owned()) {
            self.entry(name, 0o100_755, content);
        }
    }

    /// Adds a program and its shared libraries, without debug information.
    pub(crate) fn program(&mut self, name: &str, path: &Path) -> Result<()> {
        let small = path.with_extension("stripped");
        capture(Command::new("strip").arg("-o").arg(&small).arg(path))?;
        self.add(name, &fs::read(&small)?);
        fs::remove_file(&small)?;
        for line in capture(Command::new("ldd").arg(path))?.lines() {
            // Format: `libc.so.6 => /lib/…/libc.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`.
            let file = line.rsplit("=> ").next().and_then(|rest| rest.trim().split(' ').next()).unwrap_or_default();
            if file.starts_with('/') {
                self.add(file, &fs::read(file).with_context(|| format!("the library {file}"))?);
            }
        }
        Ok(())
    }

    pub(crate) fn folder(&mut self, name: &str, path: &Path) -> Result<()> {
        let mut entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.folder(&name, &entry.path())?;
            } else {
                self.add(&name, &fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        let inode = self.there.len();
        let fields = [inode, mode as usize, 0, 0, 1, 0, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
