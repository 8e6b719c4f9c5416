//! Where the programs of the cluster are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the Go modules, the build script, the audit policy and the stages.
const CONTROL_PLANE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/control-plane");

/// The command that builds the programs.
pub const BUILD_COMMAND: &str = "make control-plane";

/// The folder that the build script filled.
pub struct Programs {
    built: PathBuf,
    /// `KUBEBUILDER_ASSETS`: ready programs that go before those that were built.
    assets: Option<PathBuf>,
}

impl Programs {
    /// Finds the programs; fails with the command that builds them when one is missing.
    pub fn find() -> Result<Self, String> {
        let script = Path::new(CONTROL_PLANE).join("build.sh");
        let output = Command::new("sh").arg(&script).arg("--check").output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", script.display()))?;
        if output.status.success() {
            let built = String::from_utf8_lossy(&output.stdout).trim().into();
            return Ok(Self { built, assets: env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from) });
        }
        let detail = String::from_utf8_lossy(&output.stderr);
        Err(format!("the programs of the test cluster are not built; run: {BUILD_COMMAND}\n{}", detail.trim()))
    }

    /// The program `name`: from `KUBEBUILDER_ASSETS` when it is there, else the one that was built.
    pub fn path(&self, name: &str) -> PathBuf {
        let ready = self.assets.as_ref().map(|assets| assets.join(name));
        ready.filter(|path| path.is_file()).unwrap_or_else(|| self.built.join(name))
    }

    /// The same with other ready programs.
    pub fn with_assets(self, assets: Option<&Path>) -> Self {
        Self { assets: assets.map(Path::to_owned), ..self }
    }

    /// The folder of the programs that were built.
    pub fn folder(&self) -> &Path {
        &self.built
    }

    /// All of kwok's stages in one file's text: those of its module and our own.
    pub fn stages(&self) -> Result<String, String> {
        let mut text = String::new();
        for folder in [self.built.join("stages"), Path::new(CONTROL_PLANE).join("stages")] {
            let in_folder = |error| format!("cannot read {}: {error}", folder.display());
            for entry in fs::read_dir(&folder).map_err(in_folder)? {
                text += &fs::read_to_string(entry.map_err(in_folder)?.path()).map_err(in_folder)?;
                text += "\n---\n";
            }
        }
        Ok(text)
    }
}

/// The API server's audit policy.
pub fn audit_policy() -> PathBuf {
    Path::new(CONTROL_PLANE).join("audit-policy.yaml")
}
