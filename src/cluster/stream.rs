//! Long lists, one element at a time: memory stays flat however many objects there are.

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::{ApiError, Call, Cluster};

/// What a list says beside its elements is small; more than this is no list of Kubernetes.
const MAX_FRAME: usize = 1 << 20;

/// Takes the body of a list apart while it arrives and hands out each element of `items` as JSON text.
///
/// It follows depth, strings and escapes only; whether an element is well-formed is found out by who parses it.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    in_items: bool,
    /// The begun element, when it did not end with its chunk.
    element: Vec<u8>,
    /// Everything outside of elements.
    frame: Vec<u8>,
    /// The last string at depth 1: the key when an array opens.
    word: Vec<u8>,
}

/// Depth of the braces of an element: the list, `items`, the element.
const ELEMENT: usize = 3;

impl Splitter {
    /// Takes the next part of the body.
    pub(super) fn feed<E>(&mut self, chunk: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut start = 0;
        for (at, &byte) in chunk.iter().enumerate() {
            let inside = self.in_element();
            if !self.step(byte) {
                continue;
            }
            if !inside && self.in_element() {
                start = at;
            } else if inside && !self.in_element() {
                let end = &chunk[start..=at];
                if self.element.is_empty() {
                    each(end)?;
                } else {
                    self.element.extend_from_slice(end);
                    each(&self.element)?;
                    self.element.clear();
                }
            }
        }
        if self.in_element() {
            self.element.extend_from_slice(&chunk[start..]);
        }
        Ok(())
    }

    /// What the list says beside its elements, once the body has ended.
    pub(super) fn finish(self) -> Result<Value, String> {
        if self.depth != 0 || self.in_string {
            return Err("the answer was cut off".into());
        }
        serde_json::from_slice(&self.frame).map_err(|error| format!("the answer is not a list: {error}"))
    }

    fn in_element(&self) -> bool {
        self.in_items && self.depth >= ELEMENT
    }

