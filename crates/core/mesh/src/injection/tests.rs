use std::fmt::Write;

use super::*;
use meshladder_capture::snapshot::{Builder, DocId};

/// The webhooks of an installation as Istio's chart writes them. The default revision, or a default
/// tag, also takes the namespaces and pods that name no revision.
fn webhooks(config: &str, labels: &str, selected: &str, is_default: bool) -> String {
    let revision = format!("{{key: istio.io/rev, operator: In, values: [{selected}]}}");
    let no_revision = "{key: istio.io/rev, operator: DoesNotExist}";
    let no_injection = "{key: istio-injection, operator: DoesNotExist}";
    let enabled = "{key: istio-injection, operator: In, values: [enabled]}";
    let not_false = "{key: sidecar.istio.io/inject, operator: NotIn, values: ['false']}";
    let wanted = "{key: sidecar.istio.io/inject, operator: In, values: ['true']}";
    let mut hooks = vec![
        (
            "rev.namespace",
            format!("{revision}, {no_injection}"),
            not_false.to_owned(),
        ),
        (
            "rev.object",
            format!("{no_revision}, {no_injection}"),
            format!("{not_false}, {revision}"),
        ),
    ];
    if is_default {
        hooks.push(("namespace", enabled.to_owned(), not_false.to_owned()));
        hooks.push((
            "object",
            format!("{no_injection}, {no_revision}"),
            format!("{wanted}, {no_revision}"),
        ));
    }
    let mut text = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {{name: {config}, labels: {{{labels}}}}}\nwebhooks:\n"
    );
    for (name, namespace, object) in hooks {
        writeln!(
            text,
            "- {{name: {name}.sidecar-injector.istio.io, clientConfig: {{service: {{namespace: istio-system, name: istiod, path: /inject, port: 443}}}}, namespaceSelector: {{matchExpressions: [{namespace}]}}, objectSelector: {{matchExpressions: [{object}]}}, rules: [{RULE}]}}"
        )
        .expect("a String takes all text");
    }
    text
}

const RULE: &str =
    "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: '*'}";

fn default() -> String {
    webhooks(
        "istio-sidecar-injector",
        "istio.io/rev: default",
        "default",
        true,
    )
}

fn canary() -> String {
    webhooks(
        "istio-sidecar-injector-canary",
        "istio.io/rev: canary",
        "canary",
        false,
    )
}

fn tag() -> String {
    webhooks(
        "istio-revision-tag-prod",
        "istio.io/rev: canary, istio.io/tag: prod",
        "prod",
        false,
    )
}

fn hook(fields: &str) -> String {
    format!(
        "kind: MutatingWebhookConfiguration\nmetadata: {{name: one}}\nwebhooks:\n- {{{fields}}}\n"
    )
}

fn mesh(docs: &[&str]) -> Mesh {
    let mut builder = Builder::new();
    for (i, doc) in docs.iter().enumerate() {
        builder.add(DocId::new(format!("k8s/{i}.yaml")), "a.yaml", (*doc).into());
    }
    let mesh = Mesh::build(&builder.finish());
    assert_eq!(mesh.problems, []);
    mesh
}

/// `yes canary: what @ pointer`
fn judge(mesh: &Mesh, kind: Kind) -> String {
    let injectors = mesh.injectors();
    let object = &mesh.objects.of_kind(kind)[0];
    let injection = injectors.injection(PodTemplate::of(object).expect("it makes pods"));
    let Decision { what, object, node } = &injection.decided_by;
    let revision = injection.revision.unwrap_or("-");
    let place = object.pointer_of(node);
    format!(
        "{} {revision}: {what} @ {} {place}",
        injection.expected.word(),
        object.id.kind
    )
}

/// A pod `p` in namespace `shop`.
fn check(hooks: &[String], cases: &[(&str, &str, &str)]) {
    for (namespace, pod, expected) in cases {
        let namespace = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{namespace}}}}}\n"
        );
        let pod = format!("apiVersion: v1\nkind: Pod\n{pod}\n")
            .replace("META", "name: p, namespace: shop");
        let docs: Vec<&str> = hooks
            .iter()
            .map(String::as_str)
            .chain([&*namespace, &*pod])
            .collect();
        let said = judge(&mesh(&docs), Kind::Pod);
        assert!(
            said.starts_with(expected),
            "{namespace}{pod}gave  {said}\nnot   {expected}"
        );
    }
}

