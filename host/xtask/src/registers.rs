//! docs/reference/registers.md: PeakRDL's page in a readable form. Each array is shown once, and each field has a row.

use crate::table::Below;
use std::fmt::Write as _;

/// A part of PeakRDL's page: a register, a register file, a memory, a field or the whole map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RegisterPagePart {
    kind: String,
    name: String,
    address: u64,
    offset: u64,
    size: u64,
    /// Number of entries and stride, for an array of register files.
    array: Option<(u64, u64)>,
    description: String,
    fields: Vec<[String; 4]>,
}

pub(crate) fn page(peakrdl: &str) -> String {
    let parts = parts(peakrdl);
    let mut out = String::from(
        "<!-- Generated from rtl/layout/card.rdl by `cargo xtask gen`. Do not edit. -->\n# Registers\n\n\
         A register has 32 bits and is read and written whole. `r` can be read, `w` can be written.\n",
    );
    let (mut memories, mut below) = (String::new(), Below::default());
    let mut seen = Vec::new();
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        at += 1;
        match part.kind.as_str() {
            "register" => {
                let same = |next: &&RegisterPagePart| {
                    next.kind == "register" && next.name == part.name && next.fields == part.fields
                };
                let more = parts.iter().skip(at).take_while(same).count();
                at += more;
                let notes: Vec<_> = parts.iter().skip(at).take_while(|next| next.kind == "field").collect();
                register(&mut out, &mut below, part, more, &notes);
            }
            "field" => {}
            "memory" => {
                let _ = writeln!(
                    memories,
                    "| {:#07x} | `{}` | {:#x} | {} |",
                    part.address, part.name, part.size, part.description
                );
            }
            _ if seen.contains(&part.name) => {
                at += parts.iter().skip(at).take_while(|p| matches!(&*p.kind, "register" | "field")).count()
            }
            _ => {
                seen.push(part.name.clone());
                below.end(&mut out);
                let array = part.array.map_or_else(String::new, |(count, stride)| {
                    format!(" `{}[0..{}]`: {:#07x} + {stride:#x} × index", part.name, count - 1, part.address)
                });
                let title = if part.array.is_some() { "Registers of each" } else { "Registers of the" };
                let name = if part.array.is_some() { String::new() } else { format!(" {}", part.name) };
                let _ = write!(
                    out,
                    "\n## {title}{name}{array}\n\n{}| offset | register | bits | access | reset | meaning |\n\
                     | --- | --- | --- | --- | --- | --- |\n",
                    if part.description.is_empty() { String::new() } else { format!("{}\n\n", part.description) }
                );
            }
        }
    }
    below.end(&mut out);
    out + "\n## Memories\n\n| offset | memory | bytes | meaning |\n| --- | --- | --- | --- |\n" + &memories
}

/// The rows of a register. `more` is the number of its further copies. Fields about which the source says nothing of
/// their own share the register's first row, if access and reset value are the same.
fn register(out: &mut String, below: &mut Below, part: &RegisterPagePart, more: usize, notes: &[&RegisterPagePart]) {
    let array = if more == 0 { String::new() } else { format!("[0..{more}]") };
    let step = if more == 0 { "" } else { " + 4 × index" };
    let note = |name: &str| notes.iter().find(|note| note.name == name).map_or("", |note| &note.description);
    let bits = |[bits, name, ..]: &[String; 4]| if name == "v" { bits.clone() } else { format!("{bits} `{name}`") };
    let Some((first, others)) = part.fields.split_first() else { return };
    let [_, name, access, reset] = first;
    let shares = |field: &&[String; 4]| note(name).is_empty() && note(&field[1]).is_empty() && field[2..] == first[2..];
    let (shared, others): (Vec<_>, Vec<_>) = others.iter().partition(shares);
    let all = [&[first], &*shared].concat().into_iter().map(bits).collect::<Vec<_>>().join(", ");
    let meaning = below.cell(&part.name, format!("{} {}", part.description, note(name)).trim());
    let _ = writeln!(
        out,
        "| {:#07x}{step} | `{}{array}` | {all} | {access} | {reset} | {meaning} |",
        part.offset, part.name
    );
    for field in others {
        let [_, name, access, reset] = field;
        let meaning = below.cell(&format!("{}.{name}", part.name), note(name));
        let _ = writeln!(out, "|  |  | {} | {access} | {reset} | {meaning} |", bits(field));
    }
}

