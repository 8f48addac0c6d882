//! Secrets that show by their shape or by what stands before them, in every kind of document.

use super::clean;

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx4UbaDzY9gzVMfHLfGrPLANTED\nd3w7qGZkPLANTEDkC5QyXo0CAwEAAQ==\n-----END RSA PRIVATE KEY-----\n";
const PEM_BASE64: &str = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBeDRVYgotLS0tLUVORCBSU0EgUFJJVkFURSBLRVktLS0tLQo=";
/// A key behind a certificate, so that it starts at another byte of a group.
const BUNDLE_BASE64: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQotLS0tLUJFR0lOIFBSSVZBVEUgS0VZLS0tLS0KTUlJRXZRSUJBREFOCi0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K";
const JWT: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50In0.c2lnbmF0dXJlUExBTlRFRA";
const ENCRYPTED_JWT: &str = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4.XFBoMYUZodetZdvT";

/// What is planted, and what must be gone of it.
const SECRETS: [(&str, &str); 53] = [
    (PEM, "PLANTED"),
    (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASPLANTED",
        "PLANTED",
    ),
    (
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nPLANTEDMIIEowIBAAKC\n-----END EC PRIVATE KEY-----",
        "PLANTED",
    ),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEPLANTED\n-----END OPENSSH PRIVATE KEY-----",
        "PLANTED",
    ),
    (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBFPLANTEDAEIAJ\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
        "PLANTED",
    ),
    (PEM_BASE64, "TUlJRW93"),
    (PEM_BASE64, "NSUlFb3dJQkFB"),
    (BUNDLE_BASE64, "TUlJRXZRSUJB"),
    (JWT, "c2lnbmF0dXJl"),
    (JWT, "eyJpc3MiOi"),
    ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.", "eyJpc3MiOi"),
    (ENCRYPTED_JWT, "5eym8TW"),
    ("Authorization: Bearer 7fPLANTED0a", "7fPLANTED0a"),
    (
        "authorization: bearer PLANTED.opaque-token-of-some-length",
        "PLANTED",
    ),
    ("Authorization: Basic dXNlcjpwbGFudGVk", "dXNlcjpwbGFudGVk"),
    (
        "got Basic dTpwbGFudGVkcGxhbnRlZA== from 10.0.0.1",
        "dTpwbGFudGVk",
    ),
    (
        "postgres://app:PLANTEDpass@db.shop:5432/cart?sslmode=disable",
        "PLANTED",
    ),
    ("redis://:PLANTED@cache:6379", "PLANTED"),
    ("amqps://user:p%40PLANTED@mq.example.com/vhost", "PLANTED"),
    ("app:PLANTED@tcp(db.shop:3306)/cart", "PLANTED"),
    ("GET /cb?access_token=PLANTED&state=1 HTTP/1.1", "PLANTED"),
    ("GET /blob?sv=2020&sig=PLANTED%3D HTTP/1.1", "PLANTED"),
    ("GET /x?a=b&api_key=PLANTED HTTP/2", "PLANTED"),
    (
        "/dl?X-Amz-Credential=x&X-Amz-Signature=PLANTED00",
        "PLANTED",
    ),
    ("/login?user=a&password=PLANTED&next=/", "PLANTED"),
    ("mysqld --password=PLANTED --port=3306", "PLANTED"),
    ("agent --token PLANTED1 --v=2", "PLANTED"),
    (
        "Server=db;User Id=app;Password=PLANTED;Encrypt=true",
        "PLANTED",
    ),
    (
        "AccountName=shop;AccountKey=PLANTED==;EndpointSuffix=core",
        "PLANTED",
    ),
    ("SMTP_PW=PLANTED1 ./run", "PLANTED"),
    ("export REDIS_AUTH=PLANTED", "PLANTED"),
    ("curl -u admin:PLANTED http://api.shop/x", "PLANTED"),
    ("curl -sS --user admin:PLANTED http://api.shop/x", "PLANTED"),
    (
        "curl -X POST -d a --user=admin:PLANTED http://api.shop/x",
        "PLANTED",
    ),
    ("curl -k -uadmin:PLANTED http://api.shop/x", "PLANTED"),
    (
        "https://hooks.slack.com/services/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",
        "PLANTED",
    ),
    (
        "[x] \"POST /services/T0123ABCD/B0456EFGH/PLANTEDplantedPLANTEDpla HTTP/1.1\" 200 - hooks.slack.com",
        "PLANTED",
    ),
    (
        "https://discord.com/api/webhooks/123456789012345678/PLANTED-abcdefghijklmnopqrstuvwxyz0123",
        "PLANTED",
    ),
    (
        "https://shop.webhook.office.com/webhookb2/5cca085a-7b1b@1e79/IncomingWebhook/PLANTED0123456789/5cca",
        "PLANTED",
    ),
    (
        "https://hooks.zapier.com/hooks/catch/123456/PLANTED/",
        "PLANTED",
    ),
    (
        "https://api.telegram.org/bot123456789:PLANTEDplantedPLANTEDplantedPLANTED/sendMessage",
        "PLANTED",
    ),
    (
        "https://events.pagerduty.com/integration/PLANTED0123456789abcdef01234567/enqueue",
        "PLANTED",
    ),
    (
        "https://PLANTED0123456789abcdef@o1.ingest.example/42",
        "PLANTED",
    ),
    (
        "Proxy-Authorization: Basic dXNlcjpwbGFudGVk",
        "dXNlcjpwbGFudGVk",
    ),
    ("ghp_0123456789PLANTED0123456789abcdefghi", "PLANTED"),
    ("glpat-PLANTED0123456789ab", "PLANTED"),
    ("xoxb-123456789012-PLANTED", "PLANTED"),
    ("AKIAPLANTED012345678", "PLANTED"),
    ("AIzaPLANTED0123456789012345678901234567", "PLANTED"),
    ("hvs.PLANTED0123456789012345", "PLANTED"),
    ("admin:{SHA}PLANTEDq3ka2PcAXzhKaNNSBa/E=", "PLANTED"),
    (
        "bob:$2y$10$N9qo8uLOickgx2ZMRZoMyePLANTEDzwyqPLANTED0123456789012",
        "PLANTED",
    ),
    (
        "H4sIAAAAAAAAPLANTEDy0123456789012345678901234567890123456789012345678901234567890123456789",
        "PLANTED",
    ),
];