const PLAIN: &str = "metadata: {META}";

#[test]
fn labels_of_namespace_and_pod_decide_together() {
    let by = |hook: &str, config: &str| {
        format!(
            "webhook {hook}.sidecar-injector.istio.io of MutatingWebhookConfiguration {config} selects it"
        )
    };
    let by_namespace = format!("yes default: {}", by("namespace", "istio-sidecar-injector"));
    let by_default = format!(
        "yes default: {}",
        by("rev.namespace", "istio-sidecar-injector")
    );
    let by_canary = format!(
        "yes canary: {}",
        by("rev.namespace", "istio-sidecar-injector-canary")
    );
    let by_tag = format!(
        "yes canary: {}",
        by("rev.namespace", "istio-revision-tag-prod")
    );
    let by_pod = format!(
        "yes canary: {}",
        by("rev.object", "istio-sidecar-injector-canary")
    );
    let asks = "yes default: Pod shop/p has label sidecar.istio.io/inject=true @ Pod /metadata/labels/sidecar.istio.io~1inject";
    let off = "no default: Pod shop/p has annotation sidecar.istio.io/inject=false @ Pod /metadata/annotations";
    let declines =
        "no -: Pod shop/p has label sidecar.istio.io/inject=false @ Pod /metadata/labels";
    let none = "no -: namespace shop has neither label istio-injection nor istio.io/rev @ Namespace /metadata/labels";
    let disabled = "no -: namespace shop has label istio-injection=disabled @ Namespace /metadata/labels/istio-injection";
    let stable = "no -: no webhook selects istio.io/rev=stable; there are canary, default, prod @ Namespace /metadata/labels/istio.io~1rev";
    let pod_stable = "no -: no webhook selects istio.io/rev=stable; there are canary, default, prod @ Pod /metadata/labels/istio.io~1rev";
    let in_vain = "no -: sidecar.istio.io/inject=true is an annotation, webhooks select by labels, and namespace shop has none @ Pod /metadata/annotations/";
    check(
        &[default(), canary(), tag()],
        &[
            ("istio-injection: enabled", PLAIN, &by_namespace),
            ("istio.io/rev: default", PLAIN, &by_default),
            ("istio.io/rev: canary", PLAIN, &by_canary),
            ("istio.io/rev: prod", PLAIN, &by_tag),
            // With both, the revision is not heeded.
            (
                "istio-injection: enabled, istio.io/rev: canary",
                PLAIN,
                &by_namespace,
            ),
            (
                "istio-injection: disabled, istio.io/rev: canary",
                PLAIN,
                disabled,
            ),
            (
                "istio-injection: disabled",
                "metadata: {META, labels: {sidecar.istio.io/inject: 'true'}}",
                disabled,
            ),
            ("istio.io/rev: stable", PLAIN, stable),
            ("", PLAIN, none),
            (
                "",
                "metadata: {META, labels: {sidecar.istio.io/inject: 'true'}}",
                asks,
            ),
            (
                "",
                "metadata: {META, labels: {istio.io/rev: canary}}",
                &by_pod,
            ),
            (
                "",
                "metadata: {META, labels: {istio.io/rev: stable}}",
                pod_stable,
            ),
            (
                "",
                "metadata: {META, annotations: {sidecar.istio.io/inject: 'true'}}",
                in_vain,
            ),
            (
                "istio-injection: enabled",
                "metadata: {META, labels: {sidecar.istio.io/inject: 'false'}}",
                declines,
            ),
            (
                "istio-injection: enabled",
                "metadata: {META, annotations: {sidecar.istio.io/inject: 'false'}}",
                off,
            ),
            // The label wins over the annotation.
            (
                "istio-injection: enabled",
                "metadata: {META, labels: {sidecar.istio.io/inject: 'true'}, annotations: {sidecar.istio.io/inject: 'false'}}",
                asks,
            ),
            (
                "istio-injection: enabled",
                "metadata: {META, labels: {sidecar.istio.io/inject: maybe}}",
                &by_namespace,
            ),
            (
                "istio-injection: enabled",
                "metadata: {META}\nspec: {hostNetwork: true}",
                "no default: Pod shop/p is on the host network @ Pod /spec/hostNetwork",
            ),
        ],
    );
}

