//! Settings and where they come from.

use serde_json::{Map, Value, json};

use super::{API_VERSION, Report, Table};

/// One setting as it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key; that of the config file where it has one there.
    pub key: &'static str,
    /// Its value, when it has one.
    pub value: Option<String>,
    /// `flag`, `environment`, `config-file`, `kubeconfig` or `default`.
    pub source: &'static str,
    /// Which flag, variable or file.
    pub from: Option<String>,
}

/// What `config view` found.
#[derive(Clone, Debug, Default)]
pub struct SettingList {
    /// The settings.
    pub settings: Vec<Setting>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
}

impl Report for SettingList {
    fn document(&self) -> Value {
        let items = self.settings.iter().map(|setting| {
            let mut item = Map::new();
            item.insert("key".into(), json!(setting.key));
            item.extend(setting.value.iter().map(|value| ("value".to_owned(), json!(value))));
            item.insert("source".into(), json!(setting.source));
            item.extend(setting.from.iter().map(|from| ("from".to_owned(), json!(from))));
            Value::Object(item)
        });
        json!({
            "apiVersion": API_VERSION,
            "kind": "SettingList",
            "items": items.collect::<Vec<_>>(),
            "unseen": [],
            "warnings": self.warnings,
        })
    }

    fn table(&self, _wide: bool) -> Table {
        let mut table = Table::new(["KEY", "VALUE", "SOURCE"]);
        for Setting { key, value, source, from } in &self.settings {
            let source = from.as_ref().map_or_else(|| (*source).to_owned(), |from| format!("{source} {from}"));
            table.row([(*key).to_owned(), value.clone().unwrap_or_default(), source]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.settings.iter().map(|setting| setting.key.to_owned()).collect()
    }
}
