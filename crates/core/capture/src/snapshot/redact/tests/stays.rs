//! What looks like a secret and is none.

use super::clean;

#[test]
fn harmless_text_stays_as_it_is() {
    for text in [
        "-----BEGIN CERTIFICATE-----\nMIIC/zCCAeegAwIBAgIBATANBgkqhkiG9w0BAQsFADAYMRYwFAYDVQQKEw1j\n-----END CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----\n",
        "expected -----BEGIN PRIVATE KEY----- in the file",
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
        "spiffe://cluster.local/ns/shop/sa/cart",
        "kubernetes://shop-cert",
        "https://istiod.istio-system.svc:15012/debug/syncz?proxy=a@b",
        "http://[::1]:8080/x@y",
        "docker://docker.io/library/nginx:1.27@sha256:0123456789abcdef",
        "docker-pullable://nginx@sha256:0123456789abcdef0123456789abcdef",
        "postgres://app:$(DB_PASSWORD)@db/x",
        "outbound|8080|v1|cart.shop.svc.cluster.local",
        "2026-11-15T06:30:43Z/7f3c2e1a-0b1c-4f6e-9d58-4d1c9b7e3a55",
        "invalid bearer token; WWW-Authenticate: Bearer realm=\"shop\"",
        "Bearer ",
        "basic authentication is off, Basic realm=x",
        "failed to fetch token: connection refused",
        "password: incorrect",
        "could not load secret: not found",
        "error\tauthorization\tProcessed authorization policy: failed",
        "secret=istio-system/cacerts not found",
        "GET /tokens/list?page=2&sort=key HTTP/1.1",
        "--log_output_level=authorization:debug --tokenAudience=istio-ca --secret-name shop-cert",
        "/var/run/secrets/tokens/istio-token",
        "Pulled image docker.io/shop/refresh-token:1.2.3 and auth-token:v2",
        "curl -u admin http://x and curl --user $USER:$PASSWORD https://y",
        "curl -v http://cart.shop:8080/services/TransactionProcessor/balance",
        "GET /api/webhooks/list HTTP/1.1",
        "https://discord.com/api/webhooks/docs and https://hooks.slack.com/services/",
        "https://user.name@example.com/x",
        "[redacted]",
        "W3JlZGFjdGVkXQ==",
        "user@example.com wrote to bob@example.com: see http://x/y",
    ] {
        for id in [
            "logs/shop/cart-1/app.log",
            "istiod/istiod-1/metrics.txt",
            "proxies/shop/cart-1/stats.txt",
        ] {
            assert_eq!(clean(id, text), text);
        }
        let json = serde_json::json!({"configs": [{"a": text, "b": {"name": text}, "c": [text]}]})
            .to_string();
        assert_eq!(clean("proxies/shop/cart-1/config_dump.json", &json), json);
        let deep = serde_json::json!({"kind": "ConfigMap", "data": {"a": json}}).to_string();
        assert_eq!(clean("k8s/configmaps.json", &deep), deep);
    }
}

