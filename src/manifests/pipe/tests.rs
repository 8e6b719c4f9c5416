use super::*;
use crate::error::Exit;

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn wish(source: &str, sink: &str) -> Wish {
    Wish { source: source.into(), sink: sink.into(), ..Wish::default() }
}

fn full() -> Wish {
    Wish {
        steps: strings(&["log-action", "other/mask-action?field=card"]),
        name: Some("orders".into()),
        properties: strings(&["source.period=1000", "sink.showHeaders=true", "step-1.level=DEBUG", "step-2.by=x=y"]),
        traits: strings(&["container.port=8080", "keda.enabled=true"]),
        error_handler: Some("sink:channel:dead?a=b".into()),
        dependencies: strings(&["camel-http", "mvn:a:b:1"]),
        service_account: Some("robot".into()),
        labels: strings(&["team=orders"]),
        annotations: strings(&["my.org/x=y z"]),
        ..wish("timer-source?message=hi", "log:info?showAll=true")
    }
}

fn target(api: Api) -> Target<'static> {
    Target { api, id: Some("tenant-a"), namespace: Some("team") }
}

#[test]
fn the_smallest_pipe() {
    let object = Draft::new(&wish("timer-source?message=hi", "log-sink")).expect("valid").object(target(Api::Pipe));
    assert_eq!(
        object,
        json!({
            "apiVersion": "camel.apache.org/v1", "kind": "Pipe",
            "metadata": {
                "name": "timer-source-to-log-sink", "namespace": "team",
                "annotations": {"camel.apache.org/operator.id": "tenant-a"},
            },
            "spec": {
                "source": {
                    "ref": {"apiVersion": "camel.apache.org/v1", "kind": "Kamelet", "namespace": "team", "name": "timer-source"},
                    "properties": {"message": "hi"},
                },
                "sink": {
                    "ref": {"apiVersion": "camel.apache.org/v1", "kind": "Kamelet", "namespace": "team", "name": "log-sink"},
                },
            },
        })
    );
}

#[test]
fn every_option_has_its_place() {
    let object = Draft::new(&full()).expect("valid").object(target(Api::Pipe));
    let kamelet = |namespace: &str, name: &str| json!({"apiVersion": "camel.apache.org/v1", "kind": "Kamelet", "namespace": namespace, "name": name});
    assert_eq!(
        object["metadata"],
        json!({
            "name": "orders", "namespace": "team", "labels": {"team": "orders"},
            "annotations": {"my.org/x": "y z", "camel.apache.org/operator.id": "tenant-a"},
        })
    );
    assert_eq!(
        object["spec"],
        json!({
            "source": {"ref": kamelet("team", "timer-source"), "properties": {"message": "hi", "period": "1000"}},
            "sink": {"uri": "log:info?showAll=true", "properties": {"showHeaders": "true"}},
            "steps": [
                {"ref": kamelet("team", "log-action"), "properties": {"level": "DEBUG"}},
                {"ref": kamelet("other", "mask-action"), "properties": {"field": "card", "by": "x=y"}},
            ],
            "errorHandler": {"sink": {"endpoint": {
                "ref": {"apiVersion": "messaging.knative.dev/v1", "kind": "Channel", "namespace": "team", "name": "dead"},
                "properties": {"a": "b"},
            }}},
            "serviceAccountName": "robot",
            "traits": {"container": {"port": 8080}, "keda": {"enabled": true}},
            "dependencies": ["camel:http", "mvn:a:b:1"],
        })
    );
}

#[test]
fn a_kamelet_binding_has_its_traits_under_integration() {
    let draft = Draft::new(&full()).expect("valid");
    let object = draft.object(target(Api::KameletBinding));
    assert_eq!(
        (&object["apiVersion"], &object["kind"]),
        (&json!("camel.apache.org/v1alpha1"), &json!("KameletBinding"))
    );
    assert_eq!(object.pointer("/spec/source/ref/apiVersion"), Some(&json!("camel.apache.org/v1alpha1")));
    assert_eq!(object.pointer("/spec/steps/1/ref/apiVersion"), Some(&json!("camel.apache.org/v1alpha1")));
    assert_eq!(
        object["spec"]["integration"],
        json!({
            "traits": {"container": {"port": 8080}, "addons": {"keda": {"enabled": true}}},
            "dependencies": ["camel:http", "mvn:a:b:1"],
        })
    );
    assert_eq!(object["spec"]["serviceAccountName"], "robot");
    assert_eq!((object["spec"].get("traits"), object["spec"].get("dependencies")), (None, None));
    let small = Draft::new(&wish("a", "b")).expect("valid").object(target(Api::KameletBinding));
    assert_eq!(small["spec"].get("integration"), None);
}

#[test]
fn without_a_namespace_references_have_none() {
    let object = Draft::new(&wish("a", "other/b")).expect("valid").object(Target::default());
    assert_eq!(object["metadata"], json!({"name": "a-to-b"}));
    assert_eq!(object["spec"]["source"]["ref"].get("namespace"), None);
    assert_eq!(object["spec"]["sink"]["ref"]["namespace"], "other");
}

