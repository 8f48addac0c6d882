//! `Telemetry`: what proxies log, count and trace.

use meshladder_text::tree::Node;

object_view! {
    /// An Istio `Telemetry`.
    Telemetry
}

impl<'m> Telemetry<'m> {
    /// The labels of the pods it is for; none when it is for all of its namespace.
    pub fn selector(self) -> Option<&'m Node> {
        let labels = self.object.spec_at(["selector", "matchLabels"]);
        labels.filter(|labels| !labels.members().is_empty())
    }

    /// How access is logged, as written.
    pub fn access_logging(self) -> &'m [Node] {
        self.object.spec_list("accessLogging")
    }

    /// How requests are traced, as written.
    pub fn tracing(self) -> &'m [Node] {
        self.object.spec_list("tracing")
    }

    /// How requests are counted, as written.
    pub fn metrics(self) -> &'m [Node] {
        self.object.spec_list("metrics")
    }
}
