//! Every command, with its examples.

use std::path::PathBuf;

use clap::Subcommand;

use super::{
    Bundle, ProxyConfig, ProxyStatus, Shell, Trace, Version, analyze, authz, describe, diff,
    ladder, log_level, logs, monitor, prometheus, runbook, snapshot, ztunnel_config,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Climb the ladder for the mesh, a namespace, a workload or an object: one root cause first
    #[command(before_help = "\
Examples:
  meshladder check -s bundle.tar.gz
  meshladder check deploy/cart -n shop -s bundle.tar.gz
  meshladder check virtualservice/catalog -n shop -s bundle.tar.gz")]
    Check(ladder::Check),
    /// Climb the ladder for one request: both proxies simulated, both ends joined, one root cause
    /// first
    #[command(before_help = "\
Examples:
  meshladder why --from shop/frontend --to http://catalog.shop:8080/ -s bundle.tar.gz
  meshladder why --from tools/curl --to http://cart.shop:8080/ --seen 503/UH -s bundle.tar.gz
  meshladder why --from outside --to https://shop.example.com/ --seen 0 -o html -s bundle.tar.gz > ticket.html")]
    Why(ladder::Why),
    /// Judge objects in files, as `istioctl analyze` does, on the lines they stand at
    #[command(before_help = "\
Examples:
  meshladder analyze manifests/
  kustomize build overlays/prod | meshladder analyze -
  meshladder analyze manifests/ --failure-threshold Warning --suppress 'IST0128=DestinationRule shop/*'
  meshladder analyze manifests/ -s bundle.tar.gz -n shop       the files, on top of a cluster
  meshladder analyze manifests/ --diff                         what --fix would change

Exit code: 0 nothing at the failure threshold, 79 something at it, 65 a document that cannot be read")]
    Analyze(analyze::Analyze),
    /// One screen about one thing: in the mesh or not, sync, ports, mTLS, policies, routes,
    /// endpoints, what is wrong
    #[command(
        visible_alias = "des",
        before_help = "\
Examples:
  meshladder describe svc catalog -n shop                     in the cluster of the current context
  meshladder describe pod cart-69cc797c6b-plkgk.shop -s bundle.tar.gz
  meshladder describe virtualservice catalog -n shop -o json -s bundle.tar.gz
  meshladder describe gateway shop-gateway -n istio-ingress -s bundle.tar.gz"
    )]
    Describe(describe::Describe),
    /// How a proxy differs from its sibling, from itself yesterday, from what istiod would send; or
    /// one capture from another
    #[command(before_help = "\
Examples:
  meshladder diff cart-1.shop cart-2.shop                    two proxies of the cluster
  meshladder diff deploy/cart -n shop -s bundle.tar.gz       who of the replicas is the odd one out
  meshladder diff deploy/cart istiod -n shop                 what the proxy has and what istiod would send
  meshladder diff deploy/cart yesterday.tar.zst -n shop      a proxy and what it was
  meshladder diff revision/1-29 revision/1-30                two revisions, workload by workload
  meshladder diff yesterday.json today.json                  two config dumps
  meshladder diff before.tar.gz after.tar.gz                 two captures: objects, proxies, requests

Exit code: 0 the same, 1 different")]
    Diff(diff::Diff),
    /// What a rule's code, a response flag, a details string or a gRPC status means, offline
    #[command(before_help = "\
Examples:
  meshladder explain ML0701
  meshladder explain UF,URX
  meshladder explain 'rbac_access_denied_matched_policy[ns[shop]-policy[payments]-rule[0]]'")]
    Explain {
        /// A code, a rule's name, a flag or several, response code details, a transport failure
        /// reason
        #[arg(required = true)]
        what: Vec<String>,
    },
    /// Envoy's response flags: what each means, who sets it, what causes it
    #[command(before_help = "\
Examples:
  meshladder flags
  meshladder flags UH URX
  meshladder flags --prometheus http://127.0.0.1:9090
  meshladder flags --prometheus --by destination -n shop         one that is found in the cluster
  meshladder flags --prometheus service/monitoring/prometheus:9090
  meshladder flags --prometheus https://mimir.example.com/prometheus --tenant shop --bearer-token-file token

