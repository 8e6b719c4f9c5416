//! Trait options (`-t trait.property=value`) as `spec.traits`, with the types the API wants.

use serde_json::{Map, Value, json};

use crate::{
    contracts::camel_traits::{self, ADDONS, ADDONS_KEY, Property, Type},
    error::{Error, Result},
};

use super::{closest, did_you_mean};

/// A larger index is surely a slip.
const LARGEST_INDEX: usize = 999;

/// One step into a nested property.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    id: String,
    path: Vec<Segment>,
    value: String,
    text: String,
}

impl Setting {
    /// Reads `trait.property[.key|[n]]…=value`. A key with dots in it is quoted: `annotations."my.org/x"`.
    ///
    /// # Errors
    /// Another form (exit 2).
    pub fn parse(text: &str) -> Result<Self> {
        let malformed = || {
            Error::usage(format!("-t {text:?} is not of the form trait.property=value"))
                .hint("-t container.port=8080, -t jvm.options=-Xmx1g, -t keda.triggers[0].type=kafka")
        };
        let (id, rest) = text.split_once('.').ok_or_else(malformed)?;
        let id_like = !id.is_empty() && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !id_like {
            return Err(malformed());
        }
        let (path, value) = read_path(rest).ok_or_else(malformed)?;
        Ok(Self { id: id.to_owned(), path, value: value.to_owned(), text: text.to_owned() })
    }

    /// A setting that another flag stands for: `flag` is what messages call it.
    pub fn of(id: &str, property: &str, value: String, flag: &str) -> Self {
        Self { id: id.to_owned(), path: vec![Segment::Key(property.to_owned())], value, text: flag.to_owned() }
    }

    /// Trait and property, without the value: what a later option of the same key overrides.
    pub fn key(&self) -> String {
        self.path.iter().fold(self.id.clone(), |key, segment| match segment {
            Segment::Key(name) => format!("{key}.{name}"),
            Segment::Index(index) => format!("{key}[{index}]"),
        })
    }
}

/// The path up to the first `=` outside quotes, and the value behind it.
fn read_path(text: &str) -> Option<(Vec<Segment>, &str)> {
    let mut path = Vec::new();
    let mut rest = text;
    loop {
        let after = if let Some(inside) = rest.strip_prefix('[') {
            let (digits, after) = inside.split_once(']')?;
            path.push(Segment::Index(digits.parse().ok().filter(|index| *index <= LARGEST_INDEX && !path.is_empty())?));
            after
        } else {
            let (key, after) = match rest.chars().next()? {
                quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
                _ => rest.split_at(rest.find(['.', '[', '='])?),
            };
            if key.is_empty() {
                return None;
            }
            path.push(Segment::Key(key.to_owned()));
            after
        };
        match after.chars().next()? {
            '=' => break path_is_named(&path).then_some((path, &after[1..])),
            '.' => rest = &after[1..],
            '[' => rest = after,
            _ => break None,
        }
    }
}

/// The first part names a property.
fn path_is_named(path: &[Segment]) -> bool {
    let word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    matches!(path.first(), Some(Segment::Key(name)) if word(name))
}

/// What the settings make of `spec.traits`, and remarks on what kctl does not know.
///
/// # Errors
/// An unknown trait, a value of the wrong type, a property set twice that takes one value (exit 2).
pub fn traits(settings: &[Setting]) -> Result<(Map<String, Value>, Vec<String>)> {
    let mut traits = Map::new();
    let mut remarks = Vec::new();
    for setting in settings {
        let known = properties_of(setting)?;
        let fields = traits.entry(&setting.id).or_insert_with(|| json!({}));
        place(fields, setting, known.as_deref(), &mut remarks)?;
    }
    for (id, fields) in &traits {
        if let Some(path) = hole(fields) {
            return Err(Error::usage(format!("trait {id}: {path} is missing, although a later one is given"))
                .hint("count from [0], without gaps"));
        }
    }
    Ok((traits, remarks))
}

