use super::*;
use crate::{error::Exit, manifests::sources::Origin};

fn source(name: &str) -> Source {
    let text = if name == "hello.yaml" { "- from: {uri: \"timer:x\"}\n" } else { "class A {}" };
    Source::new(Origin::File(name.into()), text.into()).expect("a source")
}

fn read(path: &str) -> Result<String> {
    match path {
        "pod.yaml" => Ok("containers:\n- name: side\n".to_owned()),
        "whole.yaml" => Ok("metadata: {}\nspec: {nodeName: a}\n".to_owned()),
        "list.yaml" => Ok("- a\n".to_owned()),
        "bad.yaml" => Ok("a: [\n".to_owned()),
        "x.properties" => Ok("from.file = 1\n".to_owned()),
        _ => Err(Error::usage(format!("cannot read {path}")).hint("x")),
    }
}

fn draft(wish: &Wish) -> Result<Draft> {
    Draft::new(wish, &[source("hello.yaml")], &read)
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_smallest_integration() {
    let object = draft(&Wish::default()).expect("valid").object(Target {
        id: Some("tenant-a"),
        namespace: Some("team"),
        addons: false,
    });
    assert_eq!(
        object,
        json!({
            "apiVersion": "camel.apache.org/v1", "kind": "Integration",
            "metadata": {"name": "hello", "namespace": "team", "annotations": {"camel.apache.org/operator.id": "tenant-a"}},
            "spec": {"flows": [{"from": {"uri": "timer:x"}}]},
        })
    );
}

#[test]
fn every_option_has_its_place() {
    let wish = Wish {
        name: Some("Orders".into()),
        dependencies: strings(&["camel-http", "camel:http", "mvn:a:b:1"]),
        properties: strings(&["k=v", "file:x.properties"]),
        build_properties: strings(&["b=1"]),
        traits: strings(&["container.port=8080", "camel.properties=own = 1"]),
        env: strings(&["A=1"]),
        configs: strings(&["configmap:c"]),
        resources: strings(&["secret:s/k@/etc/x"]),
        volumes: strings(&["data:/data"]),
        labels: strings(&["team=orders"]),
        annotations: strings(&["my.org/x=y z"]),
        maven_repositories: strings(&["https://repo"]),
        profile: Some("knative".into()),
        integration_profile: Some("ns/prof".into()),
        platform: Some("plat".into()),
        service_account: Some("sa".into()),
        kit: Some("ops/kit-1".into()),
        pod_template: Some("pod.yaml".into()),
        ..Wish::default()
    };
    let object = draft(&wish).expect("valid").object(Target { id: Some("t"), namespace: Some("n"), addons: false });
    assert_eq!(
        object["metadata"],
        json!({
            "name": "orders", "namespace": "n", "labels": {"team": "orders"},
            "annotations": {
                "camel.apache.org/integration-profile.id": "prof",
                "camel.apache.org/integration-profile.namespace": "ns",
                "camel.apache.org/platform.id": "plat",
                "my.org/x": "y z",
                "camel.apache.org/operator.id": "t",
            },
        })
    );
    assert_eq!(
        object["spec"],
        json!({
            "flows": [{"from": {"uri": "timer:x"}}],
            "dependencies": ["camel:http", "mvn:a:b:1"],
            "repositories": ["https://repo"],
            "profile": "Knative",
            "serviceAccountName": "sa",
            "template": {"spec": {"containers": [{"name": "side"}]}},
            "integrationKit": {"namespace": "ops", "name": "kit-1"},
            "traits": {
                "container": {"port": 8080},
                "camel": {"properties": ["own = 1", "k = v", "from.file = 1"]},
                "builder": {"properties": ["b = 1"]},
                "mount": {"configs": ["configmap:c"], "resources": ["secret:s/k@/etc/x"], "volumes": ["data:/data"]},
                "environment": {"vars": ["A=1"]},
            },
        })
    );
}

#[test]
fn images_and_repositories() {
    let made = |wish: &Wish| Draft::new(wish, &[], &read).map(|draft| draft.object(Target::default()));
    let image = made(&Wish { image: Some("reg/my-app:1.0".into()), ..Wish::default() }).expect("valid");
    assert_eq!(image["metadata"], json!({"name": "my-app-v1"}));
    assert_eq!(image["spec"], json!({"traits": {"container": {"image": "reg/my-app:1.0"}}}));
    let git = Wish { git: Some("https://h/me/app.git".into()), git_tag: Some("v1".into()), ..Wish::default() };
    let git = made(&git).expect("valid");
    assert_eq!(git["metadata"]["name"], "app");
    assert_eq!(git["spec"], json!({"git": {"url": "https://h/me/app.git", "tag": "v1"}}));
}

#[test]
fn version_1_wants_addons_in_a_place_of_their_own() {
    let wish = Wish {
        traits: strings(&["keda.auto=true", "container.port=1", "addons.mine.x=y", "master.enabled=true"]),
        ..Wish::default()
    };
    let draft = draft(&wish).expect("valid");
    assert!(draft.has_addons());
    let traits = |addons| draft.object(Target { addons, ..Target::default() })["spec"]["traits"].clone();
    assert_eq!(
        traits(true),
        json!({
            "container": {"port": 1},
            "addons": {"keda": {"auto": true}, "mine": {"x": "y"}, "master": {"enabled": true}},
        })
    );
    assert_eq!(
        traits(false),
        json!({
            "keda": {"auto": true}, "container": {"port": 1}, "addons": {"mine": {"x": "y"}}, "master": {"enabled": true},
        })
    );
}

#[test]
fn a_kit_is_looked_for_in_the_namespace_of_the_integration() {
    let draft = draft(&Wish { kit: Some("kit".into()), ..Wish::default() }).expect("valid");
    let kit = |namespace| draft.object(Target { namespace, ..Target::default() })["spec"]["integrationKit"].clone();
    assert_eq!(kit(Some("n")), json!({"namespace": "n", "name": "kit"}));
    assert_eq!(kit(None), json!({"name": "kit"}));
}

#[test]
fn a_pod_template_may_have_its_spec_under_spec() {
    let draft = draft(&Wish { pod_template: Some("whole.yaml".into()), ..Wish::default() }).expect("valid");
    assert_eq!(draft.object(Target::default())["spec"]["template"], json!({"spec": {"nodeName": "a"}}));
}

#[test]
fn wrong_options() {
    let wishes: [(&str, Wish); 13] = [
        ("profile", Wish { profile: Some("Kubernets".into()), ..Wish::default() }),
        ("integration profile", Wish { integration_profile: Some("a/b/c".into()), ..Wish::default() }),
        ("platform", Wish { platform: Some("ns/p".into()), ..Wish::default() }),
        ("account", Wish { service_account: Some("A B".into()), ..Wish::default() }),
        ("kit", Wish { kit: Some(String::new()), ..Wish::default() }),
        ("image and sources", Wish { image: Some("a".into()), ..Wish::default() }),
        ("branch alone", Wish { git_branch: Some("a".into()), ..Wish::default() }),
        ("list template", Wish { pod_template: Some("list.yaml".into()), ..Wish::default() }),
        ("bad template", Wish { pod_template: Some("bad.yaml".into()), ..Wish::default() }),
        ("no template", Wish { pod_template: Some("none.yaml".into()), ..Wish::default() }),
        ("repository", Wish { maven_repositories: strings(&[""]), ..Wish::default() }),
        ("label", Wish { labels: strings(&["a=b=c"]), ..Wish::default() }),
        ("trait", Wish { traits: strings(&["nonsense"]), ..Wish::default() }),
    ];
    for (what, wish) in wishes {
        let error = draft(&wish).expect_err(what);
        assert_eq!(error.exit(), Exit::Usage, "{what}");
        assert!(!error.all_hints().is_empty(), "{what}");
        assert!(!error.message().contains('\n'), "{what}: {error}");
    }
    let both = Wish {
        git: Some("u".into()),
        git_tag: Some("a".into()),
        git_commit: Some("b".into()),
        name: Some("x".into()),
        ..Wish::default()
    };
    assert!(Draft::new(&both, &[], &read).expect_err("two places").message().contains("--git-tag and --git-commit"));
    assert!(Draft::new(&Wish::default(), &[], &read).expect_err("nothing").message().contains("nothing to run"));
}

#[test]
fn too_large_for_a_cluster() {
    let large = Source::new(Origin::File("A.java".into()), vec![b'a'; LARGEST + 1]).expect("a source");
    let sources = [large];
    let error = Draft::new(&Wish::default(), &sources, &read).expect_err("large");
    assert_eq!(error.all_hints(), ["--compression"]);
    assert!(Draft::new(&Wish { compression: true, ..Wish::default() }, &sources, &read).is_ok());
}

#[test]
fn one_operator_id() {
    let id = |flag, annotated| explicit_id(flag, annotated).map_err(|error| error.exit());
    assert_eq!(id(None, None), Ok(None));
    assert_eq!(id(Some("a"), None), Ok(Some("a".to_owned())));
    assert_eq!(id(None, Some("a")), Ok(Some("a".to_owned())));
    assert_eq!(id(Some("a"), Some("a")), Ok(Some("a".to_owned())));
    for (flag, annotated) in
        [(Some("a"), Some("b")), (Some(""), None), (Some("  "), None), (None, Some("")), (Some("a "), None)]
    {
        assert_eq!(id(flag, annotated), Err(Exit::Usage));
    }
    let wish = Wish { annotations: strings(&["camel.apache.org/operator.id=a"]), ..Wish::default() };
    let draft = draft(&wish).expect("valid");
    assert_eq!(draft.annotated_id.as_deref(), Some("a"));
    assert_eq!(draft.object(Target::default())["metadata"], json!({"name": "hello"}));
}