/// A kind of document with a text somewhere in it.
type Document = (&'static str, fn(&str) -> String);

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("any text can be a JSON string")
}

fn indented(text: &str) -> String {
    format!("    {}\n", text.trim_end().replace('\n', "\n    "))
}

fn last_applied(text: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{"a":{}}}}}"#,
        quoted(text)
    )
}

const DOCUMENTS: [Document; 16] = [
    ("k8s/configmaps.json", |s| {
        format!(
            r#"{{"kind":"List","items":[{{"kind":"ConfigMap","data":{{"a":{}}}}}]}}"#,
            quoted(s)
        )
    }),
    ("k8s/configmaps.json", |s| {
        format!(
            r#"{{"kind":"ConfigMap","metadata":{{"annotations":{{"kubectl.kubernetes.io/last-applied-configuration":{}}}}}}}"#,
            quoted(&last_applied(s))
        )
    }),
    ("k8s/deployments.apps.json", |s| {
        format!(
            "{{\n \"env\": [\n  {{\n   \"name\": \"URL\",\n   \"value\": {}\n  }}\n ]\n}}",
            quoted(s)
        )
    }),
    ("k8s/cm.yaml", |s| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n{}  b: c\n",
            indented(s)
        )
    }),
    ("k8s/cm.yaml", |s| {
        format!(
            "kind: ConfigMap\ndata:\n  a: {}\n  b: c\n---\nkind: Pod\n",
            quoted(s)
        )
    }),
    ("k8s/all.yaml", |s| {
        format!(
            "kind: List\nitems:\n- kind: Pod\n  spec:\n    args: [a, {}]\n",
            quoted(s)
        )
    }),
    ("cluster/k8s-resources", |s| {
        format!(
            "items:\n- metadata:\n    annotations:\n      kubectl.kubernetes.io/last-applied-configuration: |\n        {}\n",
            last_applied(s)
        )
    }),
    ("proxies/shop/cart-1/config_dump.json", |s| {
        format!(
            r#"{{"configs":[{{"@type":"x","a":{{"inline_string":{}}}}}]}}"#,
            quoted(s)
        )
    }),
    ("proxies/shop/cart-1/server_info.json", |s| {
        format!(
            r#"{{"command_line_options":{{"config_yaml":{}}}}}"#,
            quoted(&format!("node:\n  id: x\nadmin: {}\n", quoted(s)))
        )
    }),
    ("proxies/shop/cart-1/clusters.json", |s| {
        format!(r#"{{"cluster_statuses":[{{"name":{}}}]}}"#, quoted(s))
    }),
    ("proxies/shop/cart-1/stats.txt", |s| {
        format!("cluster.a.upstream: 1\nx: {s}\nb: 2\n")
    }),
    ("istiod/istiod-1/debug/configz.json", |s| {
        format!("[{{\"spec\":{{\"a\":[1,{}]}}}}]", quoted(s))
    }),
    ("istiod/istiod-1/metrics.txt", |s| {
        format!("pilot_xds{{type=\"{}\"}} 1\n", s.replace('\n', "\\n"))
    }),
    ("logs/shop/cart-1/app.log", |s| {
        format!("2026-11-15T06:30:43Z info started\n{s}\nnext line\n")
    }),
    ("logs/shop/cart-1/app.log", |s| {
        format!(
            "{{\"level\":\"info\",\"msg\":{}}}\n{{\"level\":\"info\"}}\n",
            quoted(s)
        )
    }),
    ("notes", |s| format!("something else: {}\n", quoted(s))),
];

