//! Which kinds of object a rule reads: recorded for the test that compares it with what the rule
//! declares.

use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    /// The rule that is watched, whether it runs now, and what it read.
    static WATCHED: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

struct Watch {
    code: String,
    running: bool,
    kinds: BTreeSet<String>,
}

/// Runs `work` and gives the kinds that the rule of that code read on this thread, as paths of the
/// bundle layout.
pub fn of_rule(code: &str, work: impl FnOnce()) -> BTreeSet<String> {
    WATCHED.set(Some(Watch {
        code: code.to_owned(),
        running: false,
        kinds: BTreeSet::new(),
    }));
    work();
    WATCHED.take().map(|watch| watch.kinds).unwrap_or_default()
}

/// Says that a rule starts, or with an empty code that it ended.
pub fn running(code: &str) {
    WATCHED.with_borrow_mut(|watch| {
        if let Some(watch) = watch {
            watch.running = watch.code == code;
        }
    });
}

/// Does something that no rule has a part in, though one may be the first to need it.
pub(super) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let pause = |to: bool| {
        WATCHED.with_borrow_mut(|watch| {
            watch
                .as_mut()
                .is_some_and(|watch| std::mem::replace(&mut watch.running, to))
        })
    };
    let was = pause(false);
    let done = work();
    pause(was);
    done
}

/// A kind was read.
pub(super) fn note(kind: &str) {
    WATCHED.with_borrow_mut(|watch| {
        if let Some(watch) = watch.as_mut().filter(|watch| watch.running) {
            watch.kinds.insert(path(kind));
        }
    });
}

/// Where a bundle keeps the objects of a kind.
pub fn path(kind: &str) -> String {
    let group = match kind {
        "Pod"
        | "Service"
        | "Namespace"
        | "Node"
        | "ConfigMap"
        | "Secret"
        | "Event"
        | "ServiceAccount"
        | "ReplicationController" => "",
        "Job" | "CronJob" => ".batch",
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => ".apps",
        "EndpointSlice" => ".discovery.k8s.io",
        "NetworkPolicy" => ".networking.k8s.io",
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            ".admissionregistration.k8s.io"
        }
        "AuthorizationPolicy" | "PeerAuthentication" | "RequestAuthentication" => {
            ".security.istio.io"
        }
        "CustomResourceDefinition" => ".apiextensions.k8s.io",
        "Telemetry" => ".telemetry.istio.io",
        "WasmPlugin" | "TrafficExtension" => ".extensions.istio.io",
        "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute" | "ReferenceGrant"
        | "GatewayClass" | "BackendTLSPolicy" | "ListenerSet" => ".gateway.networking.k8s.io",
        _ => ".networking.istio.io",
    };
    let plural = kind.to_lowercase();
    let plural = match plural.strip_suffix('y') {
        Some(stem) if !plural.ends_with("ay") => format!("{stem}ies"),
        None if plural.ends_with('s') => format!("{plural}es"),
        _ => format!("{plural}s"),
    };
    format!("k8s/{plural}{group}.json")
}
