//! `Namespace`: what its labels ask for.

use crate::injection::{INJECTION, REVISION};

/// How the traffic of a namespace's pods is taken: `ambient`, or `none`.
const DATAPLANE_MODE: &str = "istio.io/dataplane-mode";

object_view! {
    /// A namespace.
    Namespace
}

impl<'m> Namespace<'m> {
    /// `istio-injection`
    pub fn injection(self) -> Option<&'m str> {
        self.object.label(INJECTION)
    }

    /// `istio.io/rev`
    pub fn revision(self) -> Option<&'m str> {
        self.object.label(REVISION)
    }

    /// Whether pods get a proxy unless they say otherwise: `istio-injection` comes before
    /// `istio.io/rev`.
    pub fn asks_for_proxies(self) -> bool {
        match self.injection() {
            Some(injection) => injection == "enabled",
            None => self.revision().is_some(),
        }
    }

    /// Whether its label asks for ambient, whatever else asks for proxies.
    pub fn is_labelled_ambient(self) -> bool {
        self.object.label(DATAPLANE_MODE) == Some("ambient")
    }

    /// Whether its pods are ambient: injection, where it is asked for too, wins.
    pub fn is_ambient(self) -> bool {
        self.is_labelled_ambient()
            && self.injection() != Some("enabled")
            && self.revision().is_none()
    }
}
