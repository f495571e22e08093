//! The files from which a training reads its data: their SHA-256, by which a change of them is found.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use regard_data::cancel;
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 20;
/// Digits of a digest in an error.
const SHOWN: usize = 12;

/// The files from which a training reads its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFiles {
    setting: &'static str,
    path: PathBuf,
    files: Vec<PathBuf>,
}

impl DataFiles {
    /// The `files` that are read for `path`, the value of a setting.
    pub fn new(setting: &'static str, path: impl Into<PathBuf>, files: Vec<PathBuf>) -> Self {
        Self { setting, path: path.into(), files }
    }

    /// SHA-256 of the file. Of several files it is that of the lines that `sha256sum` prints in their folder: digest, two
    /// spaces and name. `None` for pipes, and where a file cannot be read: the error of its reader says more.
    pub fn sha256(&self) -> Option<String> {
        match self.files.as_slice() {
            [] => None,
            [file] => digest(file).ok(),
            files => {
                let line = |file: &PathBuf| {
                    let name = file.file_name()?.to_string_lossy();
                    Some(format!("{}  {name}\n", digest(file).ok()?))
                };
                let lines: Option<String> = files.iter().map(line).collect();
                lines.map(|lines| crate::store::manifest::sha256(lines.as_bytes()))
            }
        }
    }

    /// Checks that data of the digest `now` is that of a training, whose digest is `before`. Where one of both is not known,
    /// there is nothing to check. `of` is the training in the error, `hint` the way out.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and the path.
    pub(crate) fn check(&self, now: Option<&str>, before: Option<&str>, of: &str, hint: &str) -> Result<()> {
        let (Some(now), Some(before)) = (now, before) else { return Ok(()) };
        if now == before {
            return Ok(());
        }
        let shown = |digest: &str| digest.chars().take(SHOWN).collect::<String>();
        let reason = format!(
            "`{}` is not the data {of} was trained on: its SHA-256 begins with {}, that of the training with {}",
            self.path.display(),
            shown(now),
            shown(before)
        );
        Err(Error::config(self.setting, reason).with_hint(hint))
    }

    /// The value of the setting.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// SHA-256 of a regular file, in hexadecimal digits.
fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    loop {
        cancel::check();
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => hash.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_file_has_its_own_digest_and_several_have_that_of_their_list() {
        let folder = tempfile::tempdir().unwrap();
        let [nodes, edges] = ["nodes.csv", "edges.csv"].map(|name| folder.path().join(name));
        fs::write(&nodes, "abc").unwrap();
        fs::write(&edges, "").unwrap();
        let of = |files: &[&PathBuf]| DataFiles::new("data.path", &nodes, files.iter().copied().cloned().collect());
        let [abc, empty] = [
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ];
        assert_eq!(of(&[&nodes]).sha256().as_deref(), Some(abc));
        let list = format!("{abc}  nodes.csv\n{empty}  edges.csv\n");
        assert_eq!(of(&[&nodes, &edges]).sha256(), Some(crate::store::manifest::sha256(list.as_bytes())));
        assert_eq!([of(&[]).sha256(), of(&[&folder.path().join("none")]).sha256()], [None, None]);
        assert_eq!(of(&[&folder.path().to_path_buf()]).sha256(), None);
    }
}
