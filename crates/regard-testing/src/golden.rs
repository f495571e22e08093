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
    files: Vec<PathBuf>,
    tensors: BTreeMap<String, (TensorInfo, Values)>,
}

/// Entry of the manifest for one array.
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
    /// The shared cases, or those committed with the project when the shared ones are absent.
    pub fn open() -> Self {
        Self::read(&shared_root().join("golden")).unwrap_or_else(Self::open_committed)
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
        let found = Self::read(&shared_root().join("golden"));
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

    /// Loads the cases whose names start with `prefix`.
    ///
    /// # Panics
    /// If there is none: a test that passes without a case tests nothing.
    pub fn cases(&self, prefix: &str) -> Vec<Case> {
        let cases: Vec<Case> = self.names(prefix).iter().filter_map(|name| self.case(name)).collect();
        assert!(!cases.is_empty(), "no case {prefix}* in {}", self.root.display());
        cases
    }

    /// Loads a case; `None` when the manifest has none of that name.
    pub fn case(&self, name: &str) -> Option<Case> {
        let entry = self.cases.iter().find(|case| case["name"] == name)?.clone();
        let files = entry["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str());
        let files: Vec<PathBuf> =
            files.filter(|path| path.ends_with(".safetensors")).map(|path| self.root.join(path)).collect();
        let (name, config) = (name.to_owned(), entry["config"].clone());
        let mut case = Case { name, config, entry, files: files.clone(), tensors: BTreeMap::new() };
        files.iter().for_each(|path| case.load(path));
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

    /// Entry of the manifest for an array.
    ///
    /// # Panics
    /// If the case has no array of that name.
    pub fn info(&self, name: &str) -> &TensorInfo {
        let found = self.tensors.get(name);
        &found.unwrap_or_else(|| panic!("{}: no array {name}", self.name)).0
    }

    /// The little-endian bytes of an array, in pieces of `N`.
    ///
    /// # Panics
    /// If the case has no array of that name.
    pub fn bytes<const N: usize>(&self, name: &str) -> Vec<[u8; N]> {
        for path in &self.files {
            let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let file = SafeTensors::deserialize(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if let Ok(view) = file.tensor(name) {
                return view.data().as_chunks::<N>().0.to_vec();
            }
        }
        panic!("{}: no array {name}", self.name)
    }

    /// The names of all arrays.
    pub fn tensor_names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    /// The largest absolute difference allowed from an array.
    ///
    /// # Panics
    /// If the manifest gives none.
    pub fn tolerance(&self, name: &str) -> f64 {
        let tolerance = self.info(name).tolerance;
        tolerance.unwrap_or_else(|| panic!("{}: {name} has no tolerance", self.name))
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

/// A file or folder below the shared data; `None`, and a line that says so, when it is absent.
pub fn shared(below: &str) -> Option<PathBuf> {
    let path = shared_root().join(below);
    if path.exists() {
        return Some(path);
    }
    skipped(&format!("no shared data, {below}"));
    None
}

/// The folder that `REGARD_SHARED` names, or `shared` beside the workspace.
fn shared_root() -> PathBuf {
    let root = std::env::var_os("REGARD_SHARED").map(PathBuf::from);
    root.unwrap_or_else(|| workspace().join("../shared"))
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
