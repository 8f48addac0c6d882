//! Which fields of Envoy's v3 API hold keys that are data: proto maps and `google.protobuf.Struct`.
//!
//! Names are in lowerCamelCase. Taken from the `map<` and `Struct` fields of Envoy's API 1.40, its
//! contrib extensions and the xDS types they use, as far as a config dump can hold them.

use Context::{Map, Struct};
use Only::{Anywhere, In, Under};

/// What the member names of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Fields of a message.
    Message,
    /// Keys of a map; the values are messages.
    Map,
    /// Data, and so is everything below.
    Struct,
}

/// Where a field has to stand, for names that other messages use for something else.
#[derive(Clone, Copy, Debug)]
enum Only {
    Anywhere,
    /// In a message held by that field.
    Under(&'static str),
    /// In an `Any` of that type.
    In(&'static str),
}

/// What the object is that the field `name` holds. The message it stands in is held by the field
/// `parent`, and `any` is the type of the nearest `Any` around it.
pub(super) fn context(name: &str, parent: &str, any: &str) -> Context {
    let from = FIELDS.partition_point(|(field, _, _)| *field < name);
    let applies = |only| match only {
        Anywhere => true,
        Under(field) => super::camel(parent) == field,
        In(message) => any == message,
    };
    let mut rules = FIELDS[from..]
        .iter()
        .take_while(|(field, _, _)| *field == name);
    rules
        .find(|(_, only, _)| applies(*only))
        .map_or(Context::Message, |(_, _, context)| *context)
}

/// Sorted by name.
const FIELDS: [(&str, Only, Context); 71] = [
    ("allowedCapabilities", Anywhere, Map),
    ("args", Anywhere, Map),
    ("attributes", In(RESOURCE_DETECTOR), Map),
    ("aws", Anywhere, Struct),
    ("bucketIdBuilder", Under("bucketIdBuilder"), Map),
    ("certificateProviderInstances", Anywhere, Map),
    ("clusterMinHealthyPercentages", Anywhere, Map),
    (
        "config",
        In("envoy.config.trace.v3.DynamicOtConfig"),
        Struct,
    ),
    ("config", Under("googleGrpc"), Struct),
    ("consumerConfig", Anywhere, Map),
    ("contentTypes", Anywhere, Map),
    ("contextExtensions", Anywhere, Map),
    ("defaultSubset", Anywhere, Struct),
    ("dimensions", Anywhere, Map),
    ("dynamicParameters", Anywhere, Map),
    ("extractionByMethod", Anywhere, Map),
    ("extractionsByMethod", Anywhere, Map),
    ("fieldRestrictions", Anywhere, Map),
    ("filterContext", Anywhere, Struct),
    ("filterMetadata", Anywhere, Struct),
    ("jsonFormat", Anywhere, Struct),
    ("keyValues", Anywhere, Map),
    ("map", Anywhere, Map),
    ("mappedRequestAttributes", Anywhere, Map),
    ("mappedResponseAttributes", Anywhere, Map),
    ("match", Under("transportSocketMatches"), Struct),
    ("messageRestrictions", Anywhere, Map),
    ("metadata", Under("node"), Struct),
    ("metadata", Under("userAgentBuildVersion"), Struct),
    ("metadata", Under("version"), Struct),
    ("methodConfigs", Anywhere, Map),
    ("methodRestrictions", Anywhere, Map),
    ("namedEndpoints", Anywhere, Map),
    ("namedFilterChains", Anywhere, Map),
    ("params", Anywhere, Map),
    ("paramsMatch", Anywhere, Map),
    ("perFilterConfig", Anywhere, Map),
    ("pluginsConfig", Anywhere, Map),
    ("policies", Anywhere, Map),
    ("producerConfig", Anywhere, Map),
    ("providers", Anywhere, Map),
    (
        "record",
        In("envoy.extensions.access_loggers.fluentd.v3.FluentdAccessLogConfig"),
        Struct,
    ),
    ("requestExtractionByField", Anywhere, Map),
    ("requestFieldExtractions", Anywhere, Map),
    ("requestFieldRestrictions", Anywhere, Map),
    ("requirementMap", Anywhere, Map),
    ("requires", Under("filterStateRules"), Map),
    ("responseExtractionByField", Anywhere, Map),
    ("responseFieldRestrictions", Anywhere, Map),
    ("routeActionOverrides", Anywhere, Map),
    ("secretConfigs", Anywhere, Map),
    ("secrets", Anywhere, Map),
    ("services", Anywhere, Map),
    ("sourceCodes", Anywhere, Map),
    ("staticLayer", Anywhere, Struct),
    ("tenantConfigs", Anywhere, Map),
    ("transportSocketMatchCriteria", Anywhere, Struct),
    ("typedExtensionProtocolOptions", Anywhere, Map),
    ("typedFilterMetadata", Anywhere, Map),
    ("typedJsonFormat", Anywhere, Struct),
    ("typedPerFilterConfig", Anywhere, Map),
    (
        "value",
        In("envoy.extensions.filters.http.set_metadata.v3.Config"),
        Struct,
    ),
    ("value", In("google.protobuf.ListValue"), Struct),
    ("value", In("google.protobuf.Struct"), Struct),
    ("value", In("google.protobuf.Value"), Struct),
    ("value", In("udpa.type.v1.TypedStruct"), Struct),
    ("value", In("xds.type.v3.TypedStruct"), Struct),
    ("value", Under("onError"), Struct),
    ("value", Under("onMissing"), Struct),
    ("value", Under("onPresent"), Struct),
    ("value", Under("record"), Struct),
];

const RESOURCE_DETECTOR: &str = "envoy.extensions.tracers.opentelemetry.resource_detectors.v3.StaticConfigResourceDetectorConfig";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(FIELDS.is_sorted_by_key(|(field, _, _)| *field));
        assert!(
            FIELDS
                .iter()
                .all(|(field, _, _)| super::super::camel(field) == *field)
        );
    }
}
