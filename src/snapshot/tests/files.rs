//! Loading and saving.

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TWO: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: \"v\" # kept\n---\n\
                   apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: team\n";

fn fails(path: &Path) -> crate::error::Error {
    Snapshot::load(path, &mut std::io::empty(), "default").unwrap_err()
}

#[test]
fn a_directory_is_loaded_with_what_it_implies() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("two.yaml"), TWO).unwrap();
    let claim = json!({"apiVersion": "kctl.dev/v1alpha1", "kind": "OperatorClaim", "metadata": {"name": "camel-k.a"}});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [claim,
        {"apiVersion": "odd.io/v2", "kind": "Party", "metadata": {"name": "p", "namespace": "team"}}]});
    fs::write(dir.path().join("sub/list.json"), list.to_string()).unwrap();
    let snapshot = load(dir.path());
    assert_eq!(get(&snapshot, "/api/v1/configmaps").names(), ["a", "b"]);
    assert_eq!(get(&snapshot, "/api/v1/namespaces/team").code, 200);
    assert_eq!(get(&snapshot, "/apis/kctl.dev/v1alpha1/operatorclaims").names(), ["camel-k.a"]);
    assert_eq!(get(&snapshot, "/apis/odd.io/v2/namespaces/team/parties/p").code, 200);
    let map = get(&snapshot, "/api/v1/namespaces/default/configmaps/a").body;
    let uid = map["metadata"]["uid"].clone();
    assert!(uid.is_string() && map["metadata"].get("creationTimestamp").is_none(), "{map}");
    assert_eq!(get(&load(dir.path()), "/api/v1/namespaces/default/configmaps/a").body["metadata"]["uid"], uid);
}

#[test]
fn an_object_that_occurs_twice_is_an_error_that_names_both_places() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("one.yaml"), TWO).unwrap();
    fs::write(
        dir.path().join("other.yml"),
        "# a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: team}\n",
    )
    .unwrap();
    let error = fails(dir.path());
    let root = dir.path().display();
    assert_eq!(error.message(), format!("ConfigMap team/b occurs twice: {root}/one.yaml:8 and {root}/other.yml:3"));
    assert_eq!(
        error.all_hints(),
        [format!("when these are overlays, load one: kustomize build {root} | kctl … --from -")]
    );
}

#[test]
fn what_holds_no_objects_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("route.yaml");
    fs::write(&path, "- from:\n    uri: timer:x\n").unwrap();
    let error = fails(dir.path());
    assert_eq!(error.message(), format!("{}:1: not a Kubernetes object: not a mapping", path.display()));
    assert_eq!(error.exit(), crate::error::Exit::Usage);
    fs::write(&path, "a: 1\nb: [1\n").unwrap();
    assert!(fails(&path).message().starts_with(&format!("{}:", path.display())));
    fs::remove_file(&path).unwrap();

    fs::write(dir.path().join("kustomization.yaml"), "resources: [a.yaml]\n").unwrap();
    fs::write(dir.path().join("values.yaml"), "a: 1\n").unwrap();
    let (_, warnings) = Snapshot::load(dir.path(), &mut std::io::empty(), "default").unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("kustomize build"), "{warnings:?}");
    assert!(fails(&dir.path().join("values.yaml")).message().contains("not a Kubernetes object"));
    assert!(fails(&dir.path().join("nope")).message().contains("no such file"));
}

#[test]
fn crds_that_were_loaded_serve_their_kind_and_are_saved_as_they_were() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: parties.odd.io\n\
                spec:\n  group: odd.io\n  scope: Cluster\n  names:\n    plural: parties\n    kind: Party\n  versions:\n  \
                - name: v1\n    served: true\n    storage: true\n";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crd.yaml");
    fs::write(&path, text).unwrap();
    let snapshot = load(&path);
    let crd = get(&snapshot, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parties.odd.io").body;
    assert_eq!(crd["status"]["conditions"][1]["type"], "Established");
    assert_eq!(
        post(
            &snapshot,
            "/apis/odd.io/v1/parties",
            &json!({"apiVersion": "odd.io/v1", "kind": "Party",
        "metadata": {"name": "p"}})
        )
        .code,
        201
    );
    snapshot.save(&path).unwrap();
    assert!(fs::read_to_string(&path).unwrap().starts_with(&format!("---\n{text}---\n")));
}

#[test]
fn an_empty_directory_is_an_empty_cluster() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(get(&load(dir.path()), "/api/v1/namespaces").names().len(), 4);
    assert_eq!(get(&load_text(""), "/api/v1/namespaces").names().len(), 4);
}

#[test]
fn commands_can_follow_one_another_through_one_file() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["state.yaml", "state.json"] {
        let path = dir.path().join(name);
        let first = Snapshot::empty();
        post(&first, "/api/v1/namespaces", &json!({"metadata": {"name": "team"}}));
        let map = json!({"metadata": {"name": "a"}, "data": {"k": "yes"}});
        let created = post(&first, "/api/v1/namespaces/team/configmaps", &map).body;
        first.save(&path).unwrap();
        let second = load(&path);
        assert_eq!(get(&second, "/api/v1/namespaces/team/configmaps/a").body, created);
        second.save(&path).unwrap();
        assert_eq!(get(&load(&path), "/api/v1/namespaces/team/configmaps/a").body, created);
    }
    let leftover = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(leftover, 2, "temporary files are gone");
}

