//! Delete.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    call::{Call, Reply},
    object::Origin,
    request::Target,
    shape::{is_held, is_set},
    status::{self, ApiError},
    store,
};

impl Call<'_> {
    /// Answers a delete.
    pub(super) fn delete(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        let options: Value = serde_json::from_slice(body).unwrap_or_default();
        // With a body, the server takes no option from the query: a dryRun there does not keep the object.
        let dry_run = match body {
            [] => self.query.dry_run,
            _ => options["dryRun"].as_array().is_some_and(|all| !all.is_empty()),
        };
        let resource = Arc::clone(&self.resource);
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
        let value = object.value_as(&self.api_version());
        if is_held(&value) {
            let value = if dry_run { value } else { self.mark_deleted(key, value) };
            return Ok(self.answer(StatusCode::OK, &value));
        }
        if !dry_run {
            self.store.remove(&resource, &key);
            self.store.next_version();
        }
        Ok(Reply::ok(&status::deleted(&resource, &name, &uid)))
    }

    /// Writes down that an object is to be deleted once nothing holds it any more.
    fn mark_deleted(&mut self, key: String, mut value: Value) -> Value {
        if !is_set(&value, "deletionTimestamp") {
            value["metadata"]["deletionTimestamp"] = json!(self.now);
            value["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            value["metadata"]["resourceVersion"] = json!(self.store.next_version());
            let origin = self.store.get(&self.resource, &key).map_or(Origin::Created, |object| object.origin.changed());
            self.store.put(&Arc::clone(&self.resource), key, value.clone(), origin);
        }
        value
    }

    /// Answers a delete of all objects that a selector takes.
    pub(super) fn delete_collection(&mut self, body: &[u8]) -> Result<Reply, ApiError> {
        let reply = self.list()?;
        for name in self.names()? {
            let target = Target { name: Some(name), ..self.target.clone() };
            let (query, now) = (self.query.clone(), self.now.clone());
            let resource = Arc::clone(&self.resource);
            let mut one = Call { store: self.store, resource, target: &target, query, now, accept: "", agent: "" };
            one.delete(body)?;
        }
        Ok(reply)
    }
}
