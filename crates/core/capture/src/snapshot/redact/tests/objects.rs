//! Secrets that are told by the structure they are in.

use super::clean;

/// A part that tells what is secret comes first.
const EARLY: [&str; 22] = [
    r#"{"apiVersion":"v1","kind":"Secret","type":"Opaque","data":{"a":"UExBTlRFRFBMQU5URUQ=","b":"UExBTlRFRA=="}}"#,
    r#"{"apiVersion":"v1","data":{"a":"UExBTlRFRFBMQU5URUQ="},"kind":"Secret","metadata":{"name":"x"}}"#,
    r#"{"stringData":{"a":"PLANTED \"quoted\"\n","n":12345},"kind" : "Secret"}"#,
    r#"{"kind":"SecretList","items":[{"metadata":{"name":"x"},"data":{"a":"UExBTlRFRA=="}}]}"#,
    r#"{"kind":"Event","message":"{\"kind\":\"Secret\",\"stringData\":{\"a\":\"PLANTED\"}}"}"#,
    r#"{"env":[{"name":"DB_PASSWORD","value":"PLANTED"},{"name":"A","value":"b"}]}"#,
    r#"{"env":[{"name":"AWS_SECRET_ACCESS_KEY","value":"PLANTED/x"},{"name":"STRIPE_API_KEY","value":"PLANTED"}]}"#,
    r#"{"env":[{"name":"CLIENT_SECRET","value":"PLANTED"},{"name":"GCP_CREDENTIALS","value":"{\"a\":\"PLANTED\"}"},{"name":"X_PASSWD","value":"PLANTED"},{"name":"TLS_PRIVATE_KEY","value":"PLANTED"}]}"#,
    r#"{"args":["--password=PLANTED","--token","PLANTED","--api-key","PLANTED"],"command":["sh","-c","x --db-password PLANTED1"]}"#,
    r#"{"private_key":{"inline_string":"PLANTED"},"password":{"inline_bytes":"UExBTlRFRA=="},"pkcs12":{"inline_bytes":"UExBTlRFRA=="}}"#,
    r#"{"session_ticket_keys":{"keys":[{"inline_bytes":"UExBTlRFRA=="},{"inline_string":"PLANTED"}]}}"#,
    r#"{"sessionTicketKeys":{"keys":[{"inlineBytes":"UExBTlRFRA=="}]},"privateKey":{"inlineString":"PLANTED"}}"#,
    r#"{"generic_secret":{"secret":{"inline_string":"PLANTED"},"secrets":{"a":{"inline_bytes":"UExBTlRFRA=="}}}}"#,
    r#"{"credentials":{"client_id":"x","token_secret":{"inline_string":"PLANTED"},"hmac_secret":{"inline_bytes":"UExBTlRFRA=="}}}"#,
    r#"{"request_headers_to_add":[{"header":{"key":"authorization","value":"Bearer PLANTED"}},{"header":{"key":"x-api-key","raw_value":"UExBTlRFRA=="}}]}"#,
    r#"{"headers":{"request":{"set":{"Authorization":"Basic PLANTED","X-Api-Key":"PLANTED","cookie":"id=PLANTED"}}}}"#,
    r#"{"keys":[{"kty":"oct","k":"PLANTED"},{"kty":"RSA","n":"abc","d":"PLANTED","p":"PLANTED","q":"PLANTED","dp":"PLANTED","dq":"PLANTED","qi":"PLANTED"}]}"#,
    r#"{"local_jwks":{"inline_string":"{\"keys\":[{\"kty\":\"oct\",\"k\":\"PLANTED\"}]}"}}"#,
    r#"{"auths":{"registry":{"username":"u","password":"PLANTED","auth":"UExBTlRFRA=="}}}"#,
    r#"{"password":"PLANTED","clientSecret":"PLANTED","access_token":"PLANTED","apiKey":"PLANTED","client-key-data":"PLANTED"}"#,
    r#"{"DB_PASSWORD":"PLANTED","token":"PLANTED-x","secret":"PLANTED!","pin_password":1234567}"#,
    r#"{"kubeconfig":"users:\n- name: a\n  user:\n    token: PLANTED\n    password: PLANTED\n"}"#,
];

/// What is secret is told only by what follows.
const LATE: [&str; 3] = [
    r#"{"type":"ADDED","object":{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"a\":\"UExBTlRFRA==\"},\"kind\":\"Secret\"}\n"}},"kind":"Secret"}}"#,
    r#"{"env":[{"value":"PLANTED","name":"GITHUB_TOKEN"}]}"#,
    r#"{"credentials":[{"key":"PLANTED","client":"a"}]}"#,
];

fn assert_gone(after: &str) {
    for gone in ["PLANTED", "UExBTlRFR", "1234567", "12345"] {
        assert!(!after.contains(gone), "`{gone}` is left in\n{after}");
    }
}