Exit code with --prometheus: 0 rates are shown, 5 there are none to show, 4 not let in, 3 no answer")]
    Flags(prometheus::Flags),
    /// Whether observed traffic matches the configured weights
    #[command(before_help = "\
Examples:
  meshladder canary --service catalog -n shop --prometheus auto  weights and Prometheus of the cluster
  meshladder canary --service catalog -n shop --prometheus http://127.0.0.1:9090 -s bundle.tar.gz
  meshladder canary --service catalog -n shop --weights v1=90,v2=10 --prometheus http://127.0.0.1:9090

Exit code: 0 it matches, 1 it differs, 5 too few requests to tell")]
    Canary(prometheus::Canary),
    /// Access logs of any format: who answered, at which hop, which flag, and the causes ranked
    #[command(before_help = "\
Examples:
  kubectl logs deploy/cart -n shop -c istio-proxy | meshladder logs -
  meshladder logs deploy/cart -n shop --follow --failed    as they are written; the causes last
  meshladder logs access.log.gz --code 5xx --not-flag DC --since 2026-11-15T06:00:00Z
  meshladder logs -s bundle.tar.gz --why
  meshladder logs deploy/cart -n shop -s bundle.tar.gz --flag UC --lines
  meshladder logs app.log --format '%START_TIME% %RESPONSE_CODE% %RESPONSE_FLAGS% %REQ(:PATH)%'

Exit code: 0 nothing failed, 1 something did, 3 a log that cannot be read")]
    Logs(Box<logs::Logs>),
    /// Which proxies have the configuration istiod sent: SYNCED, STALE, NOT SENT, IGNORED per type
    #[command(
        visible_alias = "ps",
        before_help = "\
Examples:
  meshladder ps -s bundle.tar.gz
  meshladder ps -n shop -o json -s bug-report.tar.gz"
    )]
    ProxyStatus(ProxyStatus),
    /// Which clusters each istiod watches, by which remote secret, and whether it has read them
    #[command(before_help = "\
Examples:
  meshladder remote-clusters -s east=east.tar.gz -s west=west.tar.gz
  meshladder remote-clusters --context east --context west")]
    RemoteClusters,
    /// What a proxy has: clusters, listeners, routes, endpoints, secrets
    #[command(
        visible_alias = "pc",
        before_help = "\
Examples:
  meshladder pc cluster cart-69cc797c6b-plkgk.shop -s bundle.tar.gz
  meshladder pc route deploy/cart -n shop --name 8080 -o json -s bundle.tar.gz
  meshladder pc endpoint deploy/cart -n shop -o wide -s bundle.tar.gz
  meshladder pc listener --file config_dump.json"
    )]
    ProxyConfig(ProxyConfig),
    /// What a ztunnel has: workloads, services, policies, certificates, connections
    #[command(
        visible_alias = "zc",
        before_help = "\
Examples:
  meshladder zc workload -s bundle.tar.gz
  meshladder zc service --service-namespace shop -o json -s bundle.tar.gz
  meshladder zc certificate --node node-a
  meshladder zc all --file config_dump.json"
    )]
    ZtunnelConfig(ztunnel_config::ZtunnelConfig),
    /// Waypoints: which there are, for which traffic, and whether they are programmed
    #[command(before_help = "\
Examples:
  meshladder waypoint list -A -s bundle.tar.gz
  meshladder waypoint status -n shop")]
    Waypoint(ztunnel_config::Waypoint),
    /// What happens to one request: every hop, every decision, and why
    #[command(before_help = "\
Examples:
  meshladder trace --from tools/curl --to http://catalog.shop:8080/ -s bundle.tar.gz
  meshladder trace --from shop/cart -X POST --to http://payments.shop:8080/charge --verbose -s bundle.tar.gz
  meshladder trace --from outside --to https://shop.example.com/ -o json -s bundle.tar.gz
  meshladder trace --from shop/cart --requests yesterday.jsonl -s bundle.tar.gz > outcomes.jsonl

