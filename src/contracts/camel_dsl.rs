//! The languages of Camel K sources and the elements of Camel's YAML language.

/// File extensions of the languages that operators before v2.9 run as well.
pub const SCRIPT_EXTENSIONS: &[&str] = &["groovy", "js", "kts", "jsh"];

/// First release that runs Java, XML, YAML and Kamelets only.
pub const SCRIPTS_UNTIL: (u64, u64) = (2, 9);

/// What may stand at the top of a YAML route file, each as the one key of a list item. Both spellings occur in the
/// wild, `onException` and `on-exception`.
pub const YAML_ELEMENTS: &[&str] = &[
    "beans",
    "dataFormats",
    "errorHandler",
    "from",
    "intercept",
    "interceptFrom",
    "interceptSendToEndpoint",
    "onCompletion",
    "onException",
    "rest",
    "restConfiguration",
    "route",
    "routeConfiguration",
    "routeTemplate",
    "routeTemplateContext",
    "sslContextParameters",
    "templatedRoute",
    "transformers",
    "validators",
];

/// Whether a key is one of [`YAML_ELEMENTS`], in either spelling.
pub fn is_yaml_element(key: &str) -> bool {
    YAML_ELEMENTS.iter().any(|element| element.eq_ignore_ascii_case(&key.replace('-', "")))
}
