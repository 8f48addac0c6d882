//! The codes of `istioctl analyze` and of Kiali: what each says, and why no rule of ours has it
//! where none does.
//!
//! Which rule has a code, its `aka` tells; `docs/analyze.md` has the table of both.

use crate::finding::Severity;

/// A code of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// `IST0101`, `KIA0202`
    pub code: &'static str,
    /// istioctl's name for it; for Kiali, which has none, what is wrong.
    pub says: &'static str,
    /// How bad the tool calls it, at worst.
    pub severity: Severity,
    /// Why there need be no rule.
    pub without: Option<Why>,
}

/// Why there need be no rule for a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The tool has the code and never says it.
    NeverSaid,
    /// Only `istioctl x precheck` says it, of a cluster before an upgrade.
    Precheck,
    /// It is about ambient.
    Ambient,
    /// The tool has given it up.
    Retired,
}

impl Why {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::NeverSaid => "istioctl never says it",
            Self::Precheck => "only `istioctl x precheck` says it",
            Self::Ambient => "ambient: later",
            Self::Retired => "istioctl no longer has it",
        }
    }
}

const fn code(
    code: &'static str,
    says: &'static str,
    severity: Severity,
    without: Option<Why>,
) -> Code {
    Code {
        code,
        says,
        severity,
        without,
    }
}

