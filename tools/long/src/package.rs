//! Builds the parts of a release in `target/package`: the Debian package, the static verifier, the lists of their
//! components, and their checksums.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, capture, cargo, path_with, say, target_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "target/package";
/// The version of cargo-cyclonedx to install if cargo-cyclonedx is missing.
const CYCLONEDX: &str = "0.5.9";
/// Build folder of the static verifier. It is separate so that the verifier's flags do not cause other builds.
const STATIC: &str = "target/static";
/// The processor of the packages: its name in Debian, and its name for the compiler.
const PROCESSOR: (&str, &str) = ("amd64", "x86_64-unknown-linux-gnu");
/// The programs of the package. Each is also the name of its crate.
const PROGRAMS: [&str; 3] = ["portcullis", "portcullis-verify", "portcullis-proxy"];
/// The folders of their crates.
const CRATES: [&str; 3] = ["host/cli", "host/verify", "clients/proxy"];
const DESCRIPTION: &str = "gate for language-model output that the model's operator cannot change
 Portcullis judges what a language model writes before it leaves, by rules
 that are locked into a card (FPGA or simulator), and leaves a signed log
 that others can check. The package holds the gate with its simulated card,
 the verifier, a proxy for readers, example policies and systemd units.";

/// Builds everything, then unpacks the package and tries its programs.
pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    let out = Path::new(FOLDER);
    for part in ["stage", "tried", "parts"] {
        remove(&out.join(part))?;
    }
    fs::create_dir_all(out)?;
    let version = env!("CARGO_PKG_VERSION");
    say("release build");
    let crates = PROGRAMS.into_iter().flat_map(|program| ["-p", program]);
    tool::run(cargo().args(["build", "--release", "--locked"]).args(crates))?;
    let programs = target_dir().join("release");
    let verifier = out.join(format!("portcullis-verify-{version}-{}", PROCESSOR.1));
    tally.check("static verifier", static_verifier(&verifier));
    let package = out.join(format!("portcullis_{version}_{}.deb", PROCESSOR.0));
    tally.check("Debian package", debian(&programs, &out.join("stage"), &package, version));
    tally.check("the package's programs run", tried(&package, &out.join("tried")));
    let mut made = vec![verifier, package];
    tally.check("lists of parts (CycloneDX)", parts(out, version).map(|lists| made.extend(lists)));
    made.retain(|path| path.exists());
    tally.check("checksums", checksums(out, &made));
    say("the release is in target/package");
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() { Ok(fs::remove_dir_all(folder)?) } else { Ok(()) }
}

/// Builds the verifier with the C library linked in, so that it runs on any Linux distribution.
fn static_verifier(to: &Path) -> Result<()> {
    say("static verifier");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "-p", "portcullis-verify", "--target", PROCESSOR.1]);
    build.args(["--target-dir", STATIC]).env("RUSTFLAGS", "-C target-feature=+crt-static");
    tool::run(&mut build)?;
    fs::copy(Path::new(STATIC).join(PROCESSOR.1).join("release/portcullis-verify"), to)?;
    // `ldd` fails for a static program.
    let loads = Command::new("ldd").arg(to).output()?;
    let said = String::from_utf8_lossy(&loads.stdout).into_owned() + &String::from_utf8_lossy(&loads.stderr);
    ensure!(said.contains("statically linked") || said.contains("not a dynamic"), "it loads libraries: {said}");
    capture(Command::new(to).arg("--version"))?;
    Ok(())
}

