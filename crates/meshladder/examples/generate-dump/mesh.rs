//! The mesh of the dump: services that differ as services do, each told by its number alone.

/// Every service has a TCP, an HTTP and a gRPC port.
pub(crate) const PORTS: [Port; 3] = [Port::Tcp, Port::Http, Port::Grpc];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    Tcp,
    Http,
    Grpc,
}

impl Port {
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::Tcp => "5432",
            Self::Http => "8080",
            Self::Grpc => "9090",
        }
    }
}

pub(crate) struct Service {
    index: usize,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) host: String,
    pub(crate) ip: String,
    /// When the proxy took its configuration.
    pub(crate) time: String,
}

/// Which services a proxy knows.
#[derive(Clone, Copy)]
pub(crate) struct Services {
    /// How many there are.
    pub(crate) count: usize,
    /// Only those of this team's namespace.
    pub(crate) team: Option<usize>,
}

impl Services {
    pub(crate) fn iter(self) -> impl Iterator<Item = Service> {
        let is_known = move |index: &usize| self.team.is_none_or(|team| index % TEAMS == team);
        (0..self.count).filter(is_known).map(Service::new)
    }
}

/// Each has a namespace.
pub(crate) const TEAMS: usize = 37;

impl Service {
    pub(crate) fn new(index: usize) -> Self {
        let name = format!("svc-{index:05}");
        let namespace = format!("team-{:02}", index % TEAMS);
        let host = format!("{name}.{namespace}.svc.cluster.local");
        let ip = format!(
            "10.{}.{}.{}",
            96 + (index >> 16),
            index >> 8 & 0xff,
            index & 0xff
        );
        let time = format!(
            "2026-11-15T06:{:02}:{:02}.{:03}Z",
            index / 60 % 60,
            index % 60,
            index % 1000
        );
        Self {
            index,
            name,
            namespace,
            host,
            ip,
            time,
        }
    }

    /// One in three has a `VirtualService`.
    pub(crate) fn has_virtual_service(&self) -> bool {
        self.index.is_multiple_of(3)
    }

    /// One in ten has a `DestinationRule` with the subsets v1 and v2.
    pub(crate) fn has_subsets(&self) -> bool {
        self.index.is_multiple_of(10)
    }

    /// One to five pods, three on average.
    pub(crate) fn pod_ips(&self) -> impl Iterator<Item = String> + use<> {
        let first = self.index * 5;
        (first..=first + self.index % 5).map(|pod| {
            format!(
                "10.{}.{}.{}",
                128 + (pod >> 16),
                pod >> 8 & 0xff,
                pod & 0xff
            )
        })
    }

    /// All its pods are in one zone: `a`, `b` or `c`.
    pub(crate) fn zone(&self) -> &'static str {
        ["a", "b", "c"][self.index % 3]
    }
}

/// Every outbound cluster in the order of its name, as Envoy writes them: `|v1|` sorts before `||`.
pub(crate) fn clusters(services: Services) -> impl Iterator<Item = (Port, &'static str, Service)> {
    PORTS.into_iter().flat_map(move |port| {
        ["v1", "v2", ""].into_iter().flat_map(move |subset| {
            services
                .iter()
                .filter(move |s| subset.is_empty() || s.has_subsets())
                .map(move |s| (port, subset, s))
        })
    })
}
