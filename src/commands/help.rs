//! `kctl help`: commands and topics.

use clap::Command;

use super::Session;
use crate::{
    cli::help_args::{HelpArgs, TOPICS},
    error::{Error, Exit, Result},
    report::Table,
    settings::vars,
    tenancy::id::nearest,
};

impl HelpArgs {
    /// Prints the help of `root`, of one of its commands, or a topic.
    ///
    /// # Errors
    /// No such command or topic (exit 2).
    pub fn run(&self, session: &Session<'_>, mut root: Command) -> Result<Exit> {
        if let [word] = self.words.as_slice()
            && let Some(text) = topic(word)
        {
            session.ui.data(&text);
            return Ok(Exit::Done);
        }
        root.build();
        let mut command = &mut root;
        for (at, word) in self.words.iter().enumerate() {
            let error = unknown(word, command, &self.words[..at]);
            command = command.find_subcommand_mut(word).ok_or(error)?;
        }
        let text = command.render_long_help();
        session.ui.help(&text.ansi().to_string(), &text.to_string());
        Ok(Exit::Done)
    }
}

fn unknown(word: &str, command: &Command, above: &[String]) -> Error {
    let topics = if above.is_empty() { TOPICS } else { &[] };
    let commands = command.get_subcommands().map(Command::get_name);
    let known: Vec<&str> = commands.chain(topics.iter().copied()).collect();
    let error = Error::usage(format!("there is no command or topic {word:?}"));
    let path: String = above.iter().map(|word| format!("{word} ")).collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean: kctl help {path}{near}")),
        None => error.hint(format!("there are {}", known.join(", "))).hint("kctl help"),
    }
}

fn topic(name: &str) -> Option<String> {
    Some(match name {
        "exit-codes" => exit_codes(),
        "environment" => environment(),
        "output" => OUTPUT.to_owned(),
        "tenancy" => TENANCY.to_owned(),
        _ => return None,
    })
}

fn exit_codes() -> String {
    let mut table = Table::new(["CODE", "MEANING"]);
    for (exit, meaning) in Exit::ALL {
        table.row([exit.code().to_string(), meaning.to_owned()]);
    }
    table.render(true)
}

fn environment() -> String {
    let mut variables = Table::new(["VARIABLE", "MEANING"]);
    for (name, meaning) in vars::ALL {
        variables.row([(*name).to_owned(), (*meaning).to_owned()]);
    }
    format!("{}\n{CONFIG_FILE}", variables.render(true))
}

const CONFIG_FILE: &str = "\
A flag beats its variable, a variable the config file, and there an entry for the context its top level. The file is
~/.config/kctl/config.yaml; all its keys:

  operatorId: tenant-a     # operator id where -x is not given
  namespace: team-a        # namespace where -n is not given, instead of the kubeconfig's
  color: auto              # auto, always or never
  errors: text             # text or json
  contexts:                # the first two for one context of the kubeconfig
    prod:
      operatorId: prod
      namespace: team-a

kctl config view prints what holds, and where each value comes from.
";

const OUTPUT: &str = "\
Data and result lines go to stdout; notes, warnings, hints, prompts, progress and errors to stderr.

Commands that report take -o table (the default), wide, json, yaml or name. JSON and YAML are documents of
kctl.dev/v1alpha1: fields may be added but are never renamed or dropped; a field that is not there is not known; lists
are there even when empty. --no-headers leaves the line of column names out of a table.

install, run and bind take -o yaml or json to print manifests; no cluster is contacted then. Without it they print a
line for each object, as integration.camel.apache.org/orders created, configured or unchanged, with (dry run) or
(server dry run) behind it where nothing was changed.

An error is a line of text with hints that can be pasted. With -o json, or KCTL_ERRORS=json, it is one JSON object:
{code, reason, message, object, context, hints}; code is the exit code (kctl help exit-codes).

-q leaves notes, hints and progress out. -v tells where kctl connects, -vv each request, -vvv what the libraries do.
Colour: --color auto, always or never, NO_COLOR, or the config file. Names that come from a cluster are shown without
control characters.
";

const TENANCY: &str = "\
Several operators of one kind can live side by side on a cluster: production and canary, or one for each team. Each has
an operator id, and each resource may carry the id of the operator it belongs to, as an annotation:

  camel.apache.org/operator.id: tenant-a

operator     a Deployment in a namespace, with an id, a scope and a version (kctl list-operators)
scope        the namespaces an operator watches: the whole cluster, its own, or a list
owner        the operator that takes a resource: the one whose id it carries, if it watches the namespace
default id   camel-k. Its operator, and every operator that watches only its own namespace, also takes resources that
             carry no id. From version 2.11 on every operator that watches the namespace takes those
legacy       a resource without an id
orphan       a resource with an id that no operator has: nobody takes it, and nothing says so
claim        the object OperatorClaim camel-k.tenant-a. Names of such objects are unique on the cluster, so of two
             installs of one id only one can win (kubectl get opclaim)

kctl install claims the id before it makes anything. kctl run and kctl bind write the id on what they send, check that
an operator has it and watches the namespace, and take nothing from another owner without --take-over. Where -x is not
given the id comes from KCTL_OPERATOR_ID, the config file, the namespace's label kctl.dev/operator-id, or is camel-k.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_its_text() {
        for name in TOPICS {
            let text = topic(name).unwrap();
            assert!(text.ends_with('\n'), "{name}");
            assert!(text.lines().all(|line| line.chars().count() <= 120), "{name} fits a terminal");
        }
        assert_eq!(topic("run"), None);
    }

    #[test]
    fn codes_and_variables_are_all_there() {
        let codes = exit_codes();
        for (exit, meaning) in Exit::ALL {
            assert!(codes.lines().any(|line| line.starts_with(&exit.code().to_string()) && line.ends_with(meaning)));
        }
        for (name, _) in vars::ALL {
            assert!(environment().contains(name), "{name}");
        }
    }
}