#[test]
fn error_handlers() {
    let handler = |text: &str| {
        let wish = Wish { error_handler: Some(text.into()), ..wish("a", "b") };
        Draft::new(&wish).map(|draft| draft.object(Target::default())["spec"]["errorHandler"].clone())
    };
    assert_eq!(handler("none").expect("valid"), json!({"none": null}));
    assert_eq!(handler("log").expect("valid"), json!({"log": null}));
    assert_eq!(
        handler("sink:kafka:dead?brokers=a:9092").expect("valid"),
        json!({"sink": {"endpoint": {"uri": "kafka:dead?brokers=a:9092"}}})
    );
    for (text, says, hint) in [
        ("sink", "names no endpoint", "--error-handler none"),
        ("sink:", "names no endpoint", "--error-handler none"),
        ("sink:a b", "error-handler \"a b\" is not an endpoint", "a Kamelet"),
        ("logs", "is not known", "did you mean log?"),
        ("dlc:x", "is not known", "--error-handler none"),
        ("none:", "is not known", "did you mean none?"),
        ("", "is not known", "--error-handler none"),
    ] {
        let error = handler(text).expect_err(text);
        assert!(error.message().contains(says), "{text}: {error}");
        assert!(error.all_hints()[0].starts_with(hint), "{text}: {:?}", error.all_hints());
        assert_eq!(error.exit(), Exit::Usage);
    }
}

#[test]
fn properties_that_reach_no_endpoint() {
    let two = ["x", "y"];
    let cases: [(&str, &[&str], &str, &str); 15] = [
        ("source.a", &[], "it has no =", "-p source.KEY=VALUE"),
        ("source=b", &[], "it does not say of which endpoint", "-p source.KEY=VALUE"),
        ("=b", &[], "it does not say of which endpoint", "-p source.KEY=VALUE"),
        ("source.=b", &[], "\"\" is no key", "-p source.KEY=VALUE"),
        ("source.a b=c", &[], "\"a b\" is no key", "-p source.KEY=VALUE"),
        ("sorce.a=b", &[], "sorce is no endpoint", "did you mean source?"),
        ("Sink.a=b", &[], "Sink is no endpoint", "did you mean sink?"),
        ("my.key=b", &[], "my is no endpoint", "-p source.KEY=VALUE"),
        ("step.x=1", &two, "step is no endpoint", "-p source.KEY=VALUE"),
        ("step-0.x=1", &two, "steps count from 1, and there are 2 steps", "steps count from 1: -p step-1.x=1"),
        ("step-9.x=1", &two, "there are 2 steps, not 9", "steps count from 1: -p step-2.x=1"),
        ("step-2.x=1", &two[..1], "there is 1 step, not 2", "steps count from 1"),
        ("step-1.x=1", &[], "there are no steps, not 1", "add a step"),
        ("step-01.x=1", &two, "step-01 has no number", "steps count from 1"),
        ("error-handler.x=1", &[], "there is no error handler with an endpoint", "--error-handler sink:ENDPOINT"),
    ];
    for (text, steps, says, hint) in cases {
        let error = Draft::new(&Wish { properties: strings(&[text]), steps: strings(steps), ..wish("a", "b") })
            .expect_err(text);
        assert!(error.message().contains(says), "{text}: {error}");
        assert!(error.all_hints()[0].starts_with(hint), "{text}: {:?}", error.all_hints());
        assert_eq!(error.exit(), Exit::Usage, "{text}");
    }
}

#[test]
fn what_is_odd_is_said() {
    let draft = Draft::new(&Wish {
        properties: strings(&["source.message=b", "sink.x=1"]),
        dependencies: strings(&["http"]),
        traits: strings(&["container.prot=1"]),
        ..wish("timer-source?message=a", "PostgreSQL:db")
    });
    let remarks = draft.expect("valid").remarks;
    for says in ["container", "dependency http", "-p source.message is not used", "PostgreSQL"] {
        assert!(remarks.iter().any(|remark| remark.contains(says)), "{says}: {remarks:?}");
    }
    assert_eq!(remarks.len(), 4);
    assert_eq!(Draft::new(&full()).expect("valid").remarks, Vec::<String>::new());
}

#[test]
fn wrong_options() {
    let ends = wish("a", "b");
    for (what, wish) in [
        ("source", wish("a b", "b")),
        ("sink", wish("a", "Kind:")),
        ("step", Wish { steps: strings(&["kamelet:"]), ..ends.clone() }),
        ("name", Wish { name: Some("My Pipe".into()), ..ends.clone() }),
        ("trait", Wish { traits: strings(&["nonsense"]), ..ends.clone() }),
        ("dependency", Wish { dependencies: strings(&[" "]), ..ends.clone() }),
        ("account", Wish { service_account: Some("ns/robot".into()), ..ends.clone() }),
        ("label", Wish { labels: strings(&["a=b=c"]), ..ends.clone() }),
        ("annotation", Wish { annotations: strings(&["a"]), ..ends.clone() }),
    ] {
        let error = Draft::new(&wish).expect_err(what);
        assert_eq!(error.exit(), Exit::Usage, "{what}");
        assert!(!error.all_hints().is_empty() && !error.message().contains('\n'), "{what}: {error}");
    }
}

#[test]
fn the_id_of_an_annotation_is_kept_apart() {
    let draft = Draft::new(&Wish { annotations: strings(&["camel.apache.org/operator.id=a"]), ..wish("a", "b") });
    let draft = draft.expect("valid");
    assert_eq!(draft.annotated_id.as_deref(), Some("a"));
    assert_eq!(draft.object(Target::default())["metadata"], json!({"name": "a-to-b"}));
}
