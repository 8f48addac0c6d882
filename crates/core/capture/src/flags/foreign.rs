//! Codes of other tools: what istioctl and Kiali mean by them.

/// A code of another tool.
#[derive(Debug)]
pub struct ForeignCode {
    /// As the tool prints it.
    pub code: &'static str,
    /// What it is about: istioctl's level, Kiali's kind of object.
    pub about: &'static str,
    /// What it says.
    pub means: &'static str,
}

/// The tool's code, in any case.
pub fn foreign(code: &str) -> Option<&'static ForeignCode> {
    FOREIGN
        .iter()
        .find(|row| row.code.eq_ignore_ascii_case(code))
}

impl ForeignCode {
    /// Whose code it is.
    pub fn tool(&self) -> &'static str {
        if self.code.starts_with("IST") {
            "istioctl"
        } else {
            "Kiali"
        }
    }
}

const fn row(code: &'static str, about: &'static str, means: &'static str) -> ForeignCode {
    ForeignCode { code, about, means }
}

static FOREIGN: &[ForeignCode] = &[
    row("IST0001", "error", "InternalError"),
    row("IST0002", "warning", "Deprecated"),
    row("IST0101", "error", "ReferencedResourceNotFound"),
    row("IST0102", "info", "NamespaceNotInjected"),
    row("IST0103", "warning", "PodMissingProxy"),
    row("IST0106", "error", "SchemaValidationError"),
    row("IST0107", "warning", "MisplacedAnnotation"),
    row("IST0108", "warning", "UnknownAnnotation"),
    row(
        "IST0109",
        "error",
        "ConflictingMeshGatewayVirtualServiceHosts",
    ),
    row("IST0110", "error", "ConflictingSidecarWorkloadSelectors"),
    row(
        "IST0111",
        "error",
        "MultipleSidecarsWithoutWorkloadSelectors",
    ),
    row(
        "IST0112",
        "error",
        "VirtualServiceDestinationPortSelectorRequired",
    ),
    row(
        "IST0116",
        "warning",
        "DeploymentAssociatedToMultipleServices",
    ),
    row("IST0118", "info", "PortNameIsNotUnderNamingConvention"),
    row("IST0123", "warning", "NamespaceMultipleInjectionLabels"),
    row("IST0125", "warning", "InvalidAnnotation"),
    row("IST0126", "error", "UnknownMeshNetworksServiceRegistry"),
    row("IST0127", "warning", "NoMatchingWorkloadsFound"),
    row(
        "IST0128",
        "warning",
        "NoServerCertificateVerificationDestinationLevel",
    ),
    row(
        "IST0129",
        "warning",
        "NoServerCertificateVerificationPortLevel",
    ),
    row("IST0130", "warning", "VirtualServiceUnreachableRule"),
    row("IST0131", "info", "VirtualServiceIneffectiveMatch"),
    row("IST0132", "warning", "VirtualServiceHostNotFoundInGateway"),
    row("IST0133", "warning", "SchemaWarning"),
    row("IST0134", "warning", "ServiceEntryAddressesRequired"),
    row("IST0135", "info", "DeprecatedAnnotation"),
    row("IST0136", "info", "AlphaAnnotation"),
    row("IST0137", "warning", "DeploymentConflictingPorts"),
    row("IST0138", "warning", "GatewayDuplicateCertificate"),
    row("IST0139", "error", "InvalidWebhook"),
    row("IST0140", "warning", "IngressRouteRulesNotAffected"),
    row("IST0141", "error", "InsufficientPermissions"),
    row("IST0142", "error", "UnsupportedKubernetesVersion"),
    row("IST0143", "error", "LocalhostListener"),
    row("IST0144", "warning", "InvalidApplicationUID"),
    row("IST0145", "error", "ConflictingGateways"),
    row("IST0146", "warning", "ImageAutoWithoutInjectionWarning"),
    row("IST0147", "error", "ImageAutoWithoutInjectionError"),
    row("IST0148", "info", "NamespaceInjectionEnabledByDefault"),
    row(
        "IST0149",
        "error",
        "JwtClaimBasedRoutingWithoutRequestAuthN",
    ),
    row(
        "IST0150",
        "warning",
        "ExternalNameServiceTypeInvalidPortName",
    ),
    row("IST0151", "warning", "EnvoyFilterUsesRelativeOperation"),
    row(
        "IST0152",
        "error",
        "EnvoyFilterUsesReplaceOperationIncorrectly",
    ),
    row("IST0153", "error", "EnvoyFilterUsesAddOperationIncorrectly"),
    row(
        "IST0154",
        "error",
        "EnvoyFilterUsesRemoveOperationIncorrectly",
    ),
    row(
        "IST0155",
        "warning",
        "EnvoyFilterUsesRelativeOperationWithProxyVersion",
    ),
    row("IST0156", "error", "UnsupportedGatewayAPIVersion"),
    row("IST0157", "warning", "InvalidTelemetryProvider"),
    row(
        "IST0158",
        "warning",
        "PodsIstioProxyImageMismatchInNamespace",
    ),
    row("IST0159", "error", "ConflictingTelemetryWorkloadSelectors"),
    row(
        "IST0160",
        "error",
        "MultipleTelemetriesWithoutWorkloadSelectors",
    ),
    row("IST0161", "error", "InvalidGatewayCredential"),
    row("IST0162", "warning", "GatewayPortNotDefinedOnService"),
    row("IST0163", "warning", "InvalidExternalControlPlaneConfig"),
    row(
        "IST0164",
        "info",
        "ExternalControlPlaneAddressIsNotAHostname",
    ),
    row("IST0165", "warning", "ReferencedInternalGateway"),
    row("IST0166", "warning", "IneffectiveSelector"),
    row("IST0167", "warning", "IneffectivePolicy"),
    row("IST0168", "warning", "UnknownUpgradeCompatibility"),
    row("IST0169", "warning", "UpdateIncompatibility"),
    row("IST0170", "warning", "MultiClusterInconsistentService"),
    row("IST0171", "warning", "NegativeConditionStatus"),
    row("IST0172", "warning", "FutureUnsupportedGatewayAPIVersion"),
    row("IST0173", "error", "DestinationRuleSubsetNotSelectPods"),
    row("IST0174", "warning", "UnknownDestinationRuleHost"),
    row("IST0175", "warning", "JwksUriFetchUnrestricted"),
    row("IST0176", "warning", "GatewayAPICRDVersionBelowMinimum"),
    row("IST0177", "warning", "ConflictingServiceEntryProtocol"),
    row(
        "KIA0002",
        "PeerAuthentication, Sidecar",
        "two of a kind without a selector in one namespace",
    ),
    row(
        "KIA0003",
        "PeerAuthentication, Sidecar",
        "two of a kind in one namespace select the same workload",
    ),
    row(
        "KIA0004",
        "anything with a selector",
        "the selector finds no workload",
    ),
    row(
        "KIA0005",
        "VirtualService, DestinationRule, ServiceEntry",
        "exportTo names a namespace that does not exist",
    ),
    row(
        "KIA0101",
        "AuthorizationPolicy",
        "a source namespace that does not exist",
    ),
    row(
        "KIA0102",
        "AuthorizationPolicy",
        "a method that HTTP does not have",
    ),
    row(
        "KIA0104",
        "AuthorizationPolicy",
        "a host that no Service has",
    ),
    row(
        "KIA0105",
        "AuthorizationPolicy",
        "a source identity is asked for where mutual TLS is off",
    ),
    row(
        "KIA0106",
        "AuthorizationPolicy",
        "a principal that is no service account",
    ),
    row(
        "KIA0107",
        "AuthorizationPolicy",
        "a principal that is a service account of another cluster only",
    ),
    row(
        "KIA0108",
        "AuthorizationPolicy",
        "a principal of a trust domain that is not known",
    ),
    row(
        "KIA0109",
        "AuthorizationPolicy",
        "a policy of HTTP in an ambient namespace without a waypoint",
    ),
    row(
        "KIA0110",
        "AuthorizationPolicy",
        "a policy of HTTP in ambient without targetRefs",
    ),
    row(
        "KIA0201",
        "DestinationRule",
        "two of them overlap in host and subset",
    ),
    row(
        "KIA0202",
        "DestinationRule",
        "a host that no Service or ServiceEntry has",
    ),
    row(
        "KIA0203",
        "DestinationRule",
        "a subset whose labels no workload has",
    ),
    row(
        "KIA0204",
        "DestinationRule",
        "it takes away the TLS settings of a wider DestinationRule",
    ),
    row(
        "KIA0205",
        "DestinationRule",
        "mutual TLS for the mesh without a PeerAuthentication for the mesh",
    ),
    row(
        "KIA0206",
        "DestinationRule",
        "mutual TLS for the namespace without a PeerAuthentication there",
    ),
    row(
        "KIA0207",
        "DestinationRule",
        "TLS is disabled where the namespace's PeerAuthentication is STRICT",
    ),
    row(
        "KIA0208",
        "DestinationRule",
        "TLS is disabled where the mesh's PeerAuthentication is STRICT",
    ),
    row("KIA0209", "DestinationRule", "a subset without labels"),
    row(
        "KIA0210",
        "DestinationRule",
        "settings of HTTP in ambient for a host that is not known",
    ),
    row(
        "KIA0211",
        "DestinationRule",
        "settings of HTTP for an ambient Service without a waypoint",
    ),
    row(
        "KIA0212",
        "DestinationRule",
        "it is in another namespace than the ambient Service",
    ),
    row(
        "KIA0301",
        "Gateway",
        "two of them have the same selector, port and host",
    ),
    row("KIA0302", "Gateway", "the selector finds no workload"),
    row(
        "KIA0401",
        "PeerAuthentication",
        "STRICT for the mesh, but no DestinationRule that makes clients use mutual TLS",
    ),
    row(
        "KIA0501",
        "PeerAuthentication",
        "STRICT for the namespace, but no DestinationRule that makes clients use mutual TLS",
    ),
    row(
        "KIA0505",
        "PeerAuthentication",
        "DISABLE for the namespace, while a DestinationRule still sends mutual TLS",
    ),
    row(
        "KIA0506",
        "PeerAuthentication",
        "DISABLE for the mesh, while a DestinationRule still sends mutual TLS",
    ),
    row(
        "KIA0601",
        "Service, Gateway, ServiceEntry",
        "a port's name says no protocol",
    ),
    row("KIA0602", "Service", "an appProtocol that is not known"),
    row("KIA0701", "Service", "no container has the target port"),
    row("KIA1004", "Sidecar", "an egress host that no Service has"),
    row(
        "KIA1006",
        "Sidecar",
        "the mesh's default Sidecar has a workloadSelector",
    ),
    row(
        "KIA1007",
        "Sidecar",
        "an outboundTrafficPolicy without a mode",
    ),
    row(
        "KIA1101",
        "VirtualService",
        "a destination host that no Service has",
    ),
    row("KIA1102", "VirtualService", "a Gateway that does not exist"),
    row(
        "KIA1104",
        "VirtualService",
        "one destination with a weight below 100",
    ),
    row(
        "KIA1105",
        "VirtualService",
        "the same host and subset twice in one route",
    ),
    row(
        "KIA1106",
        "VirtualService",
        "two of them have the same host on the same gateways",
    ),
    row(
        "KIA1107",
        "VirtualService",
        "a subset that no DestinationRule defines",
    ),
    row(
        "KIA1108",
        "VirtualService",
        "a Gateway named in the old form, with dots",
    ),
    row(
        "KIA1109",
        "VirtualService",
        "routes of HTTP in an ambient namespace without a waypoint",
    ),
    row(
        "KIA1110",
        "RequestAuthentication",
        "in ambient without a waypoint",
    ),
    row("KIA1111", "WasmPlugin", "in ambient without a waypoint"),
    row(
        "KIA1112",
        "Telemetry",
        "telemetry of HTTP in ambient without a waypoint",
    ),
    row(
        "KIA1113",
        "VirtualService",
        "its ambient Service has no waypoint",
    ),
    row(
        "KIA1114",
        "VirtualService",
        "it is in another namespace than the ambient Service",
    ),
    row(
        "KIA1115",
        "RequestAuthentication",
        "in ambient without targetRefs",
    ),
    row("KIA1116", "WasmPlugin", "in ambient without targetRefs"),
    row(
        "KIA1117",
        "Telemetry",
        "telemetry of HTTP in ambient without targetRefs",
    ),
    row(
        "KIA1211",
        "ServiceEntry",
        "two of them have the same host and port",
    ),
    row(
        "KIA1212",
        "ServiceEntry",
        "two of them have the same host and port with different protocols",
    ),
    row("KIA1301", "a workload", "no AuthorizationPolicy covers it"),
    row(
        "KIA1311",
        "a workload",
        "labels for both a sidecar and ambient",
    ),
    row("KIA1312", "a workload", "a waypoint label outside ambient"),
    row(
        "KIA1313",
        "a workload",
        "a waypoint label that names no waypoint",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_there_once_and_in_order() {
        assert!(FOREIGN.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert_eq!(foreign("kia0201").map(ForeignCode::tool), Some("Kiali"));
        assert!(foreign("KIA9999").is_none());
    }
}
