//! The stores that the tests of the issuer run on: an SQLite file, and a database of a real PostgreSQL server, which
//! each test program starts once.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use portcullis_authority::StoreUrl;
use portcullis_authority::tickets::make_store;
use postgres::{Client, NoTls};

/// Environment variable: the folder in which Debian's PostgreSQL is unpacked, if it is not installed.
const UNPACKED: &str = "PORTCULLIS_POSTGRESQL";
/// The user of the server if the tests run as root, because PostgreSQL refuses to run as root. It owns no other files.
const USER: u32 = 65_534;

/// A new store for one test.
pub(crate) struct TestStore {
    pub(crate) url: StoreUrl,
    _folder: Option<tempfile::TempDir>,
}

pub(crate) fn file() -> TestStore {
    let folder = tempfile::tempdir().unwrap();
    TestStore { url: StoreUrl::File(folder.path().join("tickets")), _folder: Some(folder) }
}

/// A new store of each kind. Without a PostgreSQL server, only a file; the reason is printed.
pub(crate) fn stores() -> Vec<TestStore> {
    let mut all = vec![file()];
    all.extend(database().map(|database| TestStore { url: StoreUrl::Postgres(database.issuer), _folder: None }));
    all
}

/// A database with a new store: the addresses for its owner and for the issuer.
pub(crate) struct Database {
    pub(crate) owner: String,
    pub(crate) issuer: String,
}

impl Database {
    pub(crate) fn owner(&self) -> Client {
        Client::connect(&self.owner, NoTls).unwrap()
    }
}

pub(crate) fn database() -> Option<Database> {
    Some(server()?.database())
}

impl Server {
    /// A new database.
    pub(crate) fn database(&self) -> Database {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("store{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let url = |user: &str, name: &str| format!("postgres://{user}@/{name}?host={}", self.sockets.display());
        self.owner().unwrap().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let database = Database { owner: url("owner", &name), issuer: url("issuer", &name) };
        make_store(&database.owner, "issuer").unwrap();
        database
    }
}

pub(crate) struct Server {
    programs: PathBuf,
    libraries: Option<PathBuf>,
    folder: PathBuf,
    sockets: PathBuf,
    /// The shell that runs the server.
    running: Mutex<Option<Child>>,
}

/// The server of this test program; `None` if this machine has no PostgreSQL.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let found = || {
        let made = Server::make();
        if let Err(why) = &made {
            println!("SKIPPED stores in a database: {why}");
        }
        made.ok()
    };
    SERVER.get_or_init(found).as_ref()
}

impl Server {
    /// Makes and starts a new server. Errors: the reason why this is not possible.
    pub(crate) fn make() -> Result<Self, String> {
        let unpacked = std::env::var_os(UNPACKED).map(PathBuf::from);
        let versions = unpacked.as_deref().unwrap_or(Path::new("/")).join("usr/lib/postgresql");
        let missing = || "there is no PostgreSQL here; `cargo xtask test` fetches it".to_owned();
        let versions = std::fs::read_dir(versions).map_err(|_| missing())?;
        let versions = versions.map(|version| version.unwrap().path().join("bin"));
        let mut programs = versions.filter(|bin| bin.join("initdb").exists()).max().ok_or_else(missing)?;
        let folder = tempfile::tempdir().unwrap().keep();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut libraries = None;
        if let Some(unpacked) = unpacked {
            // The server's user possibly cannot read this folder, and must own the files that it removes at the end.
            let copied = folder.join("root");
            std::fs::create_dir(&copied).unwrap();
            let own = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
            let mut copy = Command::new("cp");
            copy.current_dir(&unpacked).args(["-r", "--parents", "usr/lib/postgresql", "usr/share/postgresql", &own]);
            assert!(copy.arg(&copied).status().unwrap().success());
            if is_root() {
                let mut owned = Command::new("chown");
                assert!(owned.args(["-R", &USER.to_string()]).arg(&copied).status().unwrap().success());
            }
            programs = copied.join(programs.strip_prefix(&unpacked).unwrap());
            libraries = Some(copied.join(own));
        }
        let sockets = folder.join("sockets");
        std::fs::create_dir(folder.join("data")).unwrap();
        std::fs::create_dir(&sockets).unwrap();
        std::fs::set_permissions(folder.join("data"), std::fs::Permissions::from_mode(0o700)).unwrap();
        for own in [folder.join("data"), sockets.clone(), folder.clone()] {
            if is_root() {
                chown(&own, Some(USER), Some(USER)).map_err(|error| format!("no other user: {error}"))?;
            }
        }
        let server = Self { programs, libraries, folder, sockets, running: Mutex::default() };
        let data = server.folder.join("data");
        let arguments = ["-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-D"];
        let made = server.command(&server.programs.join("initdb")).args(arguments).arg(&data).output();
        let made = made.map_err(|error| format!("`initdb` does not start: {error}"))?;
        if !made.status.success() {
            return Err(format!("`initdb` fails: {}", String::from_utf8_lossy(&made.stderr).replace('\n', "; ")));
        }
        server.start();
        server.owner().unwrap().batch_execute("CREATE ROLE issuer LOGIN").unwrap();
        Ok(server)
    }

    /// A command that runs as the server's user.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("LC_ALL", "C").env("TZ", "UTC");
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        if is_root() {
            command.uid(USER).gid(USER);
        }
        command
    }

    fn running(&self) -> MutexGuard<'_, Option<Child>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn owner(&self) -> Result<Client, postgres::Error> {
        Client::connect(&format!("postgres://owner@/postgres?host={}", self.sockets.display()), NoTls)
    }

    /// Starts the server and waits until it answers.
    pub(crate) fn start(&self) {
        // The shell waits for a line on its input, or for the end of this process. Then it kills the server without a
        // shutdown. If no line came, it also removes all files.
        let script = "\"$0\" -D \"$1\" -k \"$2\" -h '' >>\"$1/log\" 2>&1 & read -r keep; kill -QUIT $!; wait $!; \
                      test \"$keep\" || rm -rf \"$3\"";
        let data = self.folder.join("data");
        let mut shell = self.command(Path::new("sh"));
        shell.args(["-c", script]).arg(self.programs.join("postgres"));
        shell.args([&data, &self.sockets, &self.folder]);
        *self.running() = Some(shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
        for _ in 0..600 {
            if self.owner().is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{}", std::fs::read_to_string(data.join("log")).unwrap_or_default());
    }

    /// Ends the server without a shutdown, so that it recovers from its write-ahead log at the next start.
    pub(crate) fn crash(&self) {
        let mut shell = self.running().take().unwrap();
        shell.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        shell.wait().unwrap();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
