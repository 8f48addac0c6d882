//! Every listing on a small bundle of our own, against files that were read by a person.

use crate::expect::{expect_file, root};
use crate::support;

const PROXY: &str = "fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp";

/// Name of the expectation and the command behind it.
const LISTINGS: &[(&str, &str)] = &[
    ("ps.txt", "ps"),
    ("ps-wide.txt", "ps -o wide"),
    ("ps-verbose.txt", "ps -v 1"),
    ("ps-namespace.txt", "ps -n shop"),
    ("ps.json", "ps -o json"),
    ("ps.yaml", "ps -o yaml"),
    ("all.txt", "pc all curl-5b64d475cf-qzthp.tools"),
    ("all-headers.txt", "pc a --with-headers --verbose=false"),
    ("bootstrap-short.txt", "pc bootstrap -o short"),
    ("clusters.txt", "pc cluster deploy/curl -n tools"),
    ("clusters-wide.txt", "pc clusters -o wide"),
    (
        "clusters-filtered.txt",
        "pc c --fqdn catalog --subset v1 --direction outbound --port 8080",
    ),
    ("clusters.json", "pc cluster --subset v1 -o json"),
    ("clusters.yaml", "pc cluster --subset v1 -o yaml"),
    ("listeners.txt", "pc listener"),
    ("listeners-wide.txt", "pc l -o wide"),
    ("listeners-brief.txt", "pc listeners --verbose=false"),
    (
        "listeners-filtered.txt",
        "pc listener --port 8080 --address 0.0.0.0 --type HTTP+TCP",
    ),
    ("routes.txt", "pc route"),
    ("routes-wide.txt", "pc routes --name 8080 -o wide"),
    ("routes-brief.txt", "pc r --verbose=false"),
    ("endpoints.txt", "pc endpoint"),
    ("endpoints-wide.txt", "pc ep -o wide"),
    (
        "endpoints-filtered.txt",
        "pc endpoints --address 10.244.2.4 --port 8080 --status healthy --cluster outbound|8080|v2|catalog.shop.svc.cluster.local",
    ),
    ("eds.txt", "pc eds"),
    ("eds-wide.txt", "pc eds -o wide"),
    ("secrets.txt", "pc secret"),
    ("secrets-wide.txt", "pc s -o wide"),
    ("log.txt", "pc log"),
    ("bundle-list.txt", "bundle list"),
];

#[test]
fn every_listing_is_as_expected_and_notes_go_to_stderr() {
    let bundle = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    for (name, command) in LISTINGS {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["-s", &bundle]);
        let run = support::meshladder(&words);
        // One of its proxies has lost its istiod, which `ps` tells with its exit code too.
        let code = i32::from(run.stderr.contains("connected to no istiod"));
        assert_eq!(run.code, code, "{command}: {}", run.stderr);
        let notes = if run.stderr.is_empty() {
            String::new()
        } else {
            format!("\n--- stderr\n{}", run.stderr)
        };
        expect_file(
            &format!("fixtures/meshes/small/expected/{name}"),
            &format!("{}{notes}", run.stdout),
        );
    }
}

#[test]
fn a_single_document_and_stdin_give_the_same_listing_as_the_bundle() {
    let dump = root().join(PROXY).join("config_dump.json");
    let from_file = support::meshladder(&["pc", "cluster", "--file", &dump.display().to_string()]);
    let bytes = std::fs::read(&dump).expect("the fixture");
    let from_stdin = support::with_stdin(&["pc", "cluster", "--file", "-"], &bytes);
    let as_source = support::meshladder(&["pc", "cluster", "-s", &dump.display().to_string()]);
    let expected =
        std::fs::read_to_string(root().join("fixtures/meshes/small/expected/clusters.txt"))
            .expect("the expectation");
    let table = expected.split("\n--- stderr").next().expect("a table");
    for run in [from_file, from_stdin, as_source] {
        assert_eq!((run.code, run.stdout.trim_end()), (0, table.trim_end()));
    }
}

