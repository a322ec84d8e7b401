//! Adds examples to the help of commands.

use clap::Command;

/// The name of a command without the program's name, and example command lines.
pub type Example = (&'static str, &'static [&'static str]);

/// Examples for the commands on evidence.
pub const EVIDENCE: &[Example] = &[
    (
        "verify",
        &[
            "verify bundle --trust trust",
            "verify bundle.tar --trust trust --json",
            "verify bundle --trust trust --allow-sim",
        ],
    ),
    ("verify-series", &["verify-series bundles --trust trust"]),
    ("inspect", &["inspect bundle", "inspect bundle --records"]),
    ("prove", &["prove bundle --index 7 --output proof.json"]),
    ("check-receipt", &["check-receipt proof.json --receipt receipt.json --text span.txt --trust trust"]),
    ("extract", &["extract bundle --output parts"]),
];

/// Examples for commands that only `portcullis-verify` has.
pub const VERIFIER: &[Example] = &[("report", &["report bundle --trust trust --output report.html"])];

/// Adds examples to the help of a program's commands.
#[must_use]
pub fn add(mut command: Command, examples: &[Example]) -> Command {
    let program = command.get_name().to_owned();
    for (path, lines) in examples {
        let words: Vec<&str> = path.split(' ').collect();
        let lines: Vec<String> = lines.iter().map(|line| format!("  {program} {line}")).collect();
        let heading = if lines.len() == 1 { "Example" } else { "Examples" };
        command = add_to(command, &words, &format!("{heading}:\n{}", lines.join("\n")));
    }
    command
}

fn add_to(command: Command, path: &[&str], text: &str) -> Command {
    match path.split_first() {
        None => command.after_help(text.to_owned()),
        // An example is skipped if this build lacks its command, such as one for the simulated card.
        Some((name, _)) if command.find_subcommand(name).is_none() => command,
        Some((name, rest)) => command.mut_subcommand(*name, |sub| add_to(sub, rest, text)),
    }
}

/// Checks a program's examples. Returns the commands without an example, and the command lines that do not parse.
#[must_use]
pub fn problems(program: &Command) -> Vec<String> {
    let mut found = Vec::new();
    look(program, program, program.get_name(), &mut found);
    found
}

/// Checks a command, whose command lines begin with `path`, and its subcommands.
fn look(program: &Command, command: &Command, path: &str, found: &mut Vec<String>) {
    let below: Vec<&Command> = command.get_subcommands().filter(|sub| sub.get_name() != "help").collect();
    for sub in &below {
        look(program, sub, &format!("{path} {}", sub.get_name()), found);
    }
    let help = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let start = format!("  {} ", program.get_name());
    let lines: Vec<&str> = help.lines().filter(|line| line.starts_with(&start)).collect();
    // A command that only has subcommands needs no example.
    let does_something = below.is_empty() || !command.is_subcommand_required_set();
    if does_something && !lines.iter().any(|line| line.trim_start().starts_with(path)) {
        found.push(format!("`{path}` has no example"));
    }
    for line in lines {
        // Ignore the part after a pipe or redirection.
        let own = [" | ", " < ", " > "].iter().fold(line, |line, mark| line.split(mark).next().unwrap_or_default());
        if let Err(error) = program.clone().try_get_matches_from(words(own)) {
            found.push(format!("`{}`: {error}", line.trim()));
        }
    }
}

/// Splits a command line into words, as a shell does for plain words and for single and double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut is_word) = (String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, is_word) = (Some(c), true),
            (None, ' ') if is_word => {
                words.push(std::mem::take(&mut word));
                is_word = false;
            }
            (None, ' ') => {}
            _ => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_an_example_and_one_with_a_wrong_example_are_found() {
        let program =
            || Command::new("p").subcommand_required(true).subcommand(Command::new("a").arg(clap::arg!(<FILE>)));
        assert_eq!(problems(&program()), ["`p a` has no example"]);
        assert_eq!(problems(&add(program(), &[("a", &["a 'one file' > out"])])), [""; 0]);
        let [wrong] = &problems(&add(program(), &[("a", &["a one two"])]))[..] else { panic!("one line is wrong") };
        assert!(wrong.starts_with("`p a one two`: "), "{wrong}");
    }
}