/// The document with every value a placeholder.
fn outline(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.iter().map(outline).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), outline(value)))
            .collect(),
        Value::String(_) => "".into(),
        other => {
            if other.is_number() {
                0.into()
            } else {
                other.clone()
            }
        }
    }
}

#[test]
fn structure_tells_secrets_in_json_and_stays() {
    for json in EARLY.into_iter().chain(LATE) {
        let value: serde_json::Value = serde_json::from_str(json).expect("the tests are JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("it was JSON");
        let list = serde_json::json!({"kind": "List", "items": [value]}).to_string();
        for (id, document) in [
            ("k8s/all.json", json),
            ("k8s/all.json", &list),
            ("proxies/shop/cart-1/config_dump.json", &pretty),
            ("logs/shop/cart-1/app.log", json),
        ] {
            let after = clean(id, document);
            assert_gone(&after);
            let [after, before] =
                [&after, document].map(|d| outline(&serde_json::from_str(d).expect("still JSON")));
            assert_eq!(after, before);
        }
    }
}

#[test]
fn structure_tells_secrets_in_json_inside_strings() {
    for json in EARLY.into_iter().chain(LATE) {
        let applied = serde_json::json!({"kind": "Pod", "metadata": {"annotations": {"a": json}}})
            .to_string();
        let deeper = serde_json::json!({"message": format!("got {applied}")}).to_string();
        for (id, document) in [
            ("k8s/pods.json", applied.clone()),
            ("istiod/istiod-1/debug/configz.json", deeper.clone()),
            ("logs/shop/cart-1/app.log", format!("info\n{deeper}\n")),
            ("k8s/pods.yaml", format!("a:\n- b: |\n    {json}\n- c: d\n")),
            ("k8s/pods.yaml", format!("a:\n- b: {applied}\n")),
            (
                "k8s/pods.yaml",
                format!("a:\n- b: {}\n", serde_json::json!(json)),
            ),
        ] {
            assert_gone(&clean(id, &document));
        }
    }
}

#[test]
fn a_document_that_ends_anywhere_gives_no_secrets_away() {
    for json in EARLY {
        for end in 0..json.len() {
            assert_gone(&clean("k8s/all.json", &json[..end]));
            assert_gone(&clean("logs/shop/cart-1/app.log", &json[..end]));
        }
    }
}

const YAML: [(&str, &str); 20] = [
    (
        "apiVersion: v1\ndata:\n  a: UExBTlRFRA==\n  b: UExBTlRFRFBMQU5URUQ=\nkind: Secret\nmetadata:\n  name: a\n",
        "apiVersion: v1\ndata:\n  a: '[redacted]'\n  b: '[redacted]'\nkind: Secret\nmetadata:\n  name: a\n",
    ),
    (
        "kind: Secret\nstringData:\n  a: |\n    PLANTED one\n\n    PLANTED\n  b: \"PLANTED\"\n  c: 'x'\n  d: ab\ntype: Opaque\n",
        "kind: Secret\nstringData:\n  a: |\n    [redacted]\n\n    *******\n  b: \"*******\"\n  c: '*'\n  d: _\ntype: Opaque\n",
    ),
    (
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: UExBTlRFRA==\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\nkind: List\n",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: '[redacted]'\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\nkind: List\n",
    ),
    (
        "kind: ConfigMap\ndata:\n  a: b\n---\nkind: Secret # x\ndata: {a: UExBTlRFRA==, \"b\": \"UExBTlRFRA==\"}\n---\nkind: Pod\n",
        "kind: ConfigMap\ndata:\n  a: b\n---\nkind: Secret # x\ndata: {a: '[redacted]', \"b\": \"[redacted]\"}\n---\nkind: Pod\n",
    ),
    (
        "{kind: Secret, data: {a: UExBTlRFRA==}}\n",
        "{kind: Secret, data: {a: '[redacted]'}}\n",
    ),
    (
        "\"kind\": \"Secret\"\n\"data\":\n  \"a\": \"UExBTlRFRA==\"\n",
        "\"kind\": \"Secret\"\n\"data\":\n  \"a\": \"[redacted]\"\n",
    ),
    (
        "kind: Secret\ndata:\n  a:\n    UExBTlRFRA==\n  b: UExBTlRFRA==\n    UExBTlRFRA==\n  c: x\n",
        "kind: Secret\ndata:\n  a:\n    '[redacted]'\n  b: '[redacted]'\n    \n  c: _\n",
    ),
    (
        "x: &s PLANTED-here\nkind: Secret\nstringData:\n  a: *s\n",
        "x: &s '[redacted]'\nkind: Secret\nstringData:\n  a: *s\n",
    ),
    (
        "kind: Secret\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"data\":{\"a\":\"UExBTlRFRA==\"},\"kind\":\"Secret\"}\n  name: x\n",
        "kind: Secret\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      [redacted]\n  name: x\n",
    ),
    (
        "env:\n- name: DB_PASSWORD\n  value: PLANTED\n- name: A\n  value: b\n- value: \"PLANTED\"\n  name: X_TOKEN\n- name: C_TOKEN\n  valueFrom:\n    secretKeyRef: {name: a, key: b}\n",
        "env:\n- name: DB_PASSWORD\n  value: '*****'\n- name: A\n  value: b\n- value: \"*******\"\n  name: X_TOKEN\n- name: C_TOKEN\n  valueFrom:\n    secretKeyRef: {name: a, key: b}\n",
    ),
    (
        "env:\n  - {name: DB_PASSWORD, value: PLANTED}\n",
        "env:\n  - {name: DB_PASSWORD, value: '*****'}\n",
    ),
    (
        "args:\n- --password=PLANTED,x\n- --token\n- PLANTED-token-x\n- --port\n- \"1\"\n",
        "args:\n- --password=*********\n- --token\n- '[redacted]'\n- --port\n- \"1\"\n",
    ),
    (
        "args: [--password=PLANTED, a, --token, PLANTED-token]\n",
        "args: [--password=*******, a, --token, '[redacted]']\n",
    ),
    (
        "private_key:\n  inline_string: |\n    PLANTED\n    PLANTED-PLANTED\npassword: {inline_string: PLANTED}\n",
        "private_key:\n  inline_string: |\n    *******\n    [redacted]\npassword: {inline_string: '*****'}\n",
    ),
    (
        "headers:\n  request:\n    set:\n      authorization: Bearer PLANTED-token\n      x-api-key: PLANTED\n    add:\n      cookie: id=PLANTED-cookie\n",
        "headers:\n  request:\n    set:\n      authorization: Bearer [redacted]\n      x-api-key: '*****'\n    add:\n      cookie: '[redacted]'\n",
    ),
    (
        "data:\n  values.yaml: |\n    db:\n      password: PLANTED\n    env:\n    - name: A_SECRET\n      value: PLANTED-secret\n",
        "data:\n  values.yaml: |\n    db:\n      password: '*****'\n    env:\n    - name: A_SECRET\n      value: '[redacted]'\n",
    ),
    (
        "data:\n  values.yaml: \"db:\\n  password: PLANTED-here\\nenv:\\n- name: A_SECRET\\n  value: \\\"PLANTED\\\"\\n\"\n",
        "data:\n  values.yaml: \"db:\\n  password: '[redacted]'\\nenv:\\n- name: A_SECRET\\n  value: \\\"*******\\\"\\n\"\n",
    ),
    (
        "token: eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.UExBTlRFRA # x\nurl: a://b:PLANTEDPLANTED@c\nl: [a://b:PLANTEDPLANTED@c]\n",
        "token: '[redacted]' # x\nurl: a://b:[redacted]@c\nl: [a://b:**********@c]\n",
    ),
    (
        "kind: ConfigMap\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"env\":[{\"name\":\"A_TOKEN\",\"value\":\"PLANTED\"}]}\n",
        "kind: ConfigMap\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"env\":[{\"name\":\"A_TOKEN\",\"value\":\"*******\"}]}\n",
    ),
    (
        "apiVersion: v1\r\nkind: Secret\r\ndata:\r\n  a: UExBTlRFRA==\r\n",
        "apiVersion: v1\r\nkind: Secret\r\ndata:\r\n  a: '[redacted]'\r\n",
    ),
];

#[test]
fn structure_tells_secrets_in_yaml_and_stays() {
    for (before, after) in YAML {
        for id in ["k8s/all.yaml", "cluster/k8s-resources", "k8s/deep/x.yml"] {
            assert_eq!(clean(id, before), after, "{before}");
        }
    }
}

#[test]
fn yaml_inside_json_strings_is_read_too() {
    for (yaml, _) in YAML {
        let json = serde_json::json!({"kind": "ConfigMap", "data": {"values": yaml}}).to_string();
        assert_gone(&clean("k8s/configmaps.json", &json));
    }
}

#[test]
fn yaml_that_no_parser_takes_gives_no_secrets_away() {
    for (yaml, _) in YAML {
        assert_gone(&clean(
            "k8s/all.yaml",
            &format!("{yaml}\n---\na: [}}\n  - \"\n"),
        ));
        assert_gone(&clean("k8s/all.yaml", &format!("\t- x: [\n---\n{yaml}")));
    }
    // Cut off before its kind is told.
    assert_gone(&clean(
        "k8s/all.yaml",
        "kind: List\nitems:\n- apiVersion: v1\n  data:\n    a: UExBTlRFRA==\n    b: UExBTlRFR",
    ));
}
