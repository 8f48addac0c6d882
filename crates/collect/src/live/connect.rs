//! From kubeconfig files, or from inside a pod, to clients of API servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::lack::{Lack, clean};
use super::login::Login;
use super::pace::Pace;
use super::proxy;
use super::{Access, Limits};
use crate::CollectError;
use crate::names::{part, shown};

/// How long a connection may take. Linux tries again after 1, 3 and 7 seconds.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Who we are in the audit log of an API server.
const USER_AGENT: &str = concat!("meshladder/", env!("CARGO_PKG_VERSION"));

/// A cluster as it will be asked.
pub(crate) struct Connection {
    /// The context, or `in-cluster`.
    pub(crate) context: String,
    pub(crate) server: String,
    pub(crate) namespace: String,
    pub(crate) login: Arc<Login>,
}

/// A client for each context that is named, or for the current one.
///
/// # Errors
/// When there is no kubeconfig and no pod around us, a context is not in it, or its credentials
/// cannot be read.
pub(crate) async fn connect(
    access: &Access,
    limits: &Limits,
    pace: &Pace,
) -> Result<Vec<Connection>, CollectError> {
    let Some((origin, config)) = kubeconfig(access)? else {
        return in_cluster(access, limits, pace)
            .await
            .map(|connection| vec![connection]);
    };
    let mut connections = Vec::new();
    let named = access.contexts.iter().map(|name| Some(name.clone()));
    let contexts: Vec<Option<String>> = if access.contexts.is_empty() {
        vec![None]
    } else {
        named.collect()
    };
    for context in contexts {
        let options = KubeConfigOptions {
            context: context.clone(),
            ..KubeConfigOptions::default()
        };
        let name = context
            .or_else(|| config.current_context.clone())
            .unwrap_or_default();
        let loaded = Config::from_custom_kubeconfig(config.clone(), &options).await;
        let loaded = loaded.map_err(|error| told(&origin, &name, &config, &error))?;
        let proxy = proxy_named(&config, &name);
        connections.push(build(name, loaded, proxy, access, limits, pace).await?);
    }
    Ok(connections)
}

