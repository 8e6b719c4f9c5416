//! The environment an operator is started with.

use std::collections::BTreeMap;

/// Variables of a process or of a pod's container. Set and empty is not the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        Self(std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect())
    }

    /// The value of a variable, if it is set, perhaps to nothing.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable, if it is set to something.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
