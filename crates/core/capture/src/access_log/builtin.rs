//! The formats that Istio and Envoy use when nobody sets one.

use std::sync::OnceLock;

use super::format::LogFormat;

/// Up to the flags all of them are alike.
const HEAD: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS%"#;

/// From the sizes to the upstream's address too.
const MIDDLE: &str = r#"%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%""#;

/// What Istio adds.
const TAIL: &str = "%UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME%";

/// Istio's JSON; what an older release lacks is absent, what it has more is of no use.
const JSON: &str = r#"{"start_time":"%START_TIME%","route_name":"%ROUTE_NAME%","method":"%REQ(:METHOD)%",
"path":"%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%","protocol":"%PROTOCOL%","response_code":"%RESPONSE_CODE%",
"response_flags":"%RESPONSE_FLAGS%","response_code_details":"%RESPONSE_CODE_DETAILS%",
"connection_termination_details":"%CONNECTION_TERMINATION_DETAILS%","bytes_received":"%BYTES_RECEIVED%",
"bytes_sent":"%BYTES_SENT%","duration":"%DURATION%","upstream_service_time":"%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
"x_forwarded_for":"%REQ(X-FORWARDED-FOR)%","user_agent":"%REQ(USER-AGENT)%","request_id":"%REQ(X-REQUEST-ID)%",
"authority":"%REQ(:AUTHORITY)%","upstream_host":"%UPSTREAM_HOST%","upstream_cluster":"%UPSTREAM_CLUSTER_RAW%",
"upstream_local_address":"%UPSTREAM_LOCAL_ADDRESS%","downstream_local_address":"%DOWNSTREAM_LOCAL_ADDRESS%",
"downstream_remote_address":"%DOWNSTREAM_REMOTE_ADDRESS%","requested_server_name":"%REQUESTED_SERVER_NAME%",
"upstream_transport_failure_reason":"%UPSTREAM_TRANSPORT_FAILURE_REASON%"}"#;

/// All of them, today's first. What follows the flags tells them apart: a word, a number, one
/// quoted field or two.
pub(super) fn formats() -> &'static [LogFormat] {
    static FORMATS: OnceLock<Vec<LogFormat>> = OnceLock::new();
    FORMATS.get_or_init(compile_all)
}

fn compile_all() -> Vec<LogFormat> {
    let mixer = "%DYNAMIC_METADATA(istio.mixer:status)%";
    let reason = "%UPSTREAM_TRANSPORT_FAILURE_REASON%";
    let details = "%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS%";
    let texts = [
        // Istio 1.9 and later.
        format!("{HEAD} {details} \"{reason}\" {MIDDLE} {TAIL} %ROUTE_NAME%"),
        JSON.to_owned(),
        // Envoy.
        format!("{HEAD} {MIDDLE}"),
        // Istio 1.8.
        format!("{HEAD} \"{reason}\" {MIDDLE} {TAIL} %ROUTE_NAME%"),
        // Istio 1.3 to 1.7, and 1.2 and 1.1 before them.
        format!("{HEAD} \"{mixer}\" \"{reason}\" {MIDDLE} {TAIL} %ROUTE_NAME%"),
        format!("{HEAD} \"{mixer}\" \"{reason}\" {MIDDLE} {TAIL}"),
        format!("{HEAD} \"{mixer}\" {MIDDLE} {TAIL}"),
    ];
    let mut formats = Vec::new();
    for text in &texts {
        formats.push(LogFormat::compile(text).expect("our own formats are well formed"));
    }
    formats
}