/// The traits where an operator looks for them: a v1 wants some of them under `addons`.
pub fn placed(traits: &Map<String, Value>, under_addons: bool) -> Map<String, Value> {
    if !under_addons {
        return traits.clone();
    }
    let mut placed = Map::new();
    let mut addons = Map::new();
    for (id, fields) in traits {
        match fields {
            Value::Object(own) if id == ADDONS_KEY => addons.extend(own.clone()),
            fields if ADDONS.contains(&id.as_str()) => drop(addons.insert(id.clone(), fields.clone())),
            fields => drop(placed.insert(id.clone(), fields.clone())),
        }
    }
    if !addons.is_empty() {
        placed.insert(ADDONS_KEY.into(), json!(addons));
    }
    placed
}

/// The properties of a setting's trait; `None` for a trait of other origin under `addons`.
fn properties_of(setting: &Setting) -> Result<Option<Vec<Property>>> {
    let id = setting.id.as_str();
    if id == ADDONS_KEY {
        return match setting.path.len() {
            0 | 1 => Err(Error::usage(format!("-t {}: which property of the addon?", setting.text))
                .hint("-t addons.NAME.property=value")),
            _ => Ok(None),
        };
    }
    camel_traits::properties(id).map(Some).ok_or_else(|| {
        Error::usage(format!("no trait is called {id}"))
            .hints(did_you_mean(closest(id, camel_traits::ids())))
            .hint(format!("a trait that is not Camel K's own: -t addons.{id}.property=value"))
    })
}

fn place(fields: &mut Value, setting: &Setting, known: Option<&[Property]>, remarks: &mut Vec<String>) -> Result<()> {
    let Some((Segment::Key(name), deeper)) = setting.path.split_first() else { return Ok(()) };
    let Some(known) = known else {
        return put(fields, &setting.path, guessed(&setting.value), setting);
    };
    let property = known.iter().find(|property| property.name == name || property.field == *name);
    let Some(property) = property else {
        let guess = closest(name, known.iter().map(|property| property.name));
        let guess = did_you_mean(guess).map(|text| format!("; {text}")).unwrap_or_default();
        remarks.push(format!("kctl knows no property {name} of trait {}{guess}", setting.id));
        let mut path = setting.path.clone();
        path[0] = Segment::Key(camel_traits::camel_case(name));
        return put(fields, &path, guessed(&setting.value), setting);
    };
    let mut path = vec![Segment::Key(property.field.clone())];
    path.extend_from_slice(deeper);
    let nested = !deeper.is_empty();
    match property.kind {
        Type::Map if nested => put(fields, &path, json!(setting.value), setting),
        Type::Object | Type::Objects if nested => {
            // Fields of an object are properties, too; what is below them are keys of the user's.
            if let Some(Segment::Key(field)) = path[1..].iter_mut().find(|segment| matches!(segment, Segment::Key(_))) {
                *field = camel_traits::camel_case(field);
            }
            put(fields, &path, json!(setting.value), setting)
        }
        Type::List if matches!(deeper, [Segment::Index(_)]) => put(fields, &path, json!(setting.value), setting),
        Type::List if !nested => {
            let list = fields[&property.field].take();
            let mut items = list.as_array().cloned().unwrap_or_default();
            items.push(json!(setting.value));
            fields[&property.field] = json!(items);
            Ok(())
        }
        Type::Text | Type::Bool | Type::Int | Type::IntOrText if !nested => {
            put(fields, &path, typed(setting, property.kind)?, setting)
        }
        kind => Err(wrong(setting, kind)),
    }
}

fn typed(setting: &Setting, kind: Type) -> Result<Value> {
    let value = setting.value.as_str();
    match kind {
        Type::Bool => match value.to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        Type::Int => value.parse::<i64>().ok().map(|number| json!(number)),
        Type::IntOrText => Some(value.parse::<i64>().map_or_else(|_| json!(value), |number| json!(number))),
        Type::Text | Type::List | Type::Map | Type::Object | Type::Objects => Some(json!(value)),
    }
    .ok_or_else(|| wrong(setting, kind))
}

