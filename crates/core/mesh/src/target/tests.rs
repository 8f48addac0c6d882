use super::*;
use meshladder_capture::snapshot::{Builder, DocId};

fn target(text: &str, namespace: Option<&str>) -> Target {
    Target::parse(text, namespace).expect("a target")
}

const DUMP: &str = r#"{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump",
  "bootstrap":{"node":{"metadata":{"OWNER":"kubernetes://apis/apps/v1/namespaces/shop/deployments/cart"}}}}]}"#;

const OBJECTS: &str = r#"{"kind":"List","items":[
 {"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"cart","namespace":"shop"},"spec":{"selector":{"matchLabels":{"app":"cart"}}}},
 {"kind":"Service","apiVersion":"v1","metadata":{"name":"basket","namespace":"shop"},"spec":{"selector":{"app":"cart"}}},
 {"kind":"Service","apiVersion":"v1","metadata":{"name":"bare","namespace":"shop"},"spec":{}},
 {"kind":"Pod","metadata":{"name":"cart-1","namespace":"shop","labels":{"app":"cart"}},"spec":{"nodeName":"n"},"status":{"phase":"Pending"}},
 {"kind":"Pod","metadata":{"name":"cart-2","namespace":"shop","labels":{"app":"cart"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}},
 {"kind":"Pod","metadata":{"name":"cart-3","namespace":"tools","labels":{"app":"cart"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}]}"#;

fn snapshot(with_objects: bool) -> Snapshot {
    let mut builder = Builder::new();
    for pod in [
        "shop/cart-1",
        "shop/cart-2",
        "tools/cart-3",
        "tools/curl-1",
        "shop/curl-1",
    ] {
        let dump = if pod.contains("cart") {
            DUMP
        } else {
            r#"{"configs":[]}"#
        };
        builder.add(
            DocId::new(format!("proxies/{pod}/config_dump.json")),
            pod,
            dump.into(),
        );
    }
    if with_objects {
        builder.add(DocId::new("k8s/all.json"), "all.json", OBJECTS.into());
    }
    builder.finish()
}

fn resolve(text: &str, namespace: Option<&str>, with_objects: bool) -> Result<String, String> {
    target(text, namespace)
        .resolve(&snapshot(with_objects), Shape::ConfigDump)
        .map(|found| found.proxy.to_string())
}

#[test]
fn targets_are_read_as_istioctl_reads_them() {
    for (text, flag, kind, name, namespace) in [
        ("cart-1.shop", None, Kind::Pod, "cart-1", Some("shop")),
        ("cart-1", Some("shop"), Kind::Pod, "cart-1", Some("shop")),
        (
            "cart-1.tools",
            Some("shop"),
            Kind::Pod,
            "cart-1",
            Some("tools"),
        ),
        ("a.b.shop", None, Kind::Pod, "a.b", Some("shop")),
        ("deploy/cart", None, Kind::Deployment, "cart", None),
        (
            "Deployments.apps/cart.shop",
            None,
            Kind::Deployment,
            "cart",
            Some("shop"),
        ),
        ("shop/cart-1", None, Kind::Pod, "cart-1", Some("shop")),
        (
            "svc/cart",
            Some("shop"),
            Kind::Service,
            "cart",
            Some("shop"),
        ),
    ] {
        let expected = Target {
            source: None,
            kind,
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
        };
        assert_eq!(target(text, flag), expected, "{text}");
    }
    for text in ["", ".shop", "cart.", "deploy/", "a/b/c"] {
        assert!(Target::parse(text, None).is_err(), "{text}");
    }
}

#[test]
fn a_workload_is_found_by_its_objects_and_the_running_pod_wins() {
    assert_eq!(
        resolve("deploy/cart.shop", None, true),
        Ok("cart-2.shop".to_owned())
    );
    assert_eq!(
        resolve("svc/basket", Some("shop"), true),
        Ok("cart-2.shop".to_owned())
    );
    assert!(resolve("svc/bare.shop", None, true).is_err());
}

#[test]
fn without_objects_a_workload_is_found_by_what_its_proxies_say() {
    assert_eq!(
        resolve("deploy/cart.shop", None, false),
        Ok("cart-1.shop".to_owned())
    );
    assert!(resolve("sts/cart.shop", None, false).is_err());
}

#[test]
fn a_pod_without_a_namespace_is_found_when_there_is_only_one_of_that_name() {
    assert_eq!(
        resolve("cart-3", None, false),
        Ok("cart-3.tools".to_owned())
    );
    let error = resolve("curl-1", None, false).expect_err("there are two");
    assert!(error.contains("say which namespace"), "{error}");
}

#[test]
fn what_is_not_there_comes_with_what_is() {
    let error = resolve("cart", None, false).expect_err("no such pod");
    assert!(error.contains("did you mean cart-1.shop"), "{error}");
    let error = resolve("x", Some("shop"), false).expect_err("no such pod");
    assert!(
        error.contains("no proxy for `x` in namespace `shop`") && error.contains("curl-1.tools"),
        "{error}"
    );
}

#[test]
fn with_several_sources_a_proxy_is_told_by_its_source() {
    let mut builder = Builder::new();
    for source in ["1", "2"] {
        builder.add(
            DocId::new("proxies/shop/cart-2/config_dump.json").in_source(source),
            source,
            DUMP.into(),
        );
        builder.add(
            DocId::new("k8s/all.json").in_source(source),
            source,
            OBJECTS.into(),
        );
    }
    let snapshot = builder.finish();
    let resolve = |text: &str| target(text, None).resolve(&snapshot, Shape::ConfigDump);
    let error = resolve("cart-2.shop").expect_err("both sources have it");
    assert!(
        error.contains("say which, as in `1:cart-2.shop`"),
        "{error}"
    );
    assert_eq!(
        resolve("2:cart-2.shop").map(|found| found.proxy.source),
        Ok("2".to_owned())
    );
    let found = resolve("deploy/cart.shop").expect("a workload");
    assert_eq!(found.others.len(), 1, "one pod in each source");
}