    /// Goes on by one byte; tells whether the depth changed.
    fn step(&mut self, byte: u8) -> bool {
        let outside = !self.in_element();
        if self.in_string {
            if outside {
                self.keep(byte);
                if self.depth == 1 && byte != b'"' {
                    self.word.push(byte);
                }
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                if byte == b'[' && self.depth == ELEMENT - 1 {
                    self.in_items = self.word == b"items";
                }
                if !self.in_element() {
                    self.keep(byte);
                }
                true
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if outside {
                    self.keep(byte);
                    self.in_items &= self.depth >= ELEMENT - 1;
                }
                true
            }
            b'"' => {
                self.in_string = true;
                if outside {
                    self.keep(byte);
                    self.word.clear();
                }
                false
            }
            b',' if self.in_items && self.depth == ELEMENT - 1 => false,
            _ => {
                if outside {
                    self.keep(byte);
                }
                false
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.frame.len() < MAX_FRAME {
            self.frame.push(byte);
        }
    }
}

impl Cluster {
    /// Reads a list to its end and hands each element's JSON text to `each`, without ever holding the whole.
    ///
    /// An element that `each` cannot read ends it with an error, as does a body that is cut off.
    pub async fn each_item(
        &self,
        call: &Call,
        mut each: impl FnMut(&[u8]) -> Result<(), serde_json::Error>,
    ) -> Result<(), ApiError> {
        let mut page = call.clone();
        loop {
            let work = self.one_page(&page, &mut each);
            let Some(next) = self.limited(&page, work).await? else { return Ok(()) };
            page = call.clone().query([("continue", next)]);
        }
    }

    /// One page; the token of the next one, if there is one. Lists of custom resources end with an empty token.
    async fn one_page(
        &self,
        call: &Call,
        each: &mut impl FnMut(&[u8]) -> Result<(), serde_json::Error>,
    ) -> Result<Option<String>, ApiError> {
        let mut body: Body = self.open(call).await?.into_body();
        let mut splitter = Splitter::default();
        while let Some(frame) = body.frame().await {
            let chunk: Option<Bytes> = frame.map_err(|error| self.transport(call, &error))?.into_data().ok();
            let Some(chunk) = chunk else { continue };
            splitter
                .feed(&chunk, each)
                .map_err(|error| self.unreadable(call, format!("an element is unreadable: {error}")))?;
        }
        let frame = splitter.finish().map_err(|message| self.unreadable(call, message))?;
        let token = frame.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty());
        Ok(token.map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn split(chunks: &[&[u8]]) -> Result<(Vec<Value>, Value), String> {
        let mut splitter = Splitter::default();
        let mut items = Vec::new();
        for chunk in chunks {
            splitter
                .feed(chunk, &mut |element: &[u8]| {
                    items.push(serde_json::from_slice(element)?);
                    Ok::<_, serde_json::Error>(())
                })
                .map_err(|error| error.to_string())?;
        }
        Ok((items, splitter.finish()?))
    }

    #[test]
    fn elements_and_the_frame_around_them() {
        let text = br#"{"kind":"List","items": [ {"a":[{"b":"}],[\"\\"}]} , {"c":{}} ],"metadata":{"continue":""}}"#;
        let (items, frame) = split(&[text]).unwrap();
        assert_eq!(items, [json!({"a": [{"b": "}],[\"\\"}]}), json!({"c": {}})]);
        assert_eq!(frame, json!({"kind": "List", "items": [], "metadata": {"continue": ""}}));
    }

    #[test]
    fn only_items_is_taken_apart() {
        let (items, frame) =
            split(&[br#"{"metadata":{"x":[{"a":1}]},"others":[{"b":2}],"items":[{"c":3}],"more":[{"d":4}]}"#]).unwrap();
        assert_eq!(items, [json!({"c": 3})]);
        assert_eq!(frame["metadata"], json!({"x": [{"a": 1}]}));
        assert_eq!((&frame["others"], &frame["more"]), (&json!([{"b": 2}]), &json!([{"d": 4}])));
    }

    #[test]
    fn empty_lists() {
        for text in [&br#"{"items":[],"metadata":{}}"#[..], br#"{"items":null}"#, br#"{"metadata":{"continue":"x"}}"#] {
            assert_eq!(split(&[text]).unwrap().0, Vec::<Value>::new());
        }
    }

    #[test]
    fn what_is_cut_off_or_no_list_is_an_error() {
        let text = br#"{"items":[{"a":"b"},{"c":1}],"metadata":{}}"#;
        for end in 1..text.len() {
            assert_eq!(split(&[&text[..end]]).unwrap_err(), "the answer was cut off", "at {end}");
        }
        assert!(split(&[b""]).is_err());
        assert!(split(&[b"404 page not found"]).is_err());
        assert!(split(&[br#"{"items":[{"a":}]}"#]).is_err());
    }

    #[test]
    fn pages_are_followed_to_the_last() {
        let dump: Vec<Value> = (0..5)
            .map(|n| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}"), "namespace": "a"}}))
            .collect();
        let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
        std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": dump}).to_string()).unwrap();
        let options = crate::cluster::ConnectOptions { from: Some(file.path().to_owned()), ..Default::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let names = runtime.block_on(async {
            let cluster = Cluster::connect(&options, &crate::settings::Settings::default(), &mut |_| {}).await.unwrap();
            let call = Call::list(&crate::contracts::kinds::CONFIG_MAP, None, &crate::cluster::ListOptions::default());
            let mut names = Vec::new();
            let paged = call.query([("limit", "2".to_owned())]);
            let read = cluster.each_item(&paged, |text| {
                let item: Value = serde_json::from_slice(text)?;
                names.push(item["metadata"]["name"].as_str().unwrap_or_default().to_owned());
                Ok(())
            });
            read.await.map(|()| names).unwrap()
        });
        assert_eq!(names, ["m0", "m1", "m2", "m3", "m4"]);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[a-z"\\\[\]{},:\n\u{e9}\u{1f600}]{0,8}"#.prop_map(Value::from),
            Just(json!("items")),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("items|[a-z\"]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::hash_map("[a-z]{1,6}|items", json(), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn splitting_equals_parsing_the_whole(
            items in prop::collection::vec(object(), 0..6),
            metadata in object(),
            items_first in any::<bool>(),
            pretty in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let list = if items_first {
                json!({"kind": "L", "items": items, "metadata": metadata})
            } else {
                json!({"kind": "L", "metadata": metadata, "items": items})
            };
            let text = if pretty { serde_json::to_vec_pretty(&list) } else { serde_json::to_vec(&list) }.unwrap();
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            ends.extend([0, text.len()]);
            ends.sort_unstable();
            let chunks: Vec<&[u8]> = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            let (found, frame) = split(&chunks).unwrap();
            prop_assert_eq!(found, items);
            prop_assert_eq!(&frame["metadata"], &metadata);
        }
    }
}
