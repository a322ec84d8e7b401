//! Markdown pages: finds their fenced code blocks, the blocks that a shell runs, and the output that pages quote.
//!
//! Each block of commands is run, unless its fence excludes it: ` ```sh norun: REASON`. A block ` ```text output`
//! quotes the output of the block of commands before it: all lines of the quotation must occur in the output in this
//! order, but the output may have other lines between them. Only a line that prints an exit code must be quoted: else
//! nothing would notice that a command ends in another way than the page says.

use anyhow::{Result, bail};

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedBlock {
    /// Line number of the opening fence, from 1.
    pub line: usize,
    /// The text after the opening fence on its line.
    pub info: String,
    /// The block's lines, without the fences.
    pub text: String,
}

/// How a block is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FencedBlockUse {
    Run,
    /// Commands that do not run, with the reason.
    NoRun(String),
    /// Output of the preceding commands.
    Output,
    Other,
}

impl FencedBlock {
    /// How the block is used. Errors: a block of commands has an unknown mark, or a mark without its reason.
    pub fn usage(&self) -> Result<FencedBlockUse> {
        let (language, mark) = self.info.split_once(' ').unwrap_or((&self.info, ""));
        Ok(match (language, mark.trim()) {
            ("sh", "") => FencedBlockUse::Run,
            ("sh", mark) => match mark.strip_prefix("norun:").map(str::trim) {
                Some(reason) if !reason.is_empty() => FencedBlockUse::NoRun(reason.to_owned()),
                _ => bail!("line {}: `{}` is neither `sh` nor `sh norun: REASON`", self.line, self.info),
            },
            ("bash" | "shell" | "console", _) => {
                bail!("line {}: commands stand in blocks `sh`, and their output in `text output`", self.line)
            }
            ("text", "output") => FencedBlockUse::Output,
            _ => FencedBlockUse::Other,
        })
    }
}

/// The fenced blocks of a page, in order.
#[must_use]
pub fn blocks(page: &str) -> Vec<FencedBlock> {
    let mut found: Vec<FencedBlock> = Vec::new();
    let mut open: Option<FencedBlock> = None;
    for (at, line) in page.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(info), None) => {
                open = Some(FencedBlock { line: at + 1, info: info.trim().to_owned(), text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    found
}

/// The first quoted line that does not occur in the printed output after the previous quoted line; `None` if all occur.
/// White space at both ends of a line is ignored. A quoted line may be a part of a printed line.
#[must_use]
pub fn missing<'a>(quoted: &'a str, printed: &str) -> Option<&'a str> {
    let mut rest = printed.lines();
    quoted.lines().filter(|line| !line.trim().is_empty()).find(|line| !rest.any(|said| said.contains(line.trim())))
}

/// The exit codes in the lines of a text, as `echo "exit code $?"` prints them.
#[must_use]
pub fn exit_codes(text: &str) -> Vec<&str> {
    let after = text.lines().filter_map(|line| line.split_once("exit code ")).map(|(_, rest)| rest);
    after.map(|rest| rest.split_once(|c: char| !c.is_ascii_digit()).map_or(rest, |(code, _)| code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_their_use() {
        let page = "a\n```sh\nls\n```\n```sh norun: needs an FPGA\nx\n```\n```text output\ny\n```\n```rust\n```\n";
        let found = blocks(page);
        let uses: Vec<FencedBlockUse> = found.iter().map(|block| block.usage().unwrap()).collect();
        assert_eq!(
            uses,
            [
                FencedBlockUse::Run,
                FencedBlockUse::NoRun("needs an FPGA".into()),
                FencedBlockUse::Output,
                FencedBlockUse::Other
            ]
        );
        assert_eq!((found[0].line, found[0].text.as_str()), (2, "ls\n"));
        for bad in ["sh norun", "sh norun:", "sh skip", "bash", "console"] {
            assert!(FencedBlock { line: 1, info: bad.into(), text: String::new() }.usage().is_err(), "{bad}");
        }
    }

    #[test]
    fn exit_codes_are_read_from_lines() {
        assert_eq!(exit_codes("a\nexit code 3\nseat 0: exit code 10\nexit code 4 is expected\n"), ["3", "10", "4"]);
        assert_eq!(exit_codes("the exit code\n"), [""; 0]);
    }

    #[test]
    fn quotations_are_found_in_order() {
        let printed = "one\n  two of three\nfour\n";
        assert_eq!(missing("one\n\ntwo\nfour\n", printed), None);
        assert_eq!(missing("four\none\n", printed), Some("one"));
        assert_eq!(missing("one\none\n", printed), Some("one"));
        assert_eq!(missing("five", printed), Some("five"));
    }
}