Exit code: 0 the request reaches the application, 1 it ends elsewhere, 5 that cannot be told.
Of many requests the worst counts: 3 a line that cannot be read, then 5, then 1")]
    Trace(Trace),
    /// Who may do what: the policies a proxy has, and what they decide of one request
    #[command(before_help = "\
Examples:
  meshladder authz check deploy/payments -n shop -s bundle.tar.gz
  meshladder authz check --from tools/curl -X POST --to http://payments.shop:8080/charge -s bundle.tar.gz")]
    Authz(authz::Authz),
    /// Where istioctl keeps `authz`
    #[command(hide = true, aliases = ["x", "exp"], before_help = "\
Examples:
  meshladder x authz check deploy/payments -n shop -s bundle.tar.gz")]
    Experimental(authz::Experimental),
    /// Monitoring as a standard: Prometheus rules, a Grafana dashboard, an exporter, manifests
    #[command(before_help = "\
Examples:
  meshladder monitor rules > meshladder-rules.yaml
  meshladder monitor dashboard > meshladder-dashboard.json
  meshladder monitor serve -s bundle/ --listen 127.0.0.1:15099
  meshladder monitor install --dry-run -n monitoring > meshladder.yaml")]
    Monitor(monitor::Monitor),
    /// Make, list and check bundles
    #[command(before_help = "\
Examples:
  meshladder bundle list bundle.tar.gz
  meshladder bundle pack incident.tar.zst -s bug-report.tar.gz
  meshladder bundle verify incident.tar.zst")]
    Bundle(Bundle),
    /// The on-call runbook: symptom, first command, what to look at, decision; in general or for
    /// what was found
    #[command(before_help = "\
Examples:
  meshladder runbook
  meshladder runbook --for ML0401 -s bundle.tar.gz > incident.md
  meshladder runbook --as-script > ladder.sh")]
    Runbook(runbook::Runbook),
    /// Read a cluster once into a bundle, without secrets, with what could not be read
    #[command(before_help = "\
Examples:
  meshladder snapshot incident.tar.zst
  meshladder snapshot incident.tar.zst -n shop --proxies all --since 1h
  meshladder snapshot incident/ --proxies deploy/cart --logs all
  meshladder snapshot night.tar.zst --watch-for UH --every 1m")]
    Snapshot(snapshot::Snapshot),
    /// Envoy's log levels: shown, held up for a while and set back whatever happens, audited, reset
    #[command(before_help = "\
Examples:
  meshladder log-level cart-1.shop --level rbac:debug,jwt:debug --for 5m
  meshladder log-level deploy/cart -n shop                     the levels of each pod
  meshladder log-level --audit -A                              what is not at its default, istiods too
  meshladder log-level deploy/cart -n shop --reset

Exit code: 0 the levels are what they were, 1 some are left or something is not at its default, 130 interrupted and set back")]
    LogLevel(log_level::LogLevel),
    /// The least rights that each command needs, as YAML
    #[command(before_help = "\
Examples:
  meshladder rbac --for check | kubectl apply -f -
  meshladder rbac --for why -n shop
  meshladder rbac --for snapshot --check")]
    Rbac(snapshot::Rbac),
    /// A built-in incident, no cluster needed
    #[command(before_help = "\
Examples:
  meshladder demo")]
    Demo,
    /// Version, commit, and the Istio and Envoy versions it reads
    #[command(before_help = "\
Examples:
  meshladder version
  meshladder version -o json")]
    Version(Version),
    /// Write the completion script of a shell to stdout
    #[command(before_help = "\
Examples:
  meshladder completion bash > /etc/bash_completion.d/meshladder
  meshladder completion fish > ~/.config/fish/completions/meshladder.fish")]
    Completion {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the man pages into a directory
    #[command(before_help = "\
Examples:
  meshladder man ~/.local/share/man/man1")]
    Man {
        /// The directory
        directory: PathBuf,
    },
}
