//! The groups in which `portcullis --help` lists the commands: first the eight that one meets first.

use clap::Command;

/// A heading, and the names of the commands below it.
type CommandGroup = (&'static str, &'static [&'static str]);

const GROUPS: [CommandGroup; 6] = [
    ("Commands", &["run", "explain", "policy", "prefilter", "serve", "verify", "check", "report"]),
    ("Gate commands", &["gated", "anchors", "lineage"]),
    (
        "Evidence commands",
        &["verify-series", "inspect", "prove", "check-receipt", "extract", "replay", "attest", "bundle"],
    ),
    ("Authority commands", &["ca", "authority", "ticket", "witness"]),
    ("Card commands", &["card", "bitstream"]),
    ("Other commands", &["completions", "manual"]),
];
/// Greatest width of a help text in columns.
const WIDTH: usize = 100;

/// Lists the commands of a program in groups.
pub(crate) fn add(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let mut lists = String::new();
    for (title, names) in GROUPS {
        let listed = names.iter().filter_map(|name| command.find_subcommand(name)).cloned();
        let list =
            alone("{subcommands}").subcommands(listed).disable_help_subcommand(true).render_help().ansi().to_string();
        lists += &format!("{header}{title}:{header:#}\n{}\n\n", list.trim_end());
    }
    let options =
        alone("{all-args}").args(command.get_arguments().cloned()).version("x").render_help().ansi().to_string();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}{}{{after-help}}",
        options.trim_end()
    ))
}

/// A command whose help text is a part of another one.
fn alone(template: &'static str) -> Command {
    Command::new("part").max_term_width(WIDTH).help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_command_is_in_one_group() {
        let program = crate::command();
        let mut groups: BTreeMap<&str, usize> = program.get_subcommands().map(|sub| (sub.get_name(), 0)).collect();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            *groups.get_mut(name).unwrap_or_else(|| panic!("`{name}` is no command")) += 1;
        }
        groups.remove("help");
        groups.retain(|_, count| *count != 1);
        assert_eq!(groups, BTreeMap::new());
        assert_eq!(GROUPS[0].1.len(), 8);
    }
}