#[test]
fn harmless_members_stay_as_they_are() {
    for json in [
        r#"{"env":[{"name":"JWT_POLICY","value":"third-party-jwt"},{"name":"PILOT_CERT_PROVIDER","value":"istiod"}]}"#,
        r#"{"env":[{"name":"CA_ADDR","value":"istiod.istio-system.svc:15012"},{"name":"TOKEN_AUDIENCES","value":"istio-ca"}]}"#,
        r#"{"env":[{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}]}"#,
        r#"{"env":[{"name":"DB_PASSWORD_FILE","value":"/run/secrets/db"},{"name":"GOOGLE_APPLICATION_CREDENTIALS","value":"/var/run/key.json"}]}"#,
        r#"{"env":[{"name":"REQUIRE_3P_TOKEN","value":"false"},{"name":"API_TOKEN","value":"$(OTHER)"},{"name":"SECRET_NAME","value":"x"}]}"#,
        r#"{"env":[{"name":"ENABLE_AUTH","value":"true"},{"name":"X_PW","valueFrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}"#,
        r#"{"tls":{"credentialName":"shop-cert","mode":"SIMPLE"},"imagePullSecrets":[{"name":"regcred"}],"secretName":"a"}"#,
        r#"{"name":"istio-token","projected":{"sources":[{"serviceAccountToken":{"audience":"istio-ca","path":"istio-token"}}]}}"#,
        r#"{"tls_certificate":{"certificate_chain":{"inline_bytes":"LS0tLS1CRUdJTiBDRVJU"},"private_key":{"inline_bytes":"W3JlZGFjdGVkXQ=="}}}"#,
        r#"{"secret":{"name":"ROOTCA","validation_context":{"trusted_ca":{"inline_bytes":"LS0tLS1CRUdJTiBDRVJU"}}}}"#,
        r#"{"private_key":{"filename":"/etc/certs/key.pem"},"privateKey":"/etc/certs/key.pem","password":{"environment_variable":"X"}}"#,
        r#"{"tls":{"mode":"SIMPLE","serverCertificate":"/a","privateKey":"/b"}}"#,
        r#"{"token_secret":{"name":"token","sds_config":{"ads":{}}},"tls_certificate_sds_secret_configs":[{"name":"default"}]}"#,
        r#"{"from_headers":[{"name":"Authorization","value_prefix":"Bearer "}],"forward_payload_header":"x-token"}"#,
        r#"{"request_headers_to_add":[{"header":{"key":"authorization","value":"%REQ(X-AUTH)%"}}],"allow":["authorization","cookie"]}"#,
        r#"{"match":{"headers":{"cookie":{"regex":"^(.*?;)?(user=jason)(;.*)?$"}}},"httpCookie":{"name":"user","ttl":"0s"}}"#,
        r#"{"token_bucket":{"max_tokens":100,"tokens_per_fill":100},"secret":"shop-cert","token":{"aud":"istio-ca"}}"#,
        r#"{"keys":[{"kty":"RSA","alg":"RS256","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4","e":"AQAB","kid":"d"}]}"#,
        r#"{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#,
        r#"{"metadata":{"labels":{"token":"issuer-v1","app":"x"}},"spec":{"selector":{"token":"issuer-v1","password":"x1"}}}"#,
        r#"{"jwtRules":[{"fromHeaders":[{"name":"x-token","prefix":"Token "},{"name":"Authorization","prefix":"Bearer "}]}]}"#,
        r#"{"match":[{"headers":{"authorization":{"prefix":"Bearer "},"x-token":{"regex":".+"}}}],"when":[{"key":"request.headers[x-token]","values":["*"]}]}"#,
        r#"{"rules":[{"to":[{"operation":{"paths":["/api/token/1234","/token=*","/reset?token=*","/Secret/*","*/api_key:rotate"]}}]}]}"#,
        r#"{"kind":"ReferenceGrant","spec":{"to":[{"group":"","kind":"Secret","name":"shop-cert"}]}}"#,
        r#"{"kind":"ConfigMap","apiVersion":"v1","data":{"mesh":"trustDomain: cluster.local","key":"value"}}"#,
        r#"{"kind":"Secret","metadata":{"name":"a","uid":"5cca085a-7b1b-40e8-ba8e-1e7925c195e7"},"data":{"tls.key":""},"type":"kubernetes.io/tls"}"#,
        r#"{"metadata":{"resourceVersion":"362","continue":"abc","uid":"5cca085a-7b1b-40e8-ba8e-1e7925c195e7"},"version_info":"2026-11-15T06:30:43Z/12"}"#,
        r#"[{"proxy":"a.b","nonce":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","cluster_sent":"oRwB3Mz1f0s=3f81d4fae"}]"#,
    ] {
        for id in [
            "k8s/all.json",
            "proxies/shop/cart-1/config_dump.json",
            "istiod/istiod-1/debug/x.json",
        ] {
            assert_eq!(clean(id, json), json);
        }
        let inside =
            serde_json::json!({"metadata": {"annotations": {"applied": json}}}).to_string();
        assert_eq!(clean("k8s/all.json", &inside), inside);
        assert_eq!(
            clean("k8s/all.yaml", &format!("a: 1\nb: {json}\n")),
            format!("a: 1\nb: {json}\n")
        );
    }
}

#[test]
fn ports_and_templates_behind_a_flag_stay() {
    let yaml = "args:\n- istio-iptables\n- \"-p\"\n- {{ .MeshConfig.ProxyListenPort | default \"15001\" | quote }}\n- \"-u\"\n- '1337'\n";
    assert_eq!(clean("k8s/a.yaml", yaml), yaml);
    let json =
        r#"{"args":["istio-iptables","-p","15001","-z","15006","-u","1337","-m","REDIRECT"]}"#;
    assert_eq!(clean("k8s/a.json", json), json);
}

#[test]
fn labels_in_block_style_stay() {
    let yaml = "kind: Service\nmetadata:\n  labels:\n    token: issuer-v1\nspec:\n  selector:\n    token: issuer-v1\n    secret: Foo1\n";
    assert_eq!(clean("k8s/a.yaml", yaml), yaml);
}