/// Every code, in order, istioctl's first.
pub static CODES: &[Code] = &[
    code(
        "IST0001",
        "InternalError",
        Severity::Error,
        Some(Why::NeverSaid),
    ),
    code("IST0002", "Deprecated", Severity::Warning, None),
    code(
        "IST0101",
        "ReferencedResourceNotFound",
        Severity::Error,
        None,
    ),
    code("IST0102", "NamespaceNotInjected", Severity::Info, None),
    code("IST0103", "PodMissingProxy", Severity::Warning, None),
    code(
        "IST0104",
        "GatewayPortNotOnWorkload",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code(
        "IST0105",
        "IstioProxyImageMismatch",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code("IST0106", "SchemaValidationError", Severity::Error, None),
    code("IST0107", "MisplacedAnnotation", Severity::Warning, None),
    code("IST0108", "UnknownAnnotation", Severity::Warning, None),
    code(
        "IST0109",
        "ConflictingMeshGatewayVirtualServiceHosts",
        Severity::Error,
        None,
    ),
    code(
        "IST0110",
        "ConflictingSidecarWorkloadSelectors",
        Severity::Error,
        None,
    ),
    code(
        "IST0111",
        "MultipleSidecarsWithoutWorkloadSelectors",
        Severity::Error,
        None,
    ),
    code(
        "IST0112",
        "VirtualServiceDestinationPortSelectorRequired",
        Severity::Error,
        None,
    ),
    code(
        "IST0113",
        "MTLSPolicyConflict",
        Severity::Error,
        Some(Why::Retired),
    ),
    code(
        "IST0114",
        "PolicySpecifiesPortNameThatDoesntExist",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code(
        "IST0115",
        "DestinationRuleUsesMTLSForWorkloadWithoutSidecar",
        Severity::Error,
        Some(Why::Retired),
    ),
    code(
        "IST0116",
        "DeploymentAssociatedToMultipleServices",
        Severity::Warning,
        None,
    ),
    code(
        "IST0117",
        "DeploymentRequiresServiceAssociated",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code(
        "IST0118",
        "PortNameIsNotUnderNamingConvention",
        Severity::Info,
        None,
    ),
    code(
        "IST0119",
        "JwtFailureDueToInvalidServicePortPrefix",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code(
        "IST0120",
        "PolicyResourceIsDeprecated",
        Severity::Info,
        Some(Why::Retired),
    ),
    code(
        "IST0121",
        "MeshPolicyResourceIsDeprecated",
        Severity::Info,
        Some(Why::Retired),
    ),
    code(
        "IST0122",
        "InvalidRegexp",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code(
        "IST0123",
        "NamespaceMultipleInjectionLabels",
        Severity::Warning,
        None,
    ),
    code(
        "IST0124",
        "NamespaceInvalidInjectorRevision",
        Severity::Warning,
        Some(Why::Retired),
    ),
    code("IST0125", "InvalidAnnotation", Severity::Warning, None),
    code(
        "IST0126",
        "UnknownMeshNetworksServiceRegistry",
        Severity::Error,
        None,
    ),
    code(
        "IST0127",
        "NoMatchingWorkloadsFound",
        Severity::Warning,
        None,
    ),
    code(
        "IST0128",
        "NoServerCertificateVerificationDestinationLevel",
        Severity::Warning,
        None,
    ),
    code(
        "IST0129",
        "NoServerCertificateVerificationPortLevel",
        Severity::Warning,
        None,
    ),
    code(
        "IST0130",
        "VirtualServiceUnreachableRule",
        Severity::Warning,
        None,
    ),
    code(
        "IST0131",
        "VirtualServiceIneffectiveMatch",
        Severity::Info,
        None,
    ),
    code(
        "IST0132",
        "VirtualServiceHostNotFoundInGateway",
        Severity::Warning,
        None,
    ),
    code("IST0133", "SchemaWarning", Severity::Warning, None),
    code(
        "IST0134",
        "ServiceEntryAddressesRequired",
        Severity::Warning,
        None,
    ),
    code("IST0135", "DeprecatedAnnotation", Severity::Info, None),
    code(
        "IST0136",
        "AlphaAnnotation",
        Severity::Info,
        Some(Why::Precheck),
    ),
    code(
        "IST0137",
        "DeploymentConflictingPorts",
        Severity::Warning,
        None,
    ),
    code(
        "IST0138",
        "GatewayDuplicateCertificate",
        Severity::Warning,
        None,
    ),
    code("IST0139", "InvalidWebhook", Severity::Error, None),
    code(
        "IST0140",
        "IngressRouteRulesNotAffected",
        Severity::Warning,
        None,
    ),
    code(
        "IST0141",
        "InsufficientPermissions",
        Severity::Error,
        Some(Why::Precheck),
    ),
    code(
        "IST0142",
        "UnsupportedKubernetesVersion",
        Severity::Error,
        Some(Why::Precheck),
    ),
    code(
        "IST0143",
        "LocalhostListener",
        Severity::Error,
        Some(Why::NeverSaid),
    ),
    code("IST0144", "InvalidApplicationUID", Severity::Warning, None),
    code("IST0145", "ConflictingGateways", Severity::Error, None),
    code(
        "IST0146",
        "ImageAutoWithoutInjectionWarning",
        Severity::Warning,
        None,
    ),
    code(
        "IST0147",
        "ImageAutoWithoutInjectionError",
        Severity::Error,
        None,
    ),
    code(
        "IST0148",
        "NamespaceInjectionEnabledByDefault",
        Severity::Info,
        None,
    ),
    code(
        "IST0149",
        "JwtClaimBasedRoutingWithoutRequestAuthN",
        Severity::Error,
        None,
    ),
    code(
        "IST0150",
        "ExternalNameServiceTypeInvalidPortName",
        Severity::Warning,
        None,
    ),
    code(
        "IST0151",
        "EnvoyFilterUsesRelativeOperation",
        Severity::Warning,
        None,
    ),
    code(
        "IST0152",
        "EnvoyFilterUsesReplaceOperationIncorrectly",
        Severity::Error,
        None,
    ),
    code(
        "IST0153",
        "EnvoyFilterUsesAddOperationIncorrectly",
        Severity::Error,
        None,
    ),
    code(
        "IST0154",
        "EnvoyFilterUsesRemoveOperationIncorrectly",
        Severity::Error,
        None,
    ),
    code(
        "IST0155",
        "EnvoyFilterUsesRelativeOperationWithProxyVersion",
        Severity::Warning,
        None,
    ),
    code(
        "IST0156",
        "UnsupportedGatewayAPIVersion",
        Severity::Error,
        Some(Why::Precheck),
    ),
    code(
        "IST0157",
        "InvalidTelemetryProvider",
        Severity::Warning,
        None,
    ),
    code(
        "IST0158",
        "PodsIstioProxyImageMismatchInNamespace",
        Severity::Warning,
        None,
    ),
    code(
        "IST0159",
        "ConflictingTelemetryWorkloadSelectors",
        Severity::Error,
        None,
    ),
    code(
        "IST0160",
        "MultipleTelemetriesWithoutWorkloadSelectors",
        Severity::Error,
        None,
    ),
    code("IST0161", "InvalidGatewayCredential", Severity::Error, None),
    code(
        "IST0162",
        "GatewayPortNotDefinedOnService",
        Severity::Warning,
        None,
    ),
    code(
        "IST0163",
        "InvalidExternalControlPlaneConfig",
        Severity::Warning,
        None,
    ),
    code(
        "IST0164",
        "ExternalControlPlaneAddressIsNotAHostname",
        Severity::Info,
        None,
    ),
    code(
        "IST0165",
        "ReferencedInternalGateway",
        Severity::Warning,
        None,
    ),
    code("IST0166", "IneffectiveSelector", Severity::Warning, None),
    code("IST0167", "IneffectivePolicy", Severity::Warning, None),
    code(
        "IST0168",
        "UnknownUpgradeCompatibility",
        Severity::Warning,
        Some(Why::NeverSaid),
    ),
    code(
        "IST0169",
        "UpdateIncompatibility",
        Severity::Warning,
        Some(Why::Precheck),
    ),
    code(
        "IST0170",
        "MultiClusterInconsistentService",
        Severity::Warning,
        None,
    ),
    code(
        "IST0171",
        "NegativeConditionStatus",
        Severity::Warning,
        None,
    ),
    code(
        "IST0172",
        "FutureUnsupportedGatewayAPIVersion",
        Severity::Warning,
        Some(Why::Precheck),
    ),
    code(
        "IST0173",
        "DestinationRuleSubsetNotSelectPods",
        Severity::Error,
        None,
    ),
    code(
        "IST0174",
        "UnknownDestinationRuleHost",
        Severity::Warning,
        None,
    ),
    code(
        "IST0175",
        "JwksUriFetchUnrestricted",
        Severity::Warning,
        None,
    ),
    code(
        "IST0176",
        "GatewayAPICRDVersionBelowMinimum",
        Severity::Warning,
        None,
    ),
    code(
        "IST0177",
        "ConflictingServiceEntryProtocol",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0002",
        "two PeerAuthentications or Sidecars for all of a namespace",
        Severity::Error,
        None,
    ),
    code(
        "KIA0003",
        "two PeerAuthentications or Sidecars for one workload",
        Severity::Error,
        None,
    ),
    code(
        "KIA0004",
        "a selector that finds no workload",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0005",
        "exportTo names a namespace that does not exist",
        Severity::Error,
        None,
    ),
    code(
        "KIA0101",
        "a policy names a namespace that does not exist",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0102",
        "a policy names what is no HTTP method",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0104",
        "a policy names a host that is in no registry",
        Severity::Error,
        None,
    ),
    code(
        "KIA0105",
        "a policy asks for identities where mTLS is off",
        Severity::Error,
        None,
    ),
    code(
        "KIA0106",
        "a policy names a service account that does not exist",
        Severity::Error,
        None,
    ),
    code(
        "KIA0107",
        "a policy names a service account of another cluster only",
        Severity::Info,
        None,
    ),
    code(
        "KIA0108",
        "a policy names a trust domain that is not known",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0109",
        "an L7 policy in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA0110",
        "an L7 policy in ambient without targetRefs",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA0201",
        "two DestinationRules for one host and subset",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0202",
        "a DestinationRule for a host that is in no registry",
        Severity::Error,
        None,
    ),
    code("KIA0203", "a subset without pods", Severity::Error, None),
    code(
        "KIA0204",
        "a DestinationRule drops the mTLS of a wider one",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0205",
        "mesh-wide mTLS in a DestinationRule, none in a PeerAuthentication",
        Severity::Error,
        None,
    ),
    code(
        "KIA0206",
        "namespace-wide mTLS in a DestinationRule, none in a PeerAuthentication",
        Severity::Error,
        None,
    ),
    code(
        "KIA0207",
        "a DestinationRule turns TLS off where the namespace is STRICT",
        Severity::Error,
        None,
    ),
    code(
        "KIA0208",
        "a DestinationRule turns TLS off where the mesh is STRICT",
        Severity::Error,
        None,
    ),
    code(
        "KIA0209",
        "a subset without labels",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0210",
        "an L7 DestinationRule in ambient for an unknown host",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA0211",
        "an L7 DestinationRule in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA0212",
        "an L7 DestinationRule in ambient outside the Service's namespace",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA0301",
        "two Gateways for one host and port",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0302",
        "a Gateway's selector finds no workload",
        Severity::Warning,
        None,
    ),
    code(
        "KIA0401",
        "a STRICT mesh without mTLS in a mesh-wide DestinationRule",
        Severity::Error,
        None,
    ),
    code(
        "KIA0501",
        "a STRICT namespace without mTLS in a DestinationRule",
        Severity::Error,
        None,
    ),
    code(
        "KIA0505",
        "mTLS off in a namespace to which a DestinationRule sends it",
        Severity::Error,
        None,
    ),
    code(
        "KIA0506",
        "mTLS off in a mesh to which a DestinationRule sends it",
        Severity::Error,
        None,
    ),
    code(
        "KIA0601",
        "a port's name without a protocol",
        Severity::Error,
        None,
    ),
    code(
        "KIA0602",
        "an appProtocol that is not known",
        Severity::Error,
        None,
    ),
    code(
        "KIA0701",
        "a target port that no container has",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1004",
        "a Sidecar imports a host that is in no registry",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1006",
        "the mesh's Sidecar has a workload selector",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1007",
        "a Sidecar's outboundTrafficPolicy without a mode",
        Severity::Info,
        None,
    ),
    code(
        "KIA1101",
        "a route to a host that is in no registry",
        Severity::Error,
        None,
    ),
    code(
        "KIA1102",
        "a VirtualService names a Gateway that does not exist",
        Severity::Error,
        None,
    ),
    code(
        "KIA1104",
        "a lone destination with a weight below 100",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1105",
        "one host and subset twice in a route",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1106",
        "two VirtualServices for one host",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1107",
        "a route to a subset that is not defined",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1108",
        "a Gateway named in the old form with dots",
        Severity::Info,
        None,
    ),
    code(
        "KIA1109",
        "a VirtualService in ambient for an unknown host",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1110",
        "a RequestAuthentication in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1111",
        "a WasmPlugin in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1112",
        "an L7 Telemetry in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1113",
        "a VirtualService in ambient without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1114",
        "a VirtualService in ambient outside the Service's namespace",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1115",
        "a RequestAuthentication in ambient without targetRefs",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1116",
        "a WasmPlugin in ambient without targetRefs",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1117",
        "an L7 Telemetry in ambient without targetRefs",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1211",
        "two ServiceEntries for one host and port",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1212",
        "two ServiceEntries that disagree on a port's protocol",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1301",
        "a workload without an AuthorizationPolicy",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1311",
        "a workload with a sidecar and in ambient, by its labels",
        Severity::Error,
        Some(Why::Ambient),
    ),
    code(
        "KIA1312",
        "a workload with a waypoint and not in ambient",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1313",
        "a workload with a waypoint that does not exist",
        Severity::Error,
        Some(Why::Ambient),
    ),
    code(
        "KIA1314",
        "a workload labelled for a sidecar with ambient redirection",
        Severity::Error,
        Some(Why::Ambient),
    ),
    code(
        "KIA1315",
        "a workload labelled for ambient with a sidecar",
        Severity::Error,
        Some(Why::Ambient),
    ),
    code(
        "KIA1316",
        "a pod with a sidecar in an ambient namespace",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1317",
        "an L7 policy for an ambient workload without a waypoint",
        Severity::Warning,
        Some(Why::Ambient),
    ),
    code(
        "KIA1401",
        "a route of the Gateway API without its Gateway",
        Severity::Error,
        None,
    ),
    code(
        "KIA1402",
        "a route of the Gateway API without its Service",
        Severity::Error,
        None,
    ),
    code(
        "KIA1501",
        "two Gateways of the Gateway API with one listener",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1502",
        "two Gateways of the Gateway API with one address",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1503",
        "two listeners of one Gateway that are the same",
        Severity::Error,
        None,
    ),
    code(
        "KIA1504",
        "a GatewayClass that does not exist",
        Severity::Error,
        None,
    ),
    code(
        "KIA1601",
        "a ReferenceGrant from a namespace that does not exist",
        Severity::Error,
        None,
    ),
    code(
        "KIA1701",
        "a WorkloadGroup with a service account that does not exist",
        Severity::Warning,
        None,
    ),
    code(
        "KIA1702",
        "two WorkloadGroups with the same labels",
        Severity::Warning,
        None,
    ),
    code(
        "GWAPI",
        "a Gateway of the Gateway API whose status says no",
        Severity::Warning,
        None,
    ),
];