fn wrong(setting: &Setting, kind: Type) -> Error {
    let key = setting.key();
    let (what, example) = match kind {
        Type::Text => ("takes one text", format!("-t {key}=TEXT")),
        Type::Bool => ("must be true or false", format!("-t {key}=true")),
        Type::Int => ("must be a whole number", format!("-t {key}=1")),
        Type::IntOrText => ("takes one number or text", format!("-t {key}=25%")),
        Type::List => ("takes texts", format!("-t {key}=ONE -t {key}=TWO")),
        Type::Map | Type::Object => ("takes keys", format!("-t {key}.KEY=VALUE")),
        Type::Objects => ("takes objects", format!("-t {key}[0].KEY=VALUE")),
    };
    Error::usage(format!("{}: {key} {what}", setting.text)).hint(example)
}

/// The type that an unknown property probably has.
fn guessed(value: &str) -> Value {
    match value {
        "true" => json!(true),
        "false" => json!(false),
        _ => value.parse::<i64>().ok().filter(|number| number.to_string() == value).map_or(json!(value), |n| json!(n)),
    }
}

/// Sets a value at a path, making maps and lists on the way.
fn put(place: &mut Value, path: &[Segment], value: Value, setting: &Setting) -> Result<()> {
    let clash = |what: &str| {
        Error::usage(format!("{}: {} {what}", setting.text, setting.key())).hint("give each property once")
    };
    let Some((segment, deeper)) = path.split_first() else {
        if !place.is_null() {
            return Err(clash("is given twice"));
        }
        *place = value;
        return Ok(());
    };
    match segment {
        Segment::Key(name) => {
            if place.is_null() {
                *place = json!({});
            }
            let fields = place.as_object_mut().ok_or_else(|| clash("contradicts an earlier option"))?;
            put(fields.entry(name).or_insert(Value::Null), deeper, value, setting)
        }
        Segment::Index(index) => {
            if place.is_null() {
                *place = json!([]);
            }
            let items = place.as_array_mut().ok_or_else(|| clash("contradicts an earlier option"))?;
            if items.len() <= *index {
                items.resize(index + 1, Value::Null);
            }
            put(&mut items[*index], deeper, value, setting)
        }
    }
}

