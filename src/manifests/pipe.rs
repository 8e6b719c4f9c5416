//! From a wish to a Pipe, or to a `KameletBinding` on clusters that have no Pipes yet.

use serde_json::{Map, Value, json};

use crate::{
    contracts::{
        camel_k::OPERATOR_ID,
        kinds::{KAMELET, KAMELET_BINDING, KAMELET_V1ALPHA1, Kind, PIPE},
    },
    error::{Error, Result},
};

use super::{
    closest, dependencies, did_you_mean,
    endpoint::{Endpoint, Place},
    metadata, names,
    traits::{self, Setting},
};

/// Which of the two resources connects endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Api {
    /// Pipe, of Camel K 2.
    #[default]
    Pipe,
    /// `KameletBinding`, of Camel K 1 and up to 2.5.
    KameletBinding,
}

impl Api {
    /// The kind of the resource.
    pub fn kind(self) -> Kind {
        match self {
            Self::Pipe => PIPE,
            Self::KameletBinding => KAMELET_BINDING,
        }
    }

    /// Kamelets as operators of that time serve them.
    pub fn kamelet(self) -> Kind {
        match self {
            Self::Pipe => KAMELET,
            Self::KameletBinding => KAMELET_V1ALPHA1,
        }
    }
}

/// Options of one Pipe as typed, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// SOURCE.
    pub source: String,
    /// SINK.
    pub sink: String,
    /// `--step`.
    pub steps: Vec<String>,
    /// `--name`.
    pub name: Option<String>,
    /// `-p`.
    pub properties: Vec<String>,
    /// `-t`.
    pub traits: Vec<String>,
    /// `--error-handler`.
    pub error_handler: Option<String>,
    /// `-d`.
    pub dependencies: Vec<String>,
    /// `--service-account`.
    pub service_account: Option<String>,
    /// `--label`.
    pub labels: Vec<String>,
    /// `--annotation`.
    pub annotations: Vec<String>,
}

/// What happens to messages that cannot be handled.
#[derive(Clone, Debug, PartialEq)]
enum ErrorHandler {
    None,
    Log,
    Sink(Endpoint),
}

/// A checked wish: everything about the Pipe except its operator and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Name.
    pub name: String,
    /// The operator id of an `--annotation`, if one was given.
    pub annotated_id: Option<String>,
    /// Remarks on what was typed, for warnings.
    pub remarks: Vec<String>,
    source: Endpoint,
    sink: Endpoint,
    steps: Vec<Endpoint>,
    error_handler: Option<ErrorHandler>,
    traits: Map<String, Value>,
    dependencies: Vec<String>,
    service_account: Option<String>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

/// Where and for whom a Pipe is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    /// As which resource.
    pub api: Api,
    /// The operator's id; `None` leaves the Pipe without one.
    pub id: Option<&'a str>,
    /// The namespace; `None` leaves it to whoever applies the manifest.
    pub namespace: Option<&'a str>,
}

impl Draft {
    /// Checks a wish.
    ///
    /// # Errors
    /// Anything wrong with an option or an endpoint (exit 2).
    pub fn new(wish: &Wish) -> Result<Self> {
        let source = Endpoint::parse(Place::Source, &wish.source)?;
        let sink = Endpoint::parse(Place::Sink, &wish.sink)?;
        let steps = (1..).zip(&wish.steps).map(|(number, step)| Endpoint::parse(Place::Step(number), step));
        let (annotations, annotated_id) = metadata::annotations(&wish.annotations)?;
        let settings = wish.traits.iter().map(|text| Setting::parse(text)).collect::<Result<Vec<_>>>()?;
        let (traits, mut remarks) = traits::traits(&settings)?;
        let mut draft = Self {
            name: names::pipe_name(wish.name.as_deref(), source.name_part(), sink.name_part())?,
            annotated_id,
            steps: steps.collect::<Result<_>>()?,
            source,
            sink,
            error_handler: wish.error_handler.as_deref().map(error_handler).transpose()?,
            traits,
            dependencies: dependencies::all(&wish.dependencies, &mut remarks)?,
            service_account: wish.service_account.as_deref().map(metadata::service_account).transpose()?,
            labels: metadata::labels(&wish.labels)?,
            annotations,
            remarks,
        };
        for text in &wish.properties {
            draft.set(text)?;
        }
        let unversioned = draft.endpoints().filter_map(|(place, endpoint)| endpoint.unversioned_kind(place));
        let unversioned: Vec<_> = unversioned.collect();
        draft.remarks.extend(unversioned);
        Ok(draft)
    }

    /// Every endpoint with its place, in the order in which messages pass.
    pub fn endpoints(&self) -> impl Iterator<Item = (Place, &Endpoint)> {
        let steps = (1..).zip(&self.steps).map(|(number, step)| (Place::Step(number), step));
        let dead_letters = match &self.error_handler {
            Some(ErrorHandler::Sink(endpoint)) => Some((Place::ErrorHandler, endpoint)),
            _ => None,
        };
        [(Place::Source, &self.source)].into_iter().chain(steps).chain([(Place::Sink, &self.sink)]).chain(dead_letters)
    }