#[test]
fn saving_into_the_directory_rewrites_only_what_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("two.yaml"), TWO).unwrap();
    fs::write(path("one.yaml"), "apiVersion: v1\nkind: Secret\nmetadata: {name: s} # mine\n").unwrap();
    fs::write(path("gone.yaml"), "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\n").unwrap();
    let snapshot = load(dir.path());
    snapshot.save(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(path("two.yaml")).unwrap(), TWO, "nothing changed, nothing written");
    assert!(!path("kctl.yaml").exists());

    patch(&snapshot, "/api/v1/namespaces/team/configmaps/b", MERGE, &json!({"data": {"new": "0644"}}));
    delete(&snapshot, "/api/v1/namespaces/default/secrets/t", &json!({}));
    post(&snapshot, "/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": "c"}}));
    snapshot.save(dir.path()).unwrap();
    assert!(fs::read_to_string(path("one.yaml")).unwrap().contains("# mine"));
    assert!(!path("gone.yaml").exists());
    let two = fs::read_to_string(path("two.yaml")).unwrap();
    let head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\ndata:\n  k: v\n---\n";
    assert!(two.starts_with(head), "{two}");
    assert!(two.contains("new: \"0644\"") || two.contains("new: '0644'"), "{two}");
    let again = load(&dir.path().join("../").join(dir.path().file_name().unwrap()));
    assert_eq!(get(&again, "/api/v1/configmaps").names(), ["a", "c", "b"]);
    post(&again, "/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": "d"}}));
    again.save(dir.path()).unwrap();
    let kept = fs::read_to_string(path("kctl.yaml")).unwrap();
    assert!(kept.contains("name: c\n") && kept.contains("name: d\n"), "{kept}");
    let stranger = load_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n").save(dir.path()).unwrap_err();
    assert!(stranger.message().contains("it is there, and was not loaded"), "{stranger}");
    let again = load(dir.path());
    assert_eq!(get(&again, "/api/v1/secrets").names(), ["s"]);
}

#[cfg(unix)]
#[test]
fn a_saved_file_keeps_its_mode_and_links_stay_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real.yaml");
    fs::write(&real, TWO).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = dir.path().join("link.yaml");
    symlink(&real, &link).unwrap();
    load(&link).save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    let error = load(&link).save(Path::new("/dev/null")).unwrap_err();
    assert!(error.message().contains("not a regular file"), "{error}");
}

fn tricky() -> impl Strategy<Value = String> {
    let known = [
        "yes",
        "no",
        "on",
        "y",
        "n",
        "null",
        "~",
        "",
        " ",
        "0644",
        "0o17",
        "1_000",
        "1:20",
        "1e3",
        ".inf",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "&a",
        "*a",
        "!x",
        "%x",
        "@x",
        "`",
        "---",
        "...",
        "|",
        ">",
        "<<",
        "=",
        "\"",
        "'",
        "\\",
        "\n",
        "a\n",
        "\na",
        "a\n\n",
        "  lead",
        "trail ",
        "\t",
        "a\tb",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "é",
        "🙂",
        "\u{7}",
        "2001-01-01",
        "0x1f",
        "{}",
        "[]",
        "{{ x }}",
        "a\r\nb",
        "\r",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        "\\PC{0,40}",
        "[ \\n\\t:#'\"a-c-]{0,12}",
        "[a-z ]{90,200}",
    ]
}

proptest! {
    #[test]
    fn strings_survive_saving_and_loading(values in prop::collection::vec((tricky(), tricky()), 1..6), json_file: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(if json_file { "x.json" } else { "x.yaml" });
        let snapshot = Snapshot::empty();
        let data: serde_json::Map<_, _> = values.into_iter().map(|(key, value)| (key, json!(value))).collect();
        let object = json!({"metadata": {"name": "a", "annotations": data.clone()}, "data": data});
        let created = post(&snapshot, "/api/v1/namespaces/default/configmaps", &object);
        prop_assert_eq!(created.code, 201);
        snapshot.save(&path).unwrap();
        prop_assert_eq!(get(&load(&path), "/api/v1/namespaces/default/configmaps/a").body, created.body);
    }

    #[test]
    fn a_merge_patch_does_what_the_standard_says(live in tree(), patched in tree()) {
        let snapshot = Snapshot::empty();
        let pipes = "/apis/camel.apache.org/v1/namespaces/default/pipes";
        let object = json!({"apiVersion": "camel.apache.org/v1", "kind": "Pipe", "metadata": {"name": "a"}, "spec": live});
        prop_assert_eq!(post(&snapshot, pipes, &object).code, 201);
        let answer = patch(&snapshot, &format!("{pipes}/a"), MERGE, &json!({"spec": patched}));
        let mut wanted = json!({"spec": live});
        json_patch::merge(&mut wanted, &json!({"spec": patched}));
        prop_assert_eq!(answer.body.get("spec"), wanted.get("spec"));
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(json!(null)), any::<bool>().prop_map(|b| json!(b)), "[a-z]{0,3}".prop_map(|s| json!(s))];
    let nested = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-c]", inner.clone(), 0..4).prop_map(|map| json!(map)),
            prop::collection::vec(inner, 0..3).prop_map(|items| json!(items)),
        ]
    });
    prop::collection::btree_map("[a-d]", nested, 0..4).prop_map(|map| json!(map))
}