/// Path of a list item that nobody has set.
fn hole(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| match item {
            Value::Null => Some(format!("[{index}]")),
            item => hole(item).map(|inner| format!("[{index}]{inner}")),
        }),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, field)| hole(field).map(|inner| format!("{name}{inner}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    fn built(options: &[&str]) -> Result<(Value, Vec<String>)> {
        let settings = options.iter().map(|option| Setting::parse(option)).collect::<Result<Vec<_>>>()?;
        traits(&settings).map(|(traits, remarks)| (Value::Object(traits), remarks))
    }

    #[test]
    fn typed_nested_and_repeated() {
        let cases: [(&[&str], Value); 15] = [
            (&["container.port=8080"], json!({"container": {"port": 8080}})),
            (&["container.request-cpu=1"], json!({"container": {"requestCPU": "1"}})),
            (&["container.requestCPU=1"], json!({"container": {"requestCPU": "1"}})),
            (
                &["container.image=reg/a:1", "container.enabled=TRUE"],
                json!({"container": {
                "image": "reg/a:1", "enabled": true}}),
            ),
            (&["jvm.options=-Xmx1g"], json!({"jvm": {"options": ["-Xmx1g"]}})),
            (&["jvm.options=-Da=b", "jvm.options=-Dc"], json!({"jvm": {"options": ["-Da=b", "-Dc"]}})),
            (&["environment.vars[0]=A=1"], json!({"environment": {"vars": ["A=1"]}})),
            (
                &["keda.triggers[0].type=kafka", "keda.triggers[0].metadata.topic=t", "keda.triggers[1].type=cron"],
                json!({"keda": {"triggers": [{"type": "kafka", "metadata": {"topic": "t"}}, {"type": "cron"}]}}),
            ),
            (
                &["jvm.ca-certificates[0].cert-path=/a", "jvm.base-truststore.password-path=/b"],
                json!({"jvm": {"caCertificates": [{"certPath": "/a"}], "baseTruststore": {"passwordPath": "/b"}}}),
            ),
            (&["ingress.annotations.\"a.b/c\"=1"], json!({"ingress": {"annotations": {"a.b/c": "1"}}})),
            (&["ingress.annotations.'a=b'.x=1"], json!({"ingress": {"annotations": {"a=b": {"x": "1"}}}})),
            (&["deployment.rolling-update-max-surge=25%"], json!({"deployment": {"rollingUpdateMaxSurge": "25%"}})),
            (&["deployment.rolling-update-max-surge=2"], json!({"deployment": {"rollingUpdateMaxSurge": 2}})),
            (
                &["addons.mine.size=3", "addons.mine.deep.er=x"],
                json!({"addons": {"mine": {
                "size": 3, "deep": {"er": "x"}}}}),
            ),
            (&["camel.properties=a = b"], json!({"camel": {"properties": ["a = b"]}})),
        ];
        for (options, expected) in cases {
            assert_eq!(built(options).expect("valid"), (expected, vec![]), "{options:?}");
        }
    }

    #[test]
    fn unknown_properties_are_sent_with_a_remark() {
        let (traits, remarks) = built(&["container.prot=80", "logging.new-thing=on"]).expect("valid");
        assert_eq!(traits, json!({"container": {"prot": 80}, "logging": {"newThing": "on"}}));
        assert!(remarks[0].contains("did you mean port?"), "{remarks:?}");
        assert_eq!(remarks.len(), 2);
    }

    #[test]
    fn what_is_wrong() {
        let cases: [(&[&str], &str, &str); 17] = [
            (&["container"], "not of the form", "-t container.port"),
            (&["container.port"], "not of the form", "-t container.port"),
            (&["Container.port=1"], "not of the form", ""),
            (&[".port=1"], "not of the form", ""),
            (&["container.=1"], "not of the form", ""),
            (&["keda.[0]=1"], "not of the form", ""),
            (&["keda.triggers[x].type=1"], "not of the form", ""),
            (&["keda.triggers[1000].type=1"], "not of the form", ""),
            (&["ingress.annotations.\"open=1"], "not of the form", ""),
            (&["contaner.port=1"], "no trait is called contaner", "did you mean container?"),
            (&["container.port=http"], "must be a whole number", "=1"),
            (&["container.enabled=on"], "must be true or false", "=true"),
            (&["container.port=1", "container.port=2"], "is given twice", "once"),
            (&["ingress.annotations=x"], "takes keys", ".KEY=VALUE"),
            (&["container.image.tag=x"], "takes one text", "=TEXT"),
            (&["keda.triggers[1].type=x"], "triggers[0] is missing", "[0]"),
            (&["addons.x=1"], "which property", "addons.NAME"),
        ];
        for (options, says, hint) in cases {
            let error = built(options).expect_err("wrong");
            assert!(error.message().contains(says), "{options:?}: {error}");
            assert!(error.all_hints().iter().any(|text| text.contains(hint)), "{options:?}: {:?}", error.all_hints());
            assert_eq!(error.exit(), Exit::Usage);
        }
    }

    #[test]
    fn keys_tell_what_overrides_what() {
        let key = |text: &str| Setting::parse(text).expect("valid").key();
        assert_eq!(key("container.port=1"), key("container.port=2"));
        assert_ne!(key("keda.triggers[0].type=a"), key("keda.triggers[1].type=a"));
    }
}