#[test]
fn an_installation_with_revisions_only_does_not_know_the_old_label() {
    let enabled = "no -: no webhook selects namespaces with istio-injection=enabled; there are canary @ Namespace /metadata/labels/istio-injection";
    let asks = "no -: no webhook selects pods with sidecar.istio.io/inject=true in namespaces without a label for it @ Pod";
    check(
        &[canary()],
        &[
            ("istio-injection: enabled", PLAIN, enabled),
            (
                "",
                "metadata: {META, labels: {sidecar.istio.io/inject: 'true'}}",
                asks,
            ),
        ],
    );
    check(
        &[],
        &[(
            "istio-injection: enabled",
            PLAIN,
            "no -: there is no injector webhook @ Pod ",
        )],
    );
}

#[test]
fn a_webhook_that_is_not_understood_leaves_it_open() {
    let conditions = hook(&format!(
        "name: a, clientConfig: {{url: 'https://x:1/inject/net/n1'}}, matchConditions: [{{name: c, expression: 'true'}}], rules: [{RULE}]"
    ));
    check(
        &[conditions],
        &[(
            "",
            PLAIN,
            "unknown -: what the matchConditions of webhook a give @ Mutating",
        )],
    );
    let of_services = hook(
        "name: a, clientConfig: {service: {path: /inject}}, rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [services]}]",
    );
    check(
        &[of_services],
        &[(
            "istio.io/rev: a",
            PLAIN,
            "no -: no webhook selects istio.io/rev=a @ Namespace",
        )],
    );
    let of_others = hook(&format!(
        "name: sidecar-injector.dapr.io, clientConfig: {{service: {{path: /mutate}}}}, rules: [{RULE}]"
    ));
    check(
        &[of_others],
        &[("", PLAIN, "no -: there is no injector webhook")],
    );
    let everything = hook(&format!(
        "name: a, clientConfig: {{service: {{path: /inject}}}}, namespaceSelector: {{}}, rules: [{RULE}]"
    ));
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\n";
    assert!(judge(&mesh(&[&everything, pod]), Kind::Pod).starts_with("yes -: webhook a of"));
    let said = judge(&mesh(&[&default(), pod]), Kind::Pod);
    assert!(
        said.starts_with("unknown -: the labels of namespace shop @ Mutating"),
        "{said}"
    );
}

#[test]
fn istiod_s_own_policy_comes_after_the_webhook() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";
    for (config, labels, expected) in [
        ("policy: enabled", "app: a", "yes default: webhook"),
        (
            "policy: disabled",
            "app: a",
            "no default: policy of ConfigMap istio-system/istio-sidecar-injector is not enabled",
        ),
        (
            "policy: disabled",
            "sidecar.istio.io/inject: 'true'",
            "yes default: Deployment shop/d has label",
        ),
        (
            "neverInjectSelector: [{matchLabels: {app: a}}]",
            "app: a",
            "no default: neverInjectSelector of ConfigMap",
        ),
        (
            "neverInjectSelector: [{matchLabels: {app: a}}]",
            "app: b",
            "yes default: webhook",
        ),
        (
            "neverInjectSelector: [{}, {matchLabels: {}}]",
            "app: b",
            "yes default: webhook",
        ),
        (
            "neverInjectSelector: [{matchLabels: {app: a}}]",
            "app: a, sidecar.istio.io/inject: 'true'",
            "yes default: Deployment",
        ),
        (
            "{policy: disabled, alwaysInjectSelector: [{matchLabels: {app: a}}]}",
            "app: a",
            "yes default: alwaysInjectSelector",
        ),
        (
            "{neverInjectSelector: [{matchLabels: {app: a}}], alwaysInjectSelector: [{matchLabels: {app: a}}]}",
            "app: a",
            "no default: never",
        ),
    ] {
        let map = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: istio-sidecar-injector, namespace: istio-system}}\ndata:\n  config: |\n    {config}\n"
        );
        let other = map
            .replace(
                "name: istio-sidecar-injector",
                "name: istio-sidecar-injector-canary",
            )
            .replace(config, "policy: disabled");
        let deployment = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d, namespace: shop}}\nspec: {{template: {{metadata: {{labels: {{{labels}}}}}}}}}\n"
        );
        let said = judge(
            &mesh(&[&default(), namespace, &other, &map, &deployment]),
            Kind::Deployment,
        );
        assert!(said.starts_with(expected), "{config} with {labels}: {said}");
    }
    let system = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: kube-system}\n";
    let said = judge(&mesh(&[&default(), system]), Kind::Pod);
    assert!(
        said.starts_with("no -: istiod leaves namespace kube-system alone"),
        "{said}"
    );
}