    /// The Pipe or `KameletBinding`.
    pub fn object(&self, target: Target<'_>) -> Value {
        let kind = target.api.kind();
        let mut meta = Map::new();
        meta.insert("name".into(), json!(self.name));
        meta.extend(target.namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
        let mut annotations = self.annotations.clone();
        annotations.extend(target.id.map(|id| (OPERATOR_ID.to_owned(), json!(id))));
        for (field, map) in [("labels", &self.labels), ("annotations", &annotations)] {
            if !map.is_empty() {
                meta.insert(field.into(), json!(map));
            }
        }
        json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": meta, "spec": self.spec(target),
        })
    }

    fn spec(&self, target: Target<'_>) -> Map<String, Value> {
        let kamelet = target.api.kamelet();
        let endpoint = |endpoint: &Endpoint| endpoint.object(target.namespace, &kamelet);
        let mut spec = Map::new();
        spec.insert("source".into(), endpoint(&self.source));
        spec.insert("sink".into(), endpoint(&self.sink));
        if !self.steps.is_empty() {
            spec.insert("steps".into(), self.steps.iter().map(endpoint).collect());
        }
        if let Some(handler) = &self.error_handler {
            let handler = match handler {
                ErrorHandler::None => json!({"none": null}),
                ErrorHandler::Log => json!({"log": null}),
                ErrorHandler::Sink(sink) => json!({"sink": {"endpoint": endpoint(sink)}}),
            };
            spec.insert("errorHandler".into(), handler);
        }
        if let Some(account) = &self.service_account {
            spec.insert("serviceAccountName".into(), json!(account));
        }
        let mut integration = Map::new();
        let traits = traits::placed(&self.traits, target.api == Api::KameletBinding);
        if !traits.is_empty() {
            integration.insert("traits".into(), json!(traits));
        }
        if !self.dependencies.is_empty() {
            integration.insert("dependencies".into(), json!(self.dependencies));
        }
        match target.api {
            Api::Pipe => spec.extend(integration),
            Api::KameletBinding if integration.is_empty() => {}
            Api::KameletBinding => drop(spec.insert("integration".into(), json!(integration))),
        }
        spec
    }

    /// Sets the property of one `-p`.
    fn set(&mut self, text: &str) -> Result<()> {
        let (place, key, value) = property(text, self.steps.len())?;
        let endpoint = match place {
            Place::Source => &mut self.source,
            Place::Sink => &mut self.sink,
            Place::Step(number) => &mut self.steps[number - 1],
            Place::ErrorHandler => match &mut self.error_handler {
                Some(ErrorHandler::Sink(endpoint)) => endpoint,
                _ => {
                    return Err(Error::usage(format!("-p {text:?}: there is no error handler with an endpoint"))
                        .hint("--error-handler sink:ENDPOINT"));
                }
            },
        };
        if endpoint.set(key, value) {
            self.remarks.push(format!("-p {place}.{key} is not used: the {place} itself says {key}=…"));
        }
        Ok(())
    }
}

/// Reads `none`, `log`, or `sink:ENDPOINT`.
fn error_handler(text: &str) -> Result<ErrorHandler> {
    let forms = "--error-handler none, --error-handler log, or --error-handler sink:ENDPOINT";
    match text.split_once(':') {
        None if text == "none" => Ok(ErrorHandler::None),
        None if text == "log" => Ok(ErrorHandler::Log),
        Some(("sink", endpoint)) if !endpoint.is_empty() => {
            Endpoint::parse(Place::ErrorHandler, endpoint).map(ErrorHandler::Sink)
        }
        Some(("sink", _)) | None if text.starts_with("sink") => {
            Err(Error::usage(format!("--error-handler {text:?} names no endpoint")).hint(forms))
        }
        _ => {
            let head = text.split(':').next().unwrap_or_default();
            Err(Error::usage(format!("--error-handler {text:?} is not known"))
                .hints(did_you_mean(closest(head, ["none", "log", "sink"])))
                .hint(forms))
        }
    }
}

/// Reads `source.KEY=VALUE`, `sink.…`, `error-handler.…` or `step-N.…`.
fn property(text: &str, steps: usize) -> Result<(Place, &str, &str)> {
    let wrong = |what: String| Error::usage(format!("-p {text:?}: {what}"));
    let forms = "-p source.KEY=VALUE, -p sink.KEY=VALUE, -p step-1.KEY=VALUE, or -p error-handler.KEY=VALUE";
    let (path, value) = text.split_once('=').ok_or_else(|| wrong("it has no =".into()).hint(forms))?;
    let (prefix, key) =
        path.split_once('.').ok_or_else(|| wrong("it does not say of which endpoint".into()).hint(forms))?;
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(wrong(format!("{key:?} is no key")).hint(forms));
    }
    let place = match prefix {
        "source" => Place::Source,
        "sink" => Place::Sink,
        "error-handler" => Place::ErrorHandler,
        _ => match prefix.strip_prefix("step-") {
            Some(number) => step(number, steps).map_err(|what| {
                wrong(what).hint(if steps == 0 {
                    "add a step: --step ENDPOINT".into()
                } else {
                    let meant = if number == "0" { 1 } else { steps };
                    format!("steps count from 1: -p step-{meant}.{key}={value}")
                })
            })?,
            None => {
                return Err(wrong(format!("{prefix} is no endpoint"))
                    .hints(did_you_mean(closest(prefix, ["source", "sink", "error-handler", "step-1"])))
                    .hint(forms));
            }
        },
    };
    Ok((place, key, value))
}

fn step(number: &str, steps: usize) -> Result<Place, String> {
    let count = match steps {
        0 => "there are no steps".to_owned(),
        1 => "there is 1 step".to_owned(),
        _ => format!("there are {steps} steps"),
    };
    match number.parse::<usize>() {
        Ok(0) => Err(format!("steps count from 1, and {count}")),
        Ok(number) if number > steps => Err(format!("{count}, not {number}")),
        // `007` and `+1` would be read as numbers, too.
        Ok(parsed) if parsed.to_string() == number => Ok(Place::Step(parsed)),
        _ => Err(format!("step-{number} has no number of a step")),
    }
}

#[cfg(test)]
mod tests;