/// Lays out the package's files and packs them.
fn debian(programs: &Path, stage: &Path, package: &Path, version: &str) -> Result<()> {
    let made = stage.join("usr/share");
    for program in PROGRAMS {
        put(&programs.join(program), &stage.join("usr/bin").join(program), 0o755)?;
    }
    let manual = stage.with_file_name("parts");
    capture(Command::new(programs.join("portcullis")).args(["manual", "--output"]).arg(&manual))?;
    for page in files(&manual.join("man1"))? {
        let name = page.file_name().unwrap_or_default();
        let to = made.join("man/man1").join(name);
        put(&page, &to, 0o644)?;
        // Without the file's name and time, two builds give the same bytes.
        tool::run(Command::new("gzip").args(["-9", "--no-name"]).arg(&to))?;
    }
    for program in PROGRAMS {
        for (file, to) in [
            (format!("bash/{program}.bash"), format!("bash-completion/completions/{program}")),
            (format!("zsh/_{program}"), format!("zsh/vendor-completions/_{program}")),
            (format!("fish/{program}.fish"), format!("fish/vendor_completions.d/{program}.fish")),
        ] {
            put(&manual.join(file), &made.join(to), 0o644)?;
        }
    }
    for path in tracked("policies")? {
        put(&path, &made.join("portcullis").join(&path), 0o644)?;
    }
    for name in ["portcullis@.service", "portcullis-issuer.service"] {
        let unit = fs::read_to_string(unit(name)?)?;
        ensure!(unit.contains("/usr/local/bin/portcullis "), "the unit starts another program");
        let unit = unit.replace("/usr/local/bin/portcullis ", "/usr/bin/portcullis ");
        write(&stage.join("usr/lib/systemd/system").join(name), &unit)?;
    }
    let copyright = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\n\
                     Copyright: the authors of Portcullis\nLicense: Apache-2.0\n \
                     On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n";
    write(&made.join("doc/portcullis/copyright"), copyright)?;
    let size = capture(Command::new("du").args(["-sk", "--apparent-size"]).arg(stage))?;
    let size = size.split_whitespace().next().context("du gives a size")?.to_owned();
    // The programs were built with this machine's libraries; older versions of these libraries may lack symbols.
    let mut depends = Vec::new();
    for library in ["libc6", "libgcc-s1", "libstdc++6"] {
        let has = capture(Command::new("dpkg-query").args(["-W", "-f", "${source:Upstream-Version}", library]))?;
        depends.push(format!("{library} (>= {})", has.trim()));
    }
    let control = format!(
        "Package: portcullis\nVersion: {version}\nArchitecture: {}\nMaintainer: the authors of Portcullis <noreply@example.org>\n\
         Section: net\nPriority: optional\nInstalled-Size: {size}\nDepends: {}\nDescription: {DESCRIPTION}\n",
        PROCESSOR.0,
        depends.join(", ")
    );
    write(&stage.join("DEBIAN/control"), &control)?;
    let time = capture(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(stage).arg(package).env("SOURCE_DATE_EPOCH", time.trim());
    capture(&mut pack)?;
    Ok(())
}

/// Unpacks the package, and tries the programs in it.
fn tried(package: &Path, root: &Path) -> Result<()> {
    capture(Command::new("dpkg-deb").arg("-x").arg(package).arg(root))?;
    let program = |name: &str| Command::new(root.join("usr/bin").join(name));
    for name in PROGRAMS {
        let said = capture(program(name).arg("--version"))?;
        ensure!(said.trim() == format!("{name} {}", env!("CARGO_PKG_VERSION")), "{said}");
        let page = root.join("usr/share/man/man1").join(format!("{name}.1.gz"));
        let text = capture(Command::new("gzip").args(["-dc"]).arg(&page))?;
        ensure!(text.contains(".SH SYNOPSIS"), "{} is not a manual page", page.display());
    }
    let policy = root.join("usr/share/portcullis/policies/pii");
    let bundle = root.join("bundle");
    let mut run = program("portcullis");
    run.args(["run", "--card", "sim", "--input", "tests/demo/sentences.jsonl", "--policy"]).arg(policy);
    let said = capture(run.arg("--bundle").arg(&bundle))?;
    ensure!(said.contains("total: ") && said.contains("reject"), "{said}");
    let trust = root.join("trust/sim-roots");
    fs::create_dir_all(&trust)?;
    fs::write(trust.join("simulation.pem"), capture(program("portcullis").args(["ca", "simulation"]))?)?;
    let mut verify = program("portcullis-verify");
    verify.arg("verify").arg(&bundle).arg("--trust").arg(root.join("trust")).arg("--allow-sim");
    let ended = verify.output()?;
    ensure!(ended.status.code() == Some(10), "{}", String::from_utf8_lossy(&ended.stdout));
    Ok(())
}

fn parts(out: &Path, version: &str) -> Result<Vec<PathBuf>> {
    let tools = tool::root()?.join(FOLDER).join("tools");
    if !tools.join("bin/cargo-cyclonedx").is_file() {
        say(&format!("cargo install cargo-cyclonedx {CYCLONEDX}"));
        let install = ["install", "cargo-cyclonedx", "--version", CYCLONEDX, "--locked", "--root"];
        tool::run(cargo().args(install).arg(&tools))?;
    }
    let mut lists = Vec::new();
    for (program, crate_folder) in PROGRAMS.into_iter().zip(CRATES) {
        let name = format!("{program}-{version}.cdx");
        let mut list = Command::new("cargo-cyclonedx");
        list.env("PATH", path_with(&tools.join("bin"))?).args(["cyclonedx", "--format", "json", "--quiet"]);
        list.args(["--target", PROCESSOR.1, "--override-filename", &name]);
        list.arg("--manifest-path").arg(Path::new(crate_folder).join("Cargo.toml"));
        tool::run(&mut list)?;
        // The tool writes a file next to every manifest of the workspace.
        let (from, to) = (Path::new(crate_folder).join(format!("{name}.json")), out.join(format!("{name}.json")));
        fs::rename(&from, &to).with_context(|| format!("`{}` was not written", from.display()))?;
        for other in
            capture(Command::new("git").args(["ls-files", "--others", "--", &format!("*{name}.json")]))?.lines()
        {
            if !other.starts_with("target/") {
                fs::remove_file(other)?;
            }
        }
        let text = fs::read_to_string(&to)?;
        let list: serde_json::Value = serde_json::from_str(&text)?;
        let count = list.get("components").and_then(|all| all.as_array()).map_or(0, Vec::len);
        let format = list.get("bomFormat").and_then(|format| format.as_str());
        ensure!(format == Some("CycloneDX") && count > 50, "{}: {count} components", to.display());
        lists.push(to);
    }
    Ok(lists)
}

/// Writes SHA256SUMS; `sha256sum --check` in that folder reads it.
fn checksums(out: &Path, made: &[PathBuf]) -> Result<()> {
    let names: Vec<_> = made.iter().filter_map(|path| path.file_name()).collect();
    ensure!(!names.is_empty(), "nothing was made");
    let sums = capture(Command::new("sha256sum").args(&names).current_dir(out))?;
    fs::write(out.join("SHA256SUMS"), sums)?;
    capture(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(out))?;
    Ok(())
}

/// The unit file of a service, taken from the documentation.
fn unit(name: &str) -> Result<String> {
    tracked("docs")?
        .into_iter()
        .find(|path| path.ends_with(name))
        .map(|path| path.display().to_string())
        .with_context(|| format!("the documentation holds no {name}"))
}

/// The files of a folder that git tracks.
fn tracked(folder: &str) -> Result<Vec<PathBuf>> {
    let list = capture(Command::new("git").args(["ls-files", "--", folder]))?;
    Ok(list.lines().map(PathBuf::from).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file stands in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy `{}`", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

fn write(to: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file stands in a folder")?)?;
    fs::write(to, text)?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o644))?)
}
