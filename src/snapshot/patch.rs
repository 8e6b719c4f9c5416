//! Merge patch, JSON patch, server-side apply and scale.

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    apply,
    call::{Call, Reply},
    managed::Operation,
    request::Unknown,
    shape::meta,
    status::{ApiError, Cause},
    store, validate,
    write::Records,
    yaml,
};

const TYPES: &str = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

impl Call<'_> {
    /// Answers a patch.
    pub(super) fn patch(&mut self, content_type: &str, body: &[u8]) -> Result<Reply, ApiError> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if kind == "application/apply-patch+yaml" {
            return self.apply(body);
        }
        if self.query.force {
            let message = "Forbidden: may not be specified for non-apply patch".to_owned();
            return Err(options_error(Cause { reason: "FieldValueForbidden", message, field: "force".into() }));
        }
        let strategic = kind == "application/strategic-merge-patch+json";
        let patched = match kind {
            "application/merge-patch+json" => merged(body)?,
            "application/json-patch+json" => edited(body)?,
            _ if strategic && !self.resource.custom => merged(body)?,
            _ if strategic => {
                let message =
                    format!("the body of the request was in an unknown format - accepted media types include: {TYPES}");
                return Err(ApiError::unsupported_here(message));
            }
            _ => return Err(ApiError::unsupported_media_type()),
        };
        let live = self.stored()?.value_as(&self.api_version());
        if self.target.subresource.as_deref() == Some("scale") {
            let scale = patched(self.scale(&live)?)?;
            return self.set_scale(&scale).map(|scale| Reply::ok(&scale));
        }
        let mut object = patched(live.clone())?;
        if !object.is_object() {
            return Err(ApiError::rejected());
        }
        validate::same_name(self.name(), &object)?;
        self.same_uid(&live, &object)?;
        self.refuse_or_drop_unknown_of_patch(&mut object)?;
        let writer = self.writer(Operation::Update);
        let object = self.change(&live, object, Records::Kept(&writer))?;
        Ok(self.answer(StatusCode::OK, &object))
    }

    /// Answers a server-side apply: creates the object when it is not there.
    fn apply(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        if self.query.field_manager.is_empty() {
            return Err(options_error(Cause::required("fieldManager", "is required for apply patch")));
        }
        let config = self.configuration(body)?;
        let writer = self.writer(Operation::Apply);
        let key = store::key(self.namespace(), self.name());
        let live = self.store.get(&self.resource, &key).map(|object| object.value_as(&self.api_version()));
        let owned = self.what_is_applied(&config);
        let base = live.clone().unwrap_or_else(|| json!({}));
        let applied = apply::apply(&base, &owned, &writer, self.query.force, &self.now)?;
        let mut object = applied.object;
        if let Some(live) = live {
            self.same_uid(&live, &config)?;
            object["metadata"]["resourceVersion"] = json!(meta(&config, "resourceVersion"));
            let object = self.change(&live, object, Records::Given(applied.managed))?;
            return Ok(self.answer(StatusCode::OK, &object));
        }
        if !meta(&config, "uid").is_empty() {
            return Err(ApiError::no_such_uid(&self.resource, self.name(), meta(&config, "uid")));
        }
        if self.target.subresource.is_some() {
            return Err(ApiError::not_found(&self.resource, self.name()));
        }
        object["metadata"]["name"] = json!(self.name());
        let mut object = self.add(object, Records::Given(applied.managed))?;
        if self.query.dry_run && !meta(&config, "resourceVersion").is_empty() {
            object["metadata"]["resourceVersion"] = config["metadata"]["resourceVersion"].clone();
        }
        Ok(self.answer(StatusCode::CREATED, &object))
    }

    /// Reads and checks the body of an apply.
    fn configuration(&self, body: &[u8]) -> Result<Value, ApiError> {
        let config: Value = serde_json::from_slice(body)
            .ok()
            .or_else(|| std::str::from_utf8(body).ok().and_then(yaml::document))
            .ok_or_else(|| ApiError::bad_request("error decoding YAML: the body is neither YAML nor JSON"))?;
        validate::same_name(self.name(), &config)?;
        validate::namespace(self.namespace(), &config)?;
        if !config["metadata"]["managedFields"].is_null() {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        let is = (config["apiVersion"].as_str().unwrap_or_default(), config["kind"].as_str().unwrap_or_default());
        if is != (self.api_version().as_str(), self.resource.kind.as_str()) {
            let api_version = if is.0.contains('/') { is.0.to_owned() } else { format!("/{}", is.0) };
            return Err(ApiError::bad_request(format!("invalid object type: {api_version}, Kind={}", is.1)));
        }
        let unknown = validate::drop_unknown(&self.version(), &mut config.clone());
        match unknown.as_slice() {
            [] => Ok(config),
            [one] => Err(self.undeclared(&format!("{}: field not declared in schema", dotted(one)))),
            many => {
                let lines: Vec<String> =
                    many.iter().map(|field| format!("\n  {}: field not declared in schema", dotted(field))).collect();
                Err(self.undeclared(&format!("errors:{}", lines.concat())))
            }
        }
    }

    fn undeclared(&self, why: &str) -> ApiError {
        let namespace = self.namespace().unwrap_or_default();
        let api_version = self.api_version();
        let api_version = if self.resource.group.is_empty() { format!("/{api_version}") } else { api_version };
        ApiError::internal(format!(
            "failed to create typed patch object ({namespace}/{}; {api_version}, Kind={}): {why}",
            self.name(),
            self.resource.kind
        ))
    }

    /// The part of a configuration that is applied here: the status through its subresource only, and nothing else then.
    fn what_is_applied(&self, config: &Value) -> Value {
        let mut part = config.clone();
        let status_only = self.target.subresource.as_deref() == Some("status");
        if let Some(fields) = part.as_object_mut() {
            if status_only {
                fields.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "status"));
            } else if self.version().status {
                fields.shift_remove("status");
            }
        }
        if let Some(metadata) = part.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("resourceVersion");
            metadata.shift_remove("uid");
        }
        part
    }

    fn same_uid(&self, live: &Value, object: &Value) -> Result<(), ApiError> {
        let asked = meta(object, "uid");
        if asked.is_empty() || asked == meta(live, "uid") { Ok(()) } else { Err(self.immutable_uid(asked)) }
    }

    fn immutable_uid(&self, uid: &str) -> ApiError {
        let cause = || Cause::invalid("metadata.uid", format!("{}: field is immutable", json!(uid)));
        ApiError::invalid(&self.resource, self.name(), &[cause(), cause()])
    }

    fn refuse_or_drop_unknown_of_patch(&self, object: &mut Value) -> Result<(), ApiError> {
        let whole = object.to_string();
        let unknown = validate::drop_unknown(&self.version(), object);
        if unknown.is_empty() || self.query.unknown_fields == Unknown::Drop {
            return Ok(());
        }
        let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {}", json!(field))).collect();
        let why = format!("{}: strict decoding error: {}", json!(whole), said.join(", "));
        Err(ApiError::invalid_kind("", "", "", &[Cause::invalid("patch", why)]))
    }

    /// The scale of an object.
    pub(super) fn scale(&self, object: &Value) -> Result<Value, ApiError> {
        let paths = self.version().scale.ok_or_else(ApiError::no_such_resource)?;
        let number = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or_default();
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object.pointer(&format!("/metadata/{field}")) {
                metadata[field] = value.clone();
            }
        }
        let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": {"replicas": number(&paths.spec)}, "status": {"replicas": number(&paths.status)}});
        if let Some(selector) = paths.selector.and_then(|path| object.pointer(&path).cloned()) {
            scale["status"]["selector"] = selector;
        }
        Ok(scale)
    }

    /// Sets the replicas of an object to those of a scale.
    pub(super) fn set_scale(&mut self, scale: &Value) -> Result<Value, ApiError> {
        let paths = self.version().scale.ok_or_else(ApiError::no_such_resource)?;
        let live = self.stored()?.value_as(&self.api_version());
        let mut object = live.clone();
        let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| json!(0));
        let mut at = &mut object;
        for name in paths.spec.split('/').skip(1) {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[name];
        }
        *at = replicas;
        object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
        let writer = self.writer(Operation::Update);
        let object = self.change(&live, object, Records::Kept(&writer))?;
        self.scale(&object)
    }
}

fn dotted(field: &str) -> String {
    format!(".{field}")
}

fn options_error(cause: Cause) -> ApiError {
    ApiError::invalid_kind("PatchOptions", "meta.k8s.io", "", &[cause])
}

type Edit = Box<dyn Fn(Value) -> Result<Value, ApiError>>;

/// A merge patch (RFC 7386).
fn merged(body: &[u8]) -> Result<Edit, ApiError> {
    let patch: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if !patch.is_object() {
        let is = if patch.is_array() { "array" } else { "value" };
        let message = format!(
            "error decoding patch: json: cannot unmarshal {is} into Go value of type map[string]interface {{}}"
        );
        return Err(ApiError::bad_request(message));
    }
    Ok(Box::new(move |mut object| {
        json_patch::merge(&mut object, &patch);
        Ok(object)
    }))
}

/// A JSON patch (RFC 6902).
fn edited(body: &[u8]) -> Result<Edit, ApiError> {
    let patch: json_patch::Patch = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    Ok(Box::new(move |mut object| {
        json_patch::patch(&mut object, &patch).map_err(|_| ApiError::rejected())?;
        Ok(object)
    }))
}
