//! The sections of a dump and the states of what is in them (`envoy.admin.v3`).

/// A section of `/config_dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `BootstrapConfigDump`
    Bootstrap,
    /// `ClustersConfigDump`
    Clusters,
    /// `ListenersConfigDump`
    Listeners,
    /// `RoutesConfigDump`
    Routes,
    /// `ScopedRoutesConfigDump`
    ScopedRoutes,
    /// `EndpointsConfigDump`, only with `?include_eds`
    Endpoints,
    /// `SecretsConfigDump`
    Secrets,
    /// `EcdsConfigDump`
    Ecds,
}

/// Whether Envoy uses a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceState {
    /// From the bootstrap, or written inside another resource.
    Static,
    /// In use.
    Active,
    /// Received, and waiting for something it depends on.
    Warming,
    /// On its way out.
    Draining,
    /// Refused, with nothing in its place.
    Error,
}

impl Section {
    /// Every section.
    pub const ALL: [Self; 8] = [
        Self::Bootstrap,
        Self::Clusters,
        Self::Listeners,
        Self::Routes,
        Self::ScopedRoutes,
        Self::Endpoints,
        Self::Secrets,
        Self::Ecds,
    ];

    /// The fields that hold its resources, so that `?mask=` gives the section alone, in the shape
    /// it has in a whole dump.
    pub fn fields(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Clusters => {
                "version_info,static_clusters,dynamic_active_clusters,dynamic_warming_clusters"
            }
            Self::Listeners => "version_info,static_listeners,dynamic_listeners",
            Self::Routes => "static_route_configs,dynamic_route_configs",
            Self::ScopedRoutes => "inline_scoped_route_configs,dynamic_scoped_route_configs",
            Self::Endpoints => "static_endpoint_configs,dynamic_endpoint_configs",
            Self::Secrets => "static_secrets,dynamic_active_secrets,dynamic_warming_secrets",
            Self::Ecds => "ecds_filters",
        }
    }

    /// The message's name in `envoy.admin.v3`.
    pub fn message(self) -> &'static str {
        match self {
            Self::Bootstrap => "BootstrapConfigDump",
            Self::Clusters => "ClustersConfigDump",
            Self::Listeners => "ListenersConfigDump",
            Self::Routes => "RoutesConfigDump",
            Self::ScopedRoutes => "ScopedRoutesConfigDump",
            Self::Endpoints => "EndpointsConfigDump",
            Self::Secrets => "SecretsConfigDump",
            Self::Ecds => "EcdsConfigDump",
        }
    }

    /// The section of a `@type` URL.
    pub fn of(type_url: &str) -> Option<Self> {
        let message = type_url.strip_prefix("type.googleapis.com/envoy.admin.v3.")?;
        Self::ALL.into_iter().find(|s| s.message() == message)
    }

    /// For a member that lists resources, the state of what it lists.
    pub(super) fn list_state(self, key: &str) -> Option<ResourceState> {
        let kind = match self {
            Self::Bootstrap => return None,
            Self::Clusters => "clusters",
            Self::Listeners => "listeners",
            Self::Routes => "route_configs",
            Self::ScopedRoutes => "scoped_route_configs",
            Self::Endpoints => "endpoint_configs",
            Self::Secrets => "secrets",
            Self::Ecds => return (key == "ecds_filters").then_some(ResourceState::Active),
        };
        match key.strip_suffix(kind)? {
            "static_" | "inline_" => Some(ResourceState::Static),
            "dynamic_" | "dynamic_active_" => Some(ResourceState::Active),
            "dynamic_warming_" => Some(ResourceState::Warming),
            _ => None,
        }
    }

    /// The member of an entry that holds the resource.
    pub(super) fn resource_key(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Clusters => "cluster",
            Self::Listeners => "listener",
            Self::Routes => "route_config",
            Self::ScopedRoutes => "scoped_route_configs",
            Self::Endpoints => "endpoint_config",
            Self::Secrets => "secret",
            Self::Ecds => "ecds_filter",
        }
    }

    /// The member of a resource that holds its name.
    pub(super) fn name_key(self) -> &'static str {
        if self == Self::Endpoints {
            "cluster_name"
        } else {
            "name"
        }
    }
}

impl ResourceState {
    /// The state that a member of a `DynamicListener` stands for.
    pub(super) fn of_listener(key: &str) -> Option<Self> {
        match key {
            "active_state" => Some(Self::Active),
            "warming_state" => Some(Self::Warming),
            "draining_state" => Some(Self::Draining),
            _ => None,
        }
    }

    /// The word listings show.
    pub fn word(self) -> &'static str {
        match self {
            Self::Static => "STATIC",
            Self::Active => "ACTIVE",
            Self::Warming => "WARMING",
            Self::Draining => "DRAINING",
            Self::Error => "ERROR",
        }
    }
}