#[test]
fn a_dump_that_is_all_of_a_proxy_s_json_reads_back_as_a_dump() {
    let dump = root()
        .join(PROXY)
        .join("config_dump.json")
        .display()
        .to_string();
    let all = support::meshladder(&["pc", "all", "--file", &dump, "-o", "json"]);
    let again = support::with_stdin(&["pc", "listener", "--file", "-"], all.stdout.as_bytes());
    let first = support::meshladder(&["pc", "listener", "--file", &dump]);
    assert_eq!((again.code, &again.stdout), (0, &first.stdout));
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let bundle = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    for (command, told) in [
        (
            "pc cluster nobody.tools",
            "there are curl-5b64d475cf-qzthp.tools",
        ),
        (
            "pc cluster curl",
            "did you mean curl-5b64d475cf-qzthp.tools",
        ),
        ("pc ecds", "no ECDS section"),
        ("pc log --level rbac:debug", "changing log levels"),
        (
            "pc rootca-compare curl-5b64d475cf-qzthp.tools nobody.tools",
            "no proxy for `nobody`",
        ),
    ] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["-s", &bundle]);
        let run = support::meshladder(&words);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{command}");
        assert!(run.stderr.contains(told), "{command}: {}", run.stderr);
    }
    let same = "curl-5b64d475cf-qzthp.tools";
    let run = support::meshladder(&["pc", "rc", same, same, "-s", &bundle]);
    assert_eq!(
        (run.code, run.stdout.contains("trust 1 common root")),
        (0, true),
        "{run:?}"
    );
}

#[test]
fn yaml_is_read_as_kubernetes_reads_it_and_what_is_odd_in_it_has_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifests = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: ClusterIP\n  type: NodePort\n---\nkind: [\n---\n\
                     apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\n";
    std::fs::write(folder.path().join("all.yaml"), manifests).expect("a file");
    let run = support::meshladder(&["bundle", "list", &folder.path().display().to_string()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("1         Service\n")
            && run.stdout.contains("VirtualService.networking.istio.io"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr.contains("all.yaml:6:3: duplicate key `type`"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("all.yaml:8:") || run.stderr.contains("all.yaml:9:"),
        "{}",
        run.stderr
    );
}

#[test]
fn several_sources_stay_apart() {
    let bundle = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    let both = ["-s", &bundle, "-s", &bundle];
    let run = support::meshladder(
        &[&["pc", "cluster", "curl-5b64d475cf-qzthp.tools"][..], &both].concat(),
    );
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("say which, as in `1:curl-5b64d475cf-qzthp.tools`"),
        "{}",
        run.stderr
    );
    let run = support::meshladder(
        &[
            &["pc", "cluster", "2:curl-5b64d475cf-qzthp.tools"][..],
            &both,
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = support::meshladder(&[&["ps"][..], &both].concat());
    assert!(
        run.stdout.contains("1:istiod-canary") && run.stdout.contains("2:istiod-canary"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_empty_table_comes_with_what_there_is() {
    let bundle = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    let run = support::meshladder(&["ps", "-n", "nowhere", "-s", &bundle]);
    assert!(
        run.stderr.contains("there are some in shop, tools"),
        "{}",
        run.stderr
    );
    let dump = root()
        .join(PROXY)
        .join("config_dump.json")
        .display()
        .to_string();
    let yaml = support::meshladder(&["pc", "all", "-o", "yaml", "--file", &dump]);
    let loaded = meshladder_text::yaml::load(&yaml.stdout);
    assert_eq!(
        (yaml.code, loaded.problems.len(), loaded.documents.len()),
        (0, 0, 1),
        "{}",
        yaml.stderr
    );
    let configs = loaded.documents[0].get("configs").expect("a dump");
    assert!(configs.items().iter().any(|c| {
        c.get("dynamic_active_clusters")
            .is_some_and(|l| l.items().len() > 3)
    }));
}