fn parts(text: &str) -> Vec<RegisterPagePart> {
    let mut parts: Vec<RegisterPagePart> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("##") {
            let (name, kind) = title.trim_start_matches('#').trim().split_once(' ').unwrap_or_default();
            parts.push(RegisterPagePart {
                kind: kind.to_owned(),
                name: name.to_owned(),
                ..RegisterPagePart::default()
            });
        } else if let Some(part) = parts.last_mut() {
            line_of(part, line);
        }
    }
    parts
}

fn line_of(part: &mut RegisterPagePart, line: &str) {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default();
    if let Some((key, value)) = line.strip_prefix("- ").and_then(|line| line.split_once(": ")) {
        match key {
            "Absolute Address" => part.address = number(value),
            "Base Offset" => part.offset = number(value),
            "Size" => part.size = number(value),
            "Array Dimensions" => part.array = Some((value.trim_matches(['[', ']']).parse().unwrap_or(1), 0)),
            "Array Stride" => part.array = part.array.map(|(count, _)| (count, number(value))),
            _ => {}
        }
    } else if let Some(row) = line.strip_prefix('|') {
        let mut cells = row.split('|').map(|cell| cell.trim().to_owned());
        let mut next = || cells.next().unwrap_or_default();
        let field = [next(), next(), next(), next()];
        // Only rows of registers count; the rows of a map list its parts.
        let is_row = field[0].chars().next().is_some_and(|first| first.is_ascii_digit());
        if part.kind == "register" && is_row {
            part.fields.push(field);
        }
    } else if !line.is_empty() && line != "No supported members." {
        let plain = line.replace("<code>", "`").replace("</code>", "`").replace("<p>", "").replace("</p>", "");
        part.description = format!("{} {}", part.description, plain.trim()).trim().to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn fields_without_a_note_share_a_row() {
        let text = "### caps register\n\n- Base Offset: 0x8\n\n<p>Parts.</p>\n\n|7:0| lanes | r | — | — |\n|8| sign | r | — | — |\n\
                    |15:9| rows | r | — | — |\n|16| lock | r | 0x1 | — |\n\n#### sign field\n\n<p>It signs.</p>\n";
        let page = page(text);
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| 0x00008") || line.starts_with("|  |")).collect();
        let first = "| 0x00008 | `caps` | 7:0 `lanes`, 15:9 `rows` | r | — | Parts. |";
        assert_eq!(rows, [first, "|  |  | 8 `sign` | r | — | It signs. |", "|  |  | 16 `lock` | r | 0x1 |  |"]);
    }

    #[test]
    fn arrays_stand_once() {
        let register = |name: &str, at: u64| {
            format!(
                "### {name} register\n\n- Absolute Address: {at:#x}\n- Base Offset: {at:#x}\n- Size: 0x4\n\n<p>What.</p>\n\n|Bits|Identifier|Access|Reset|Name|\n|-|-|-|-|-|\n|31:0| v | r | — | — |\n\n"
            )
        };
        let lane = |at: u64| {
            format!(
                "## lane register file\n\n- Absolute Address: {at:#x}\n- Array Dimensions: [2]\n- Array Stride: 0x100\n\n{}",
                register("head", 0)
            )
        };
        let text = format!(
            "## card address map\n\n<p>All.</p>\n\n{}{}{}{}",
            register("d", 8),
            register("d", 12),
            lane(0x1000),
            lane(0x1100)
        );
        let page = page(&text);
        assert_eq!(page.matches("`d[0..1]`").count(), 1, "{page}");
        assert_eq!(page.matches("`head`").count(), 1, "{page}");
        assert!(page.contains("0x01000 + 0x100 × index"), "{page}");
    }
}
