//! Create, replace and delete.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    call::{Call, Reply},
    crd,
    managed::{Managed, Operation, Writer},
    object::Origin,
    request::{Target, Unknown},
    status::{self, ApiError, Cause},
    store, validate,
};

/// Fields of metadata that only the server writes.
const SERVERS_OWN: [&str; 6] =
    ["uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

impl Call<'_> {
    /// Answers a create.
    pub(super) fn create(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        let mut object = validate::decode(&self.resource, &self.target.version, body)?;
        validate::namespace(self.namespace(), &object)?;
        if is_set(&object, "resourceVersion") {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        self.refuse_or_drop_unknown(&mut object)?;
        let writer = self.writer(Operation::Update);
        let object = self.add(object, Some(&writer))?;
        Ok(self.answer(StatusCode::CREATED, &object))
    }

    /// Adds an object; with a writer, records who wrote it.
    pub(super) fn add(&mut self, mut object: Value, writer: Option<&Writer>) -> Result<Value, ApiError> {
        let resource = std::sync::Arc::clone(&self.resource);
        if let Some(namespace) = self.namespace()
            && !self.store.has_namespace(namespace)
        {
            return Err(ApiError::namespace_not_found(namespace));
        }
        let metadata = metadata(&mut object);
        for field in SERVERS_OWN {
            metadata.shift_remove(field);
        }
        if let Some(namespace) = &self.target.namespace {
            metadata.insert("namespace".into(), json!(namespace));
        } else {
            metadata.shift_remove("namespace");
        }
        let seed =
            format!("{}/{}/{}", resource.qualified(), self.store.version(), jiff::Timestamp::now().as_nanosecond());
        let name = text(metadata, "name");
        if name.is_empty() {
            let prefix = text(metadata, "generateName");
            if prefix.is_empty() {
                let cause = Cause::required("metadata.name", "name or generateName is required");
                return Err(ApiError::invalid(&resource, "", &[cause]));
            }
            metadata.insert("name".into(), json!(format!("{prefix}{}", store::name_suffix(&seed))));
        }
        let name = text(metadata, "name");
        validate::name(&resource, &name)?;
        metadata.insert("uid".into(), json!(store::uid(&seed)));
        if resource.generation {
            metadata.insert("generation".into(), json!(1));
        }
        metadata.insert("creationTimestamp".into(), json!(self.now));
        self.prepare(&mut object);
        validate::object(&resource, &self.version(), &name, &object)?;

        let key = store::key(self.namespace(), &name);
        if self.store.get(&resource, &key).is_some() {
            return Err(ApiError::already_exists(&resource, &name));
        }
        if let Some(writer) = writer {
            let mut managed = Managed::default();
            managed.update(writer, &json!({}), &object, &self.now);
            managed.write(&mut object);
        }
        if self.query.dry_run {
            return Ok(object);
        }
        if store::is_crd(&resource) {
            crd::establish(&mut object, &self.now);
        }
        object["metadata"]["resourceVersion"] = json!(self.store.next_version());
        self.store.put(&resource, key, object.clone(), Origin::Created);
        Ok(object)
    }

    /// Fills in what the server fills in, and drops the status, which has a writer of its own.
    fn prepare(&self, object: &mut Value) {
        if self.version().status
            && let Some(fields) = object.as_object_mut()
        {
            fields.shift_remove("status");
        }
        if store::is_crd(&self.resource) {
            crd::set_defaults(object);
        }
        if self.resource.group.is_empty() && self.resource.plural == "namespaces" {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
    }

    /// Answers a replace.
    pub(super) fn replace(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        if self.target.subresource.as_deref() == Some("scale") {
            let scale = serde_json::from_slice(body)
                .map_err(|error| ApiError::bad_request(format!("error decoding scale: {error}")))?;
            return self.set_scale(&scale).map(|scale| Reply::ok(&scale));
        }
        let mut object = validate::decode(&self.resource, &self.target.version, body)?;
        validate::namespace(self.namespace(), &object)?;
        validate::same_name(self.name(), &object)?;
        self.refuse_or_drop_unknown(&mut object)?;
        let live = self.stored()?.value_as(&self.api_version());
        if self.resource.custom && !is_set(&object, "resourceVersion") {
            let message = "0: must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", message);
            let plural = &self.resource.plural;
            return Err(ApiError::invalid_kind(plural, &self.resource.group, self.name(), &[cause]));
        }
        let (asked, is) = (meta(&object, "uid"), meta(&live, "uid"));
        if !asked.is_empty() && asked != is {
            return Err(ApiError::other_uid(&self.resource, self.namespace(), self.name(), asked, is));
        }
        let writer = self.writer(Operation::Update);
        let object = self.change(&live, object, Some(&writer))?;
        Ok(self.answer(StatusCode::OK, &object))
    }

    /// Puts a changed object in the place of the live one, and returns what is stored then. With a writer, records who
    /// changed what; without, the object brings its managedFields along.
    pub(super) fn change(
        &mut self,
        live: &Value,
        mut object: Value,
        writer: Option<&Writer>,
    ) -> Result<Value, ApiError> {
        let resource = std::sync::Arc::clone(&self.resource);
        let name = self.name().to_owned();
        let asked = meta(&object, "resourceVersion");
        if !asked.is_empty() && asked != "0" && asked != meta(live, "resourceVersion") {
            return Err(ApiError::modified(&resource, &name));
        }
        self.keep_what_is_not_written_here(live, &mut object);
        keep_servers_own(live, &mut object);
        if store::is_crd(&resource) {
            crd::set_defaults(&mut object);
        }
        validate::object(&resource, &self.version(), &name, &object)?;
        if let Some(writer) = writer {
            let mut managed = Managed::of(live);
            // Objects that came without records get none by an update, as on a server.
            if !managed.0.is_empty() {
                managed.update(writer, live, &object, &self.now);
            }
            managed.write(&mut object);
        }
        if same(live, &object) {
            return Ok(live.clone());
        }
        if resource.generation && self.target.subresource.as_deref() != Some("status") && differs_in_spec(live, &object)
        {
            let generation = live.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
            object["metadata"]["generation"] = json!(generation + 1);
        }
        if self.query.dry_run {
            return Ok(object);
        }
        object["metadata"]["resourceVersion"] = json!(self.store.next_version());
        let key = store::key(self.namespace(), &name);
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        if is_set(&object, "deletionTimestamp") && finalizers.is_none_or(Vec::is_empty) {
            self.store.remove(&resource, &key);
            return Ok(object);
        }
        if store::is_crd(&resource) {
            crd::establish(&mut object, &self.now);
        }
        let origin = self.store.get(&resource, &key).map_or(Origin::Created, |object| object.origin.changed());
        self.store.put(&resource, key, object.clone(), origin);
        Ok(object)
    }

    /// The main resource does not write the status, and the status subresource writes nothing else.
    fn keep_what_is_not_written_here(&self, live: &Value, object: &mut Value) {
        if self.target.subresource.as_deref() == Some("status") {
            let status = object.get("status").cloned();
            *object = live.clone();
            set_or_remove(object, "status", status);
        } else if self.version().status {
            set_or_remove(object, "status", live.get("status").cloned());
        }
    }

    /// Answers a delete.
    pub(super) fn delete(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        let options: Value = serde_json::from_slice(body).unwrap_or_default();
        let dry_run = self.query.dry_run || options["dryRun"].as_array().is_some_and(|all| !all.is_empty());
        let resource = std::sync::Arc::clone(&self.resource);
        let name = self.name().to_owned();
        let key = store::key(self.namespace(), &name);
        let object = self.stored()?;
        let meta = object.meta();
        let uid = meta.uid.unwrap_or_default();
        let version = meta.resource_version.unwrap_or_default();
        let preconditions = &options["preconditions"];
        for (field, asked, is) in
            [("UID", &preconditions["uid"], &uid), ("ResourceVersion", &preconditions["resourceVersion"], &version)]
        {
            if let Some(asked) = asked.as_str().filter(|asked| asked != is) {
                return Err(ApiError::precondition(&resource, &name, field, asked, is));
            }
        }
        let mut value = object.value_as(&self.api_version());
        let held = value.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        if held {
            if !is_set(&value, "deletionTimestamp") && !dry_run {
                value["metadata"]["deletionTimestamp"] = json!(self.now);
                value["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                value["metadata"]["resourceVersion"] = json!(self.store.next_version());
                let origin = self.store.get(&resource, &key).map_or(Origin::Created, |object| object.origin.changed());
                self.store.put(&resource, key, value.clone(), origin);
            }
            return Ok(self.answer(StatusCode::OK, &value));
        }
        if !dry_run {
            self.store.remove(&resource, &key);
            self.store.next_version();
        }
        Ok(Reply::ok(&status::deleted(&resource, &name, &uid)))
    }

    /// Answers a delete of all objects that a selector takes.
    pub(super) fn delete_collection(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        let reply = self.list()?;
        for name in self.names()? {
            let target = Target { name: Some(name), ..self.target.clone() };
            let (query, now) = (self.query.clone(), self.now.clone());
            let resource = std::sync::Arc::clone(&self.resource);
            let mut one = Call { store: self.store, resource, target: &target, query, now, accept: "", agent: "" };
            one.delete(body)?;
        }
        Ok(reply)
    }

    /// Refuses unknown fields, or drops them, as the request says. Only CRDs with a schema tell which are unknown.
    pub(super) fn refuse_or_drop_unknown(&self, object: &mut Value) -> Result<(), ApiError> {
        let unknown = validate::drop_unknown(&self.version(), object);
        if unknown.is_empty() || self.query.unknown_fields == Unknown::Drop {
            return Ok(());
        }
        let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {}", json!(field))).collect();
        Err(ApiError::bad_request(format!(
            "{kind} in version {version} cannot be handled as a {kind}: strict decoding error: {}",
            said.join(", "),
            kind = self.resource.kind,
            version = json!(self.target.version),
        )))
    }
}

/// What only the server writes stays as it is.
fn keep_servers_own(live: &Value, object: &mut Value) {
    let metadata = metadata(object);
    for field in SERVERS_OWN.into_iter().chain(["resourceVersion", "namespace"]) {
        match live["metadata"].get(field) {
            Some(value) => drop(metadata.insert(field.into(), value.clone())),
            None => drop(metadata.shift_remove(field)),
        }
    }
}

fn set_or_remove(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(fields.insert(key.into(), value)),
        None => drop(fields.shift_remove(key)),
    }
}

/// The metadata of an object; an empty one is put in when there is none.
pub(super) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(metadata) => metadata,
        _ => unreachable!("metadata was made an object above"),
    }
}

fn text(metadata: &Map<String, Value>, field: &str) -> String {
    metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A field of metadata; empty when absent.
pub(super) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn is_set(object: &Value, field: &str) -> bool {
    !meta(object, field).is_empty()
}

/// Whether two states of an object are the same, times in managedFields aside.
fn same(live: &Value, object: &Value) -> bool {
    let untimed = |value: &Value| {
        let mut value = value.clone();
        for entry in value.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry["time"] = Value::Null;
        }
        value
    };
    untimed(live) == untimed(object)
}

/// Whether anything but metadata and status differs.
fn differs_in_spec(live: &Value, object: &Value) -> bool {
    let rest = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("metadata");
            fields.shift_remove("status");
        }
        value
    };
    rest(live) != rest(object)
}