#[test]
fn a_webhook_is_served_by_a_ready_endpoint_behind_its_service() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: istiod, namespace: istio-system}\nspec: {selector: {app: istiod}, ports: [{port: 443, targetPort: 15017}]}\n";
    let slice = |ready: &str| {
        format!(
            "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: s, namespace: istio-system, labels: {{kubernetes.io/service-name: istiod}}}}\nendpoints: [{{addresses: [10.0.0.1], conditions: {{{ready}}}}}]\n"
        )
    };
    let pod = |ready: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: istiod, namespace: istio-system, labels: {{app: istiod}}}}\nstatus: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}]}}\n"
        )
    };
    for (docs, answers, what) in [
        (
            vec![],
            "unknown",
            "whether there is a Service istio-system/istiod",
        ),
        (
            vec![service.replace("name: istiod", "name: other")],
            "no",
            "there is no Service istio-system/istiod",
        ),
        (
            vec![service.replace("443", "8443")],
            "no",
            "Service istio-system/istiod has no port 443",
        ),
        (
            vec![service.to_owned()],
            "unknown",
            "the endpoints of Service istio-system/istiod",
        ),
        (vec![service.to_owned(), pod("True")], "yes", ""),
        (
            vec![service.to_owned(), pod("False")],
            "no",
            "Service istio-system/istiod has no ready endpoint",
        ),
        (vec![service.to_owned(), slice("ready: true")], "yes", ""),
        (vec![service.to_owned(), slice("")], "yes", ""),
        (
            vec![service.to_owned(), slice("ready: false"), pod("True")],
            "no",
            "Service istio-system/istiod has no ready endpoint",
        ),
    ] {
        let default = default();
        let docs: Vec<&str> = docs.iter().map(String::as_str).chain([&*default]).collect();
        let mesh = mesh(&docs);
        let injectors = mesh.injectors();
        let served = injectors.served(injectors.webhooks[0]);
        assert_eq!(
            (served.answers.word(), &*served.what),
            (answers, what),
            "{docs:?}"
        );
        assert!(matches!(served.ca, Ca::Missing) && injectors.webhooks[0].fails_closed());
    }
    for (bundle, broken) in [("'%'", "not base64"), ("aGVsbG8=", "no certificate in it")] {
        let hook = hook(&format!(
            "name: a, failurePolicy: Ignore, clientConfig: {{caBundle: {bundle}, url: 'https://x/inject'}}"
        ));
        let mesh = mesh(&[&hook]);
        let injectors = mesh.injectors();
        let served = injectors.served(injectors.webhooks[0]);
        assert!(
            matches!(&served.ca, Ca::Broken(why) if why == broken),
            "{:?}",
            served.ca
        );
        assert_eq!(
            (&*served.what, injectors.webhooks[0].fails_closed()),
            ("what answers at https://x/inject", false)
        );
    }
}

#[test]
fn a_namespace_with_both_labels_or_an_unknown_revision_is_seen() {
    for (labels, both, provided) in [
        ("istio-injection: enabled", false, false),
        ("istio-injection: enabled, istio.io/rev: canary", true, true),
        ("istio.io/rev: prod", false, true),
        ("istio.io/rev: stable", false, false),
    ] {
        let namespace = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{labels}}}}}\n"
        );
        let mesh = mesh(&[&default(), &canary(), &tag(), &namespace]);
        let said = mesh
            .injectors()
            .namespace_labels("shop")
            .expect("it is there");
        assert_eq!(
            (said.both(), said.revision_is_provided),
            (both, provided),
            "{labels}"
        );
    }
}
