//! The route a Pipe stands for.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::keys::TRAIT;

/// The spec of the Integration of a Pipe: one route from source over steps to sink.
pub fn integration_spec(pipe: &DynamicObject) -> Value {
    let spec = &pipe.data["spec"];
    let mut configuration = Vec::new();
    let source = uri(&spec["source"], "source", &mut configuration);
    let mut steps = Vec::new();
    for (number, step) in spec["steps"].as_array().into_iter().flatten().enumerate() {
        let id = format!("step-{}", number + 1);
        let kind = if step["ref"]["kind"] == "Kamelet" { "kamelet" } else { "to" };
        steps.push(json!({kind: uri(step, &id, &mut configuration)}));
    }
    steps.push(json!({"to": uri(&spec["sink"], "sink", &mut configuration)}));
    let mut integration = json!({
        "flows": [{"route": {"id": "binding", "from": {"uri": source, "steps": steps}}}],
    });
    if !configuration.is_empty() {
        integration["configuration"] = json!(configuration);
    }
    for field in ["replicas", "serviceAccountName", "dependencies", "traits"] {
        if let Some(value) = spec.get(field) {
            integration[field] = value.clone();
        }
    }
    for (key, value) in pipe.annotations() {
        if let Some((name, property)) = key.strip_prefix(TRAIT).and_then(|rest| rest.split_once('.')) {
            integration["traits"][name][property] = json!(value);
        }
    }
    integration
}

/// The URI of an endpoint. Properties of a Kamelet become configuration.
fn uri(endpoint: &Value, id: &str, configuration: &mut Vec<Value>) -> String {
    let properties = || endpoint["properties"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(uri) = endpoint["uri"].as_str() {
        let query: Vec<String> = properties().map(|(key, value)| format!("{key}={}", text(value))).collect();
        return if query.is_empty() { uri.to_owned() } else { format!("{uri}?{}", query.join("&")) };
    }
    let reference = &endpoint["ref"];
    let name = reference["name"].as_str().unwrap_or_default();
    if reference["kind"] != "Kamelet" {
        return format!("{}:{name}", text(&reference["kind"]).to_lowercase());
    }
    configuration.extend(properties().map(
        |(key, value)| json!({"type": "property", "value": format!("camel.kamelet.{name}.{id}.{key}={}", text(value))}),
    ));
    format!("kamelet:{name}/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_becomes_one_route() {
        let pipe = json!({
            "metadata": {"name": "ticks", "annotations": {"trait.camel.apache.org/container.image": "example/ticks:1"}},
            "spec": {
                "source": {"ref": {"kind": "Kamelet", "name": "timer-source"}, "properties": {"message": "hello"}},
                "steps": [{"ref": {"kind": "Kamelet", "name": "drop"}}],
                "sink": {"uri": "log:info", "properties": {"showAll": true}},
                "replicas": 2,
            },
        });
        let spec = integration_spec(&serde_json::from_value(pipe).expect("an object"));
        assert_eq!(
            spec,
            json!({
                "flows": [{"route": {"id": "binding", "from": {
                    "uri": "kamelet:timer-source/source",
                    "steps": [{"kamelet": "kamelet:drop/step-1"}, {"to": "log:info?showAll=true"}],
                }}}],
                "configuration": [{"type": "property", "value": "camel.kamelet.timer-source.source.message=hello"}],
                "replicas": 2,
                "traits": {"container": {"image": "example/ticks:1"}},
            })
        );
    }
}
