//! The rungs of the ladder.

/// The rungs, bottom up: what rules out most the fastest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Could we read what we need?
    Reach,
    /// Is istiod up?
    ControlPlane,
    /// Is the pod in the mesh?
    Enrolment,
    /// Does the proxy have the latest configuration?
    Sync,
    /// Is what was applied valid?
    Config,
    /// Which way does the request take?
    Routing,
    /// Which endpoints can serve it?
    Endpoints,
    /// Do both ends agree on mTLS?
    Identity,
    /// Does policy let it through?
    Authorization,
    /// Did the application answer?
    Upstream,
    /// Can you see it?
    Telemetry,
}

impl Rung {
    /// All of them, bottom up.
    pub const ALL: [Self; 11] = [
        Self::Reach,
        Self::ControlPlane,
        Self::Enrolment,
        Self::Sync,
        Self::Config,
        Self::Routing,
        Self::Endpoints,
        Self::Identity,
        Self::Authorization,
        Self::Upstream,
        Self::Telemetry,
    ];

    /// The id JSON carries.
    pub fn id(self) -> &'static str {
        match self {
            Self::Reach => "reach",
            Self::ControlPlane => "control-plane",
            Self::Enrolment => "enrolment",
            Self::Sync => "sync",
            Self::Config => "config",
            Self::Routing => "routing",
            Self::Endpoints => "endpoints",
            Self::Identity => "identity",
            Self::Authorization => "authorization",
            Self::Upstream => "upstream",
            Self::Telemetry => "telemetry",
        }
    }

    /// The question it answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Reach => "Could we read what we need?",
            Self::ControlPlane => "Is istiod up, with valid webhooks and certificates?",
            Self::Enrolment => "Is the pod in the mesh?",
            Self::Sync => "Does the proxy have the latest configuration?",
            Self::Config => "Is what was applied valid, and do its references resolve?",
            Self::Routing => "Which route and cluster does the request take?",
            Self::Endpoints => "Which endpoints can serve it?",
            Self::Identity => "Do both ends agree on mTLS?",
            Self::Authorization => "Does policy let it through?",
            Self::Upstream => "Did the application answer?",
            Self::Telemetry => "Can you see it?",
        }
    }
}
