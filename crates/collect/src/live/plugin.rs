//! Credential plugins: programs that a kubeconfig names and that print who we are, such as `aws eks
//! get-token`.
//!
//! They are run here and not by the client library, which runs each three times, waits for it
//! without end and puts what it printed into messages.

use std::io::{IsTerminal, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use kube::config::{ExecConfig, ExecInteractiveMode};
use meshladder_text::time::Time;
use serde_json::{Value, json};

use super::lack::Lack;
use super::pace::Pace;
use crate::error::plain;

/// No credential is larger.
const MAX_OUTPUT: u64 = 1 << 20;

/// How often a plugin that has printed all is asked whether it has ended.
const ENDED_EVERY: Duration = Duration::from_millis(5);

/// What a plugin printed.
pub(crate) struct Credential {
    pub(crate) token: Option<String>,
    /// A certificate and its key, as PEM.
    pub(crate) certificate: Option<(String, String)>,
    /// When it is no longer good.
    pub(crate) until: Option<Time>,
}

/// Runs a plugin to its end, or to that of all our time: it may wait for somebody to log in.
pub(crate) async fn run(config: &ExecConfig, pace: &Pace) -> Result<Credential, Lack> {
    let name = config.command.as_deref().unwrap_or_default();
    let failed = |what: String| Lack::failed(format!("the credential plugin {name} {what}"));
    let child = command(config).map_err(&failed)?.spawn().map_err(|error| {
        let hint = config
            .install_hint
            .as_deref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        failed(format!("cannot be started: {}{hint}", plain(&error)))
    })?;
    let mut running = PluginProcess(child);
    let (status, output) =
        pace.before_the_end(running.finish())
            .await
            .map_err(|lack| match lack {
                Lack::OutOfTime => failed("did not end before --timeout was over".to_owned()),
                lack => lack,
            })?;
    match status {
        Some(status) if !status.success() => Err(failed(format!("failed: {status}"))),
        _ => credential(&output).map_err(|why| failed(why.to_owned())),
    }
}

fn command(config: &ExecConfig) -> Result<Command, String> {
    let program = config
        .command
        .as_deref()
        .filter(|program| !program.is_empty())
        .ok_or("has no command")?;
    let may_ask = std::io::stdin().is_terminal();
    let mode = config.interactive_mode.as_ref();
    if mode == Some(&ExecInteractiveMode::Always) && !may_ask {
        return Err("wants to ask something, and standard input is no terminal".to_owned());
    }
    let is_interactive = may_ask && mode != Some(&ExecInteractiveMode::Never);
    let mut spec = json!({"interactive": is_interactive});
    if let Some(cluster) = config
        .cluster
        .as_ref()
        .filter(|_| config.provide_cluster_info)
    {
        spec["cluster"] = json!(cluster);
    }
    let version = config
        .api_version
        .as_deref()
        .unwrap_or("client.authentication.k8s.io/v1");
    let info = json!({"apiVersion": version, "kind": "ExecCredential", "spec": spec});
    let mut command = Command::new(program);
    let pairs = config
        .env
        .iter()
        .flatten()
        .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)));
    command
        .args(config.args.iter().flatten())
        .envs(pairs)
        .env("KUBERNETES_EXEC_INFO", info.to_string());
    command
        .stdin(if is_interactive {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped());
    Ok(command)
}

/// A plugin that runs; it does not outlive its value.
struct PluginProcess(Child);

impl PluginProcess {
    async fn finish(&mut self) -> (Option<ExitStatus>, Vec<u8>) {
        let stdout = self.0.stdout.take();
        let output =
            tokio::task::spawn_blocking(move || stdout.map(read).unwrap_or_default()).await;
        let status = loop {
            match self.0.try_wait() {
                Ok(None) => tokio::time::sleep(ENDED_EVERY).await,
                ended => break ended.ok().flatten(),
            }
        };
        (status, output.unwrap_or_default())
    }
}

impl Drop for PluginProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(stdout: ChildStdout) -> Vec<u8> {
    let mut output = Vec::new();
    // What was read before an error is judged like the rest.
    let _ = stdout.take(MAX_OUTPUT).read_to_end(&mut output);
    output
}

/// What went wrong is told without what was printed, which may be half a token.
fn credential(output: &[u8]) -> Result<Credential, &'static str> {
    let printed: Value = serde_json::from_slice(output).map_err(|_| "printed no ExecCredential")?;
    let status = &printed["status"];
    let text = |key: &str| {
        status[key]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let credential = Credential {
        token: text("token"),
        certificate: text("clientCertificateData").zip(text("clientKeyData")),
        until: text("expirationTimestamp").and_then(|time| Time::parse(&time)),
    };
    if credential.token.is_none() && credential.certificate.is_none() {
        return Err("printed neither a token nor a certificate");
    }
    Ok(credential)
}
