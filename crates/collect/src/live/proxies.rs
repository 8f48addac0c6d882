//! What proxies say of themselves, each through one open door.

use http::Method;
use meshladder_capture::snapshot::Shape;

use super::ProxyWish;
use super::api::Cluster;
use super::door::{Door, Port};
use super::lack::Lack;
use super::pods::PodNote;

/// A document of a proxy, and what to ask for it.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: &'static str,
    shape: Shape,
    method: Method,
    path: &'static str,
}

impl File {
    /// A ztunnel is asked for its dump as an Envoy is.
    fn is(&self, shape: Shape) -> bool {
        self.shape == shape || self.shape == Shape::ConfigDump && shape == Shape::ZtunnelDump
    }
}

const fn get(name: &'static str, shape: Shape, path: &'static str) -> File {
    File {
        name,
        shape,
        method: Method::GET,
        path,
    }
}

/// The most telling first: when time runs out, what is there is of use.
static FILES: [File; 7] = [
    get(
        "config_dump.json",
        Shape::ConfigDump,
        "/config_dump?include_eds",
    ),
    get("clusters.json", Shape::Clusters, "/clusters?format=json"),
    get("server_info.json", Shape::ServerInfo, "/server_info"),
    get("certs.json", Shape::Certs, "/certs"),
    get("stats.txt", Shape::Stats, "/stats"),
    get("listeners.json", Shape::Listeners, "/listeners?format=json"),
    // Without parameters it only tells the levels; Envoy wants a POST all the same.
    File {
        name: "logging.txt",
        shape: Shape::Logging,
        method: Method::POST,
        path: "/logging",
    },
];

/// The documents of these shapes; of all when none is named.
pub(crate) fn files(shapes: &[Shape]) -> Vec<&'static File> {
    FILES
        .iter()
        .filter(|file| shapes.is_empty() || shapes.iter().any(|shape| file.is(*shape)))
        .collect()
}

/// The path of the wanted sections alone.
fn mask(file: &File, wish: &ProxyWish) -> Option<String> {
    let fields: Vec<&str> = wish
        .sections
        .iter()
        .map(|section| section.fields())
        .collect();
    let is_part = file.shape == Shape::ConfigDump && !fields.is_empty();
    is_part.then(|| format!("{}&mask={}", file.path, fields.join(",")))
}

/// The documents of a proxy as far as they could be had, and why not all.
#[derive(Debug, Default)]
pub(crate) struct ProxyDocuments {
    pub(crate) documents: Vec<(&'static str, Vec<u8>)>,
    pub(crate) lack: Option<Lack>,
}

/// Asks a proxy.
pub(crate) async fn ask(
    cluster: &Cluster,
    pod: &PodNote,
    wish: &ProxyWish,
    files: &[&'static File],
) -> ProxyDocuments {
    let mut told = ProxyDocuments::default();
    let port = Port {
        number: wish.port,
        ..Port::admin(pod)
    };
    if cluster.nodes.is_silent(&pod.node) {
        let why = format!("nothing on node {} answers, so it was not asked", pod.node);
        return ProxyDocuments {
            lack: Some(Lack::Failed(why)),
            ..told
        };
    }
    let mut door = match Door::open(cluster, port).await {
        Ok(door) => door,
        Err(lack) => {
            if matches!(lack, Lack::Late(_)) {
                cluster.nodes.note(&pod.node, false);
            }
            return ProxyDocuments {
                lack: Some(lack),
                ..told
            };
        }
    };
    cluster.nodes.note(&pod.node, true);
    for file in files {
        let answer = match mask(file, wish) {
            // Whoever knows no mask is asked for all.
            Some(path) => match door.ask(&file.method, &path).await {
                Err(Lack::Failed(_)) if door.is_open() => door.ask(&file.method, file.path).await,
                answer => answer,
            },
            None => door.ask(&file.method, file.path).await,
        };
        match answer {
            Ok(body) => told.documents.push((file.name, body)),
            // Older and other proxies lack some of them: ztunnel has only its dump.
            Err(Lack::Absent) => {}
            Err(lack) => {
                let named = match lack {
                    Lack::Failed(why) | Lack::Late(why) => {
                        Lack::Failed(format!("{}: {why}", file.name))
                    }
                    lack => lack,
                };
                told.lack.get_or_insert(named);
                if !door.is_open() {
                    break;
                }
            }
        }
    }
    told
}
