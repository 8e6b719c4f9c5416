//! Modelines: options that a source carries in a comment, such as `// camel-k: trait=container.port=8080`.

use super::sources::Language;

/// One option of a modeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelineOption {
    /// Name, as of the long flag or a single letter.
    pub name: String,
    /// Value; empty when there was no `=`.
    pub value: String,
    /// Line it stands on, from 1.
    pub line: usize,
}

/// The options in a text, in order.
///
/// # Errors
/// A quote that is not closed: which line.
pub fn parse(language: Language, text: &str) -> Result<Vec<ModelineOption>, String> {
    let mut options = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = marked(language, line) else { continue };
        for word in words(rest).map_err(|reason| format!("line {}: {reason}", index + 1))? {
            let (name, value) = word.split_once('=').unwrap_or((&word, ""));
            options.push(ModelineOption { name: name.to_owned(), value: value.to_owned(), line: index + 1 });
        }
    }
    Ok(options)
}

/// What follows `camel-k:` in a comment line.
fn marked(language: Language, line: &str) -> Option<&str> {
    let comment = match language {
        Language::Yaml | Language::Kamelet => {
            let hashes = line.trim_start().strip_prefix('#')?;
            hashes.trim_start_matches('#')
        }
        Language::Xml => {
            let (_, inside) = line.split_once("<!--")?;
            inside.split_once("-->")?.0
        }
        _ => line.trim_start().strip_prefix("//")?,
    };
    comment.trim_start().strip_prefix("camel-k")?.trim_start().strip_prefix(':')
}

/// Splits into words as a shell does: blanks separate, quotes and backslashes keep together.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => found.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote in the modeline is not closed".to_owned());
    }
    found.extend(word);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(language: Language, text: &str) -> Vec<(String, String)> {
        parse(language, text).expect("valid").into_iter().map(|option| (option.name, option.value)).collect()
    }

    #[test]
    fn options_of_each_language() {
        type Options = &'static [(&'static str, &'static str)];
        let cases: [(Language, &str, Options); 10] = [
            (
                Language::Java,
                "// camel-k: name=a trait=container.port=8080\n",
                &[("name", "a"), ("trait", "container.port=8080")],
            ),
            (Language::Groovy, "  //camel-k : dependency=mvn:a:b:1", &[("dependency", "mvn:a:b:1")]),
            (Language::Yaml, "# camel-k: language=yaml\n## camel-k: env=A=1", &[("language", "yaml"), ("env", "A=1")]),
            (Language::Xml, "<!-- camel-k: property=a=b --><x/>", &[("property", "a=b")]),
            (
                Language::Yaml,
                "# camel-k: property=\"a=b c\" label='x=y z'",
                &[("property", "a=b c"), ("label", "x=y z")],
            ),
            (Language::Yaml, "# camel-k: property=a\\ b=c compression", &[("property", "a b=c"), ("compression", "")]),
            (Language::Yaml, "- from: # camel-k: name=x", &[]),
            (Language::Java, "# camel-k: name=x", &[]),
            (Language::Java, "String s = \"// camel-k: name=x\";", &[]),
            (Language::Yaml, "# camel-kafka: name=x", &[]),
        ];
        for (language, text, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            assert_eq!(options(language, text), expected, "{text}");
        }
    }

    #[test]
    fn an_open_quote_is_told_with_its_line() {
        let error = parse(Language::Yaml, "\n# camel-k: property='a=b").expect_err("open quote");
        assert!(error.starts_with("line 2:"), "{error}");
    }
}
