//! Get, list and watch.

use base64::Engine;
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    call::{Call, Reply},
    object::Object,
    selector::{FieldSelector, LabelSelector},
    status::ApiError,
};

const TOKEN: base64::engine::GeneralPurpose = base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A page of a list.
struct Page<'a> {
    items: Vec<&'a Object>,
    /// The key the next page starts after.
    last: Option<String>,
    remaining: usize,
}

impl Call<'_> {
    /// Answers a get.
    pub(super) fn get(&self) -> Result<Reply, ApiError> {
        let object = self.stored()?;
        if self.target.subresource.as_deref() == Some("scale") {
            return self.scale(&object.value()).map(|scale| Reply::ok(&scale));
        }
        let mut body = String::new();
        if self.wants("as=PartialObjectMetadata") {
            write_metadata(object, &mut body);
        } else {
            object.write(Some(&self.api_version()), &mut body);
        }
        Ok(Reply::json(StatusCode::OK, body))
    }

    /// Answers a list.
    pub(super) fn list(&self) -> Result<Reply, ApiError> {
        self.check_version()?;
        let page = self.page()?;
        let metadata_only = self.wants("as=PartialObjectMetadataList");
        let item_version = self.resource.custom.then(|| self.api_version());
        let (kind, api_version) = if metadata_only {
            ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned())
        } else {
            (self.resource.list_kind.as_str(), self.api_version())
        };
        let size: usize = page.items.iter().map(|object| object.json().len() + 2).sum();
        let mut body = String::with_capacity(if metadata_only { 0 } else { size + 200 });
        let metadata = self.list_metadata(&page, metadata_only).to_string();
        for part in
            ["{\"kind\":\"", kind, "\",\"apiVersion\":\"", &api_version, "\",\"metadata\":", &metadata, ",\"items\":["]
        {
            body.push_str(part);
        }
        for (index, object) in page.items.iter().enumerate() {
            if index > 0 {
                body.push(',');
            }
            if metadata_only {
                write_metadata(object, &mut body);
            } else {
                object.write(item_version.as_deref(), &mut body);
            }
        }
        body.push_str("]}");
        Ok(Reply::json(StatusCode::OK, body))
    }

    fn list_metadata(&self, page: &Page<'_>, metadata_only: bool) -> Value {
        let mut metadata = json!({"resourceVersion": self.store.version().to_string()});
        if let Some(last) = &page.last {
            let start = format!("{last}\0");
            let token = json!({"v": "meta.k8s.io/v1", "rv": self.store.version(), "start": start});
            metadata["continue"] = json!(TOKEN.encode(token.to_string()));
            if self.query.label_selector.is_empty() && self.query.field_selector.is_empty() {
                metadata["remainingItemCount"] = json!(page.remaining);
            }
        } else if self.resource.custom && !metadata_only {
            // Lists of custom resources end with an empty token, not without one.
            metadata["continue"] = json!("");
        }
        metadata
    }

    /// The names of the objects that were asked for.
    pub(super) fn names(&self) -> Result<Vec<String>, ApiError> {
        Ok(self.page()?.items.iter().map(|object| object.meta().name.into_owned()).collect())
    }

    /// Answers a watch with what is there now, and ends it: nothing else will ever happen.
    pub(super) fn watch(&self) -> Result<Reply, ApiError> {
        let mut body = String::new();
        if matches!(self.query.resource_version.as_str(), "" | "0") || self.query.send_initial_events {
            for object in self.page()?.items {
                body.push_str("{\"type\":\"ADDED\",\"object\":");
                if self.wants("as=PartialObjectMetadata") || self.wants("as=PartialObjectMetadataList") {
                    write_metadata(object, &mut body);
                } else {
                    object.write(Some(&self.api_version()), &mut body);
                }
                body.push_str("}\n");
            }
        }
        if self.query.send_initial_events {
            let bookmark = json!({"type": "BOOKMARK", "object": {
                "kind": self.resource.kind, "apiVersion": self.api_version(),
                "metadata": {"resourceVersion": self.store.version().to_string(),
                    "annotations": {"k8s.io/initial-events-end": "true"}},
            }});
            body.push_str(&bookmark.to_string());
            body.push('\n');
        }
        Ok(Reply::json(StatusCode::OK, body))
    }

    /// Refuses a version that is no number or is still to come.
    fn check_version(&self) -> Result<(), ApiError> {
        let text = self.query.resource_version.as_str();
        if text.is_empty() {
            return Ok(());
        }
        let asked: u64 = text.parse().map_err(|_| {
            ApiError::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {}: strconv.ParseUint: parsing {}: \
                 invalid syntax",
                json!(text),
                json!(text)
            ))
        })?;
        let current = self.store.version();
        if asked > current { Err(ApiError::too_large_version(asked, current)) } else { Ok(()) }
    }

    /// The objects that were asked for, in the order of their keys.
    fn page(&self) -> Result<Page<'_>, ApiError> {
        let labels = LabelSelector::parse(&self.query.label_selector)?;
        let fields = FieldSelector::parse(&self.query.field_selector, &self.resource)?;
        // The watch cache, which answers version 0, knows no pages.
        let limit = if self.query.resource_version == "0" { 0 } else { self.query.limit };
        let after = cursor(&self.query.cursor)?;
        let mut page = Page { items: Vec::new(), last: None, remaining: 0 };
        let Some(objects) = self.store.all(&self.resource) else { return Ok(page) };

        let inside = self.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let first = if after > inside { after } else { inside.clone() };
        let mut last = "";
        for (key, object) in objects.range(first..).take_while(|(key, _)| key.starts_with(&inside)) {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            if !fields.is_empty() && !fields.matches(namespace, name, || object.value()) {
                continue;
            }
            if !labels.is_empty() {
                let there = object.labels();
                if !labels.matches(|key| there.get(key).map(AsRef::as_ref)) {
                    continue;
                }
            }
            if limit > 0 && page.items.len() == limit {
                page.last = Some(last.to_owned());
                page.remaining += 1;
            } else {
                page.items.push(object);
                last = key;
            }
        }
        Ok(page)
    }
}

fn write_metadata(object: &Object, out: &mut String) {
    out.push_str("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    out.push_str(object.metadata());
    out.push('}');
}

/// The first key that a `continue` token lets through.
fn cursor(token: &str) -> Result<String, ApiError> {
    if token.is_empty() {
        return Ok(String::new());
    }
    TOKEN
        .decode(token)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        .and_then(|token| token["start"].as_str().map(str::to_owned))
        .ok_or_else(|| ApiError::bad_request("invalid continue token: continue key is not valid"))
}