/// The merged files, and their names; none when there are none.
fn kubeconfig(access: &Access) -> Result<Option<(String, Kubeconfig)>, CollectError> {
    let paths = match &access.kubeconfig {
        Some(path) => vec![path.clone()],
        // "Ignore empty filenames", and like kubectl those that are not there.
        None => files().into_iter().filter(|path| path.exists()).collect(),
    };
    let origin = paths
        .iter()
        .map(|path| shown(&path.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(", ");
    let mut merged: Option<Kubeconfig> = None;
    for path in &paths {
        let mut next = Kubeconfig::read_from(path).map_err(|error| unusable(path, &error))?;
        // For kubectl what is empty is not set, and what kind of file it says to be does not
        // matter.
        next.current_context = next.current_context.filter(|name| !name.is_empty());
        (next.kind, next.api_version) = (None, None);
        merged = Some(match merged {
            Some(before) => before.merge(next).map_err(|error| unusable(path, &error))?,
            None => next,
        });
    }
    let Some(config) = merged else {
        return Ok(None);
    };
    // A file that is there and says nothing is like none, unless somebody named it.
    let is_empty = config.contexts.is_empty() && config.clusters.is_empty();
    if is_empty && access.kubeconfig.is_none() {
        return Ok(None);
    }
    Ok(Some((origin, config)))
}

fn files() -> Vec<PathBuf> {
    match std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()) {
        Some(value) => std::env::split_paths(&value)
            .filter(|path| !path.as_os_str().is_empty())
            .collect(),
        None => std::env::home_dir()
            .map(|home| home.join(".kube/config"))
            .into_iter()
            .collect(),
    }
}

async fn in_cluster(
    access: &Access,
    limits: &Limits,
    pace: &Pace,
) -> Result<Connection, CollectError> {
    let config = Config::incluster().map_err(|_| CollectError::NoCluster)?;
    if let Some(context) = access.contexts.first() {
        return Err(CollectError::NoContext {
            name: context.clone(),
            origin: "a pod".to_owned(),
            known: Vec::new(),
        });
    }
    build("in-cluster".to_owned(), config, None, access, limits, pace).await
}

/// The proxy that the cluster of a context names.
fn proxy_named(config: &Kubeconfig, context: &str) -> Option<String> {
    let context = config
        .contexts
        .iter()
        .find(|named| named.name == context)?
        .context
        .as_ref()?;
    let cluster = config
        .clusters
        .iter()
        .find(|named| named.name == context.cluster)?;
    cluster.cluster.as_ref()?.proxy_url.clone()
}

async fn build(
    context: String,
    mut config: Config,
    proxy: Option<String>,
    access: &Access,
    limits: &Limits,
    pace: &Pace,
) -> Result<Connection, CollectError> {
    let server = config.cluster_url.to_string();
    // Our own retries know the deadline; the client's do not.
    config.default_retry = false;
    // An answer may take its time, a connection does not: where nothing comes back at all, waiting
    // tells nothing.
    config.connect_timeout = Some(CONNECT_TIMEOUT.min(limits.request_timeout));
    config.headers.push((
        http::header::USER_AGENT,
        http::HeaderValue::from_static(USER_AGENT),
    ));
    if access.impersonate.is_some() {
        config.auth_info.impersonate.clone_from(&access.impersonate);
        config.auth_info.impersonate_uid.clone_from(&access.uid);
        config.auth_info.impersonate_groups =
            (!access.groups.is_empty()).then(|| access.groups.clone());
    }
    if config.default_namespace.is_empty() {
        "default".clone_into(&mut config.default_namespace);
    }
    let namespace = config.default_namespace.clone();
    let credentials = |why: String| CollectError::Credentials {
        context: context.clone(),
        why,
    };
    // The client library looks for the proxy's name among the exceptions, not for the server's.
    let proxy = proxy::choose(proxy.as_deref(), &config.cluster_url, |name| {
        std::env::var(name).ok()
    });
    config.proxy_url = proxy.map_err(credentials)?;
    let login = Login::new(config, pace).await.map_err(|lack| match lack {
        Lack::Stopped => CollectError::Interrupted,
        lack => credentials(lack.why()),
    })?;
    Ok(Connection {
        context,
        server,
        namespace,
        login: Arc::new(login),
    })
}

/// The part of a document's id that names a context: with several, each is a source of its own.
pub(crate) fn source_name(context: &str, others: &[String]) -> String {
    let name = part(context);
    // The folders of a bundle are no names of sources.
    let is_taken = ["", "k8s", "istiod", "proxies", "logs", "other"].contains(&name.as_str());
    let name = if is_taken {
        format!("context-{name}")
    } else {
        name
    };
    let clash = others
        .iter()
        .filter(|other| **other == name || other.starts_with(&format!("{name}-")))
        .count();
    if clash == 0 {
        name
    } else {
        format!("{name}-{}", clash + 1)
    }
}

fn unusable(path: &Path, error: &KubeconfigError) -> CollectError {
    CollectError::Kubeconfig {
        origin: shown(&path.to_string_lossy()),
        why: chain(error),
    }
}

fn told(origin: &str, context: &str, config: &Kubeconfig, error: &KubeconfigError) -> CollectError {
    let known = || {
        config
            .contexts
            .iter()
            .map(|context| context.name.clone())
            .collect()
    };
    match error {
        KubeconfigError::CurrentContextNotSet | KubeconfigError::LoadContext(_) => {
            CollectError::NoContext {
                name: context.to_owned(),
                origin: origin.to_owned(),
                known: known(),
            }
        }
        error => CollectError::Kubeconfig {
            origin: origin.to_owned(),
            why: chain(error),
        },
    }
}

/// An error with all that led to it, each told once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    let words = text
        .replace("ServiceError: ", "")
        .replace("HyperError: ", "")
        .replace("client error (Connect): ", "");
    clean(words)
}
