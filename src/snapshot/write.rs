//! Create and replace, and the way every change takes into the store.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    call::{Call, Reply},
    crd,
    managed::{Managed, Operation, Writer},
    object::Origin,
    request::Unknown,
    shape::{
        SERVERS_OWN, drops_records, is_held, is_namespaces, is_new_generation, is_set, keep_servers_own, meta,
        metadata, same, set_or_remove, tidy,
    },
    status::{ApiError, Cause},
    store, validate,
};

/// Who wrote which field of a written object.
pub(super) enum Records<'a> {
    /// To be told from what changed, which this writer wrote.
    Kept(&'a Writer),
    /// Known.
    Given(Managed),
}

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
        let object = self.add(object, Records::Kept(&writer))?;
        Ok(self.answer(StatusCode::CREATED, &object))
    }

    /// Adds an object, and returns it as it is stored.
    pub(super) fn add(&mut self, mut object: Value, records: Records<'_>) -> Result<Value, ApiError> {
        let resource = Arc::clone(&self.resource);
        validate::metadata(&resource, &object)?;
        if let Some(namespace) = self.namespace()
            && !self.store.has_namespace(namespace)
        {
            return Err(ApiError::namespace_not_found(namespace));
        }
        let name = self.identify(&mut object)?;
        self.prepare(&mut object);
        validate::object(&resource, &self.version(), &name, &object)?;
        let key = store::key(self.namespace(), &name);
        if self.store.get(&resource, &key).is_some() {
            return Err(ApiError::already_exists(&resource, &name));
        }
        let managed = match records {
            Records::Kept(writer) => {
                let mut managed = Managed::default();
                managed.update(writer, &self.before_creation(), &self.as_written(&object), &self.now);
                managed
            }
            Records::Given(managed) => managed,
        };
        managed.write(&mut object);
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

    /// Gives a new object its name, namespace, uid, time and generation; returns the name.
    fn identify(&self, object: &mut Value) -> Result<String, ApiError> {
        let resource = &self.resource;
        let seed =
            format!("{}/{}/{}", resource.qualified(), self.store.version(), jiff::Timestamp::now().as_nanosecond());
        let metadata = metadata(object);
        for field in SERVERS_OWN.into_iter().chain(["namespace", "resourceVersion"]) {
            metadata.shift_remove(field);
        }
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut name = text("name");
        if name.is_empty() {
            let prefix = text("generateName");
            if prefix.is_empty() {
                let cause = Cause::required("metadata.name", "name or generateName is required");
                return Err(ApiError::invalid(resource, "", &[cause]));
            }
            name = format!("{prefix}{}", store::name_suffix(&seed));
        }
        validate::name(resource, &name)?;
        metadata.insert("name".into(), json!(name));
        if let Some(namespace) = &self.target.namespace {
            metadata.insert("namespace".into(), json!(namespace));
        }
        metadata.insert("uid".into(), json!(store::uid(&seed)));
        if resource.generation {
            metadata.insert("generation".into(), json!(1));
        }
        metadata.insert("creationTimestamp".into(), json!(self.now));
        Ok(name)
    }

    /// Fills in what the server fills in, and drops the status, which has a writer of its own.
    fn prepare(&self, object: &mut Value) {
        if self.version().status {
            set_or_remove(object, "status", None);
        }
        if store::is_crd(&self.resource) {
            crd::set_defaults(object);
        }
        if is_namespaces(&self.resource) {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        tidy(&self.resource, object);
    }

    /// What a created object is compared with to tell what its writer wrote: the parts built-in kinds always have.
    fn before_creation(&self) -> Value {
        match self.resource.custom {
            true => json!({}),
            false if store::is_crd(&self.resource) => json!({"spec": {"names": {}}, "status": {}}),
            false => json!({"spec": {}, "status": {}}),
        }
    }

    /// A created object without what the server itself wrote into it, labels aside.
    fn as_written(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if is_namespaces(&self.resource) {
            set_or_remove(&mut object, "spec", None);
            set_or_remove(&mut object, "status", None);
        }
        object
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
            let cause = Cause::invalid("metadata.resourceVersion", "0: must be specified for an update");
            let plural = &self.resource.plural;
            return Err(ApiError::invalid_kind(plural, &self.resource.group, self.name(), &[cause]));
        }
        let (asked, is) = (meta(&object, "uid"), meta(&live, "uid"));
        if !asked.is_empty() && asked != is {
            return Err(ApiError::other_uid(&self.resource, self.namespace(), self.name(), asked, is));
        }
        let writer = self.writer(Operation::Update);
        let object = self.change(&live, object, Records::Kept(&writer))?;
        Ok(self.answer(StatusCode::OK, &object))
    }

    /// Puts a changed object in the place of the live one, and returns what is stored then.
    pub(super) fn change(&mut self, live: &Value, mut object: Value, records: Records<'_>) -> Result<Value, ApiError> {
        let resource = Arc::clone(&self.resource);
        let name = self.name().to_owned();
        let asked = meta(&object, "resourceVersion");
        if !asked.is_empty() && asked != "0" && asked != meta(live, "resourceVersion") {
            return Err(ApiError::modified(&resource, &name));
        }
        validate::metadata(&resource, &object)?;
        let forgets = drops_records(&object);
        self.keep_what_is_not_written_here(live, &mut object);
        keep_servers_own(live, &mut object);
        if store::is_crd(&resource) {
            crd::set_defaults(&mut object);
        }
        tidy(&resource, &mut object);
        validate::object(&resource, &self.version(), &name, &object)?;
        let managed = match records {
            Records::Given(managed) => managed,
            Records::Kept(_) if forgets => Managed::default(),
            Records::Kept(writer) => {
                let mut managed = Managed::of(live);
                // Objects without records get none by an update.
                if !managed.0.is_empty() {
                    managed.update(writer, live, &object, &self.now);
                }
                managed
            }
        };
        managed.write(&mut object);
        if same(live, &object) {
            return Ok(live.clone());
        }
        let writes_spec = self.target.subresource.as_deref() != Some("status");
        if resource.generation && writes_spec && is_new_generation(&resource, live, &object) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or(0);
            object["metadata"]["generation"] = json!(generation + 1);
        }
        if !self.query.dry_run {
            self.commit(&mut object, &name);
        }
        Ok(object)
    }

    /// Stores a changed object, or removes it when only its finalizers held it.
    fn commit(&mut self, object: &mut Value, name: &str) {
        let resource = Arc::clone(&self.resource);
        object["metadata"]["resourceVersion"] = json!(self.store.next_version());
        let key = store::key(self.namespace(), name);
        if is_set(object, "deletionTimestamp") && !is_held(object) {
            self.store.remove(&resource, &key);
            return;
        }
        if store::is_crd(&resource) {
            crd::establish(object, &self.now);
        }
        let origin = self.store.get(&resource, &key).map_or(Origin::Created, |object| object.origin.changed());
        self.store.put(&resource, key, object.clone(), origin);
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

    /// Refuses unknown fields, or drops them, as the request says. Only CRDs with a schema tell which are unknown.
    fn refuse_or_drop_unknown(&self, object: &mut Value) -> Result<(), ApiError> {
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
