//! Reference cases described by a `manifest.json`: sizes, files and tolerances are read from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::Value;

use crate::{Values, skipped};

/// A folder of golden cases.
#[derive(Debug)]
pub struct Golden {
    root: PathBuf,
    cases: Vec<Value>,
}

/// One case: its configuration and the arrays it names, all loaded.
#[derive(Debug)]
pub struct Case {
    /// Unique name, `family/case`.
    pub name: String,
    /// Sizes and switches.
    pub config: Value,
    /// The whole entry of the manifest.
    pub entry: Value,
    tensors: BTreeMap<String, (TensorInfo, Values)>,
}

/// What the manifest says of one array.
#[derive(Clone, Debug, Default)]
pub struct TensorInfo {
    /// `input`, `weight`, `output`, `grad`, `after_step`.
    pub role: String,
    /// Largest absolute difference allowed.
    pub tolerance: Option<f64>,
    /// The same where the gradient is not almost zero; for parameters after a step of Adam.
    pub tolerance_where_grad: Option<f64>,
}

impl Golden {
    /// The shared cases, or the few committed with the project when those are absent.
    pub fn open() -> Self {
        Self::read(&shared()).unwrap_or_else(Self::open_committed)
    }

    /// The cases committed with the project, for families that the shared ones lack.
    ///
    /// # Panics
    /// If their manifest is missing.
    pub fn open_committed() -> Self {
        let committed = workspace().join("golden/cases");
        Self::read(&committed).unwrap_or_else(|| panic!("no manifest in {committed:?}"))
    }

    /// The shared cases; `None`, and a line that says so, when they are absent.
    pub fn open_shared() -> Option<Self> {
        let found = Self::read(&shared());
        if found.is_none() {
            skipped("no shared data");
        }
        found
    }

    fn read(root: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(root.join("manifest.json")).ok()?;
        let manifest: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", root.join("manifest.json").display()));
        let cases = manifest["cases"].as_array().cloned().unwrap_or_default();
        Some(Self { root: root.to_owned(), cases })
    }

    /// The names of the cases that start with `prefix`.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.cases.iter().filter_map(|case| case["name"].as_str());
        names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// Loads a case; `None` when the manifest has none of that name.
    pub fn case(&self, name: &str) -> Option<Case> {
        let entry = self.cases.iter().find(|case| case["name"] == name)?.clone();
        let mut case = Case { name: name.to_owned(), config: entry["config"].clone(), tensors: BTreeMap::new(), entry };
        let files = case.entry["files"].as_array().cloned().unwrap_or_default();
        for path in files.iter().filter_map(|file| file["path"].as_str()) {
            if path.ends_with(".safetensors") {
                case.load(&self.root.join(path));
            }
        }
        Some(case)
    }

    /// Loads the first case that has the file `path`.
    pub fn case_with_file(&self, path: &str) -> Option<Case> {
        let has = |case: &&Value| {
            let files = case["files"].as_array();
            files.into_iter().flatten().any(|file| file["path"] == path)
        };
        self.case(self.cases.iter().find(has)?["name"].as_str()?)
    }

    /// Where a file of the manifest lies.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

impl Case {
    /// An array; the test fails when there is none.
    ///
    /// # Panics
    /// If the case has no array of that name.
    pub fn get(&self, name: &str) -> &Values {
        self.find(name).unwrap_or_else(|| panic!("{}: no array {name}", self.name))
    }

    /// An array, if the case has it.
    pub fn find(&self, name: &str) -> Option<&Values> {
        self.tensors.get(name).map(|(_, values)| values)
    }

    /// What the manifest says of an array.
    ///
    /// # Panics
    /// If the case has no array of that name.
    pub fn info(&self, name: &str) -> &TensorInfo {
        let found = self.tensors.get(name);
        &found.unwrap_or_else(|| panic!("{}: no array {name}", self.name)).0
    }

    /// The arrays whose names start with `prefix`, without the prefix.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Values)> {
        let named = move |(name, (_, values)): (&'a String, &'a (TensorInfo, Values))| {
            name.strip_prefix(prefix).map(|rest| (rest, values))
        };
        self.tensors.iter().filter_map(named)
    }

    /// A size of the configuration.
    ///
    /// # Panics
    /// If it is missing.
    pub fn size(&self, key: &str) -> usize {
        let value = self.config[key].as_u64();
        value.unwrap_or_else(|| panic!("{}: no size {key}", self.name)) as usize
    }

    /// A number of the configuration.
    ///
    /// # Panics
    /// If it is missing.
    pub fn number(&self, key: &str) -> f64 {
        let value = self.config[key].as_f64();
        value.unwrap_or_else(|| panic!("{}: no number {key}", self.name))
    }

    fn load(&mut self, path: &Path) {
        for (name, values) in read_safetensors(path) {
            let infos = self.entry["tensors"].as_array();
            let info = infos.into_iter().flatten().find(|info| info["name"] == name.as_str());
            let info = info.map(|info| TensorInfo {
                role: info["role"].as_str().unwrap_or_default().to_owned(),
                tolerance: info["tol_abs"].as_f64(),
                tolerance_where_grad: info["tol_abs_where_grad_above_1e_5"].as_f64(),
            });
            self.tensors.insert(name, (info.unwrap_or_default(), values));
        }
    }
}

fn read_safetensors(path: &Path) -> BTreeMap<String, Values> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = SafeTensors::deserialize(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.iter().map(|(name, view)| (name.to_owned(), Values::from_view(&view))).collect()
}

/// `golden` of the shared data, by the environment or beside the workspace.
fn shared() -> PathBuf {
    let root = std::env::var_os("REGARD_SHARED").map(PathBuf::from);
    root.unwrap_or_else(|| workspace().join("../shared")).join("golden")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