#[test]
fn no_secret_is_left_in_any_document() {
    for (secret, gone) in SECRETS {
        for (id, document) in DOCUMENTS {
            let before = document(secret);
            let after = clean(id, &before);
            assert!(!after.contains(gone), "`{gone}` is left in {id}:\n{after}");
            assert_eq!(
                after.lines().count(),
                before.lines().count(),
                "{id}:\n{after}"
            );
        }
    }
}

#[test]
fn only_the_secret_goes() {
    for (before, after) in [
        (
            "postgres://app:hunter2hunter2@db:5432/x",
            "postgres://app:[redacted]@db:5432/x",
        ),
        ("redis://:short@cache", "redis://:*****@cache"),
        (
            "GET /a?token=abc123def456&b=1 HTTP/1.1",
            "GET /a?token=[redacted]&b=1 HTTP/1.1",
        ),
        (
            "authorization: Bearer 0123456789abcdef",
            "authorization: Bearer [redacted]",
        ),
        ("x Password=abc;Encrypt=true", "x Password=***;Encrypt=true"),
        ("run --password=abc --port=1", "run --password=*** --port=1"),
        ("{password=abc, user=x}", "{password=***, user=x}"),
        (
            "'authorization', 'Bearer 0123456789abcdef'",
            "'authorization', 'Bearer [redacted]'",
        ),
        (
            "'cookie', 'session=0123456789abcdef'",
            "'cookie', '[redacted]'",
        ),
        ("> Cookie: a=0123; b=4567", "> Cookie: [redacted]"),
        (
            "curl -u bob:hunter2 http://x",
            "curl -u bob:******* http://x",
        ),
        (
            "POST https://hooks.slack.com/services/T0123ABCD/B0456EFGH/hunter2hunter2hunter2aa",
            "POST https://hooks.slack.com/services/T0123ABCD/B0456EFGH/[redacted]",
        ),
        (
            "https://discord.com/api/webhooks/123456789012345678/hunter2hunter2hunter2",
            "https://discord.com/api/webhooks/123456789012345678/[redacted]",
        ),
        ("password: hunter2 for bob", "password: ******* for bob"),
        (
            "map[Cookie:[a=b; c=d] password:hunter2 user:x]",
            "map[Cookie:[********] password:******* user:x]",
        ),
        (
            "authorization: Bearer abc def",
            "authorization: Bearer *** def",
        ),
        (
            "{\"url\":\"https:\\/\\/u:hunter2@h\"}",
            "{\"url\":\"https:\\/\\/u:*******@h\"}",
        ),
    ] {
        assert_eq!(clean("logs/shop/cart-1/app.log", before), after);
    }
    let pem = clean("logs/a/b/c.log", &format!("before\n{PEM}after\n"));
    assert_eq!(
        pem,
        "before\n[redacted]\n[redacted]\n[redacted]\n[redacted]\nafter\n"
    );
}
