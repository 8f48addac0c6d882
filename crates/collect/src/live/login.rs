//! Who we are for an API server, renewed when it no longer counts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{Config, ExecConfig};
use meshladder_text::time::Time;
use tokio::sync::Mutex;

use super::connect::chain;
use super::lack::Lack;
use super::pace::Pace;
use super::plugin::{self, Credential};
use crate::error::plain;

/// What is good for less than this is renewed before it is used.
const SOON: i64 = 10;

/// A plugin that always gives what is good for less is not asked for every request.
const LEAST: Duration = Duration::from_secs(20);

/// See the module.
pub(crate) struct Login {
    config: Config,
    renewal: Option<Renewal>,
    current: Mutex<Current>,
}

/// Where new credentials come from. Those that are in the kubeconfig itself do not change.
enum Renewal {
    Plugin(Box<ExecConfig>),
    File(PathBuf),
}

struct Current {
    client: kube::Client,
    until: Option<Time>,
    made: Instant,
    /// Which client it is, so that who was refused with an older one only tries the newer.
    turn: usize,
    /// New credentials were refused like the ones before.
    is_hopeless: bool,
}

/// A client, and which it is.
pub(crate) struct Turn {
    pub(crate) client: kube::Client,
    number: usize,
}

impl Login {
    /// Asks for credentials for the first time.
    pub(crate) async fn new(mut config: Config, pace: &Pace) -> Result<Self, Lack> {
        let renewal = renewal(&mut config);
        let (client, until) = client(&config, renewal.as_ref(), pace).await?;
        let current = Current {
            client,
            until,
            made: Instant::now(),
            turn: 0,
            is_hopeless: false,
        };
        Ok(Self {
            config,
            renewal,
            current: Mutex::new(current),
        })
    }

    /// A client with credentials that still count, as far as is known.
    pub(crate) async fn turn(&self, pace: &Pace) -> Result<Turn, Lack> {
        let mut current = self.current.lock().await;
        let is_over = current
            .until
            .is_some_and(|until| until.seconds <= super::clock::own_now().seconds + SOON);
        if is_over && current.made.elapsed() >= LEAST && self.renewal.is_some() {
            self.replace(&mut current, pace).await?;
        }
        Ok(Turn {
            client: current.client.clone(),
            number: current.turn,
        })
    }

    /// After a refusal: whether there are other credentials to try.
    pub(crate) async fn renew(&self, refused: &Turn, pace: &Pace) -> bool {
        let mut current = self.current.lock().await;
        if current.turn != refused.number {
            return true;
        }
        if self.renewal.is_none() || current.is_hopeless {
            return false;
        }
        current.is_hopeless = true;
        self.replace(&mut current, pace).await.is_ok()
    }

    /// The credentials count, so when they no longer do, new ones are worth a try.
    pub(crate) async fn accepted(&self) {
        self.current.lock().await.is_hopeless = false;
    }

    async fn replace(&self, current: &mut Current, pace: &Pace) -> Result<(), Lack> {
        (current.client, current.until) = client(&self.config, self.renewal.as_ref(), pace).await?;
        (current.made, current.turn) = (Instant::now(), current.turn + 1);
        Ok(())
    }
}

/// Takes out of a configuration what is renewed here.
fn renewal(config: &mut Config) -> Option<Renewal> {
    let auth = &mut config.auth_info;
    if auth.auth_provider.is_some() || auth.username.is_some() {
        return None;
    }
    // "TokenFile … takes precedence over Token", and a token over a plugin.
    if let Some(file) = auth.token_file.take() {
        return Some(Renewal::File(file.into()));
    }
    let plugin = auth.exec.take().filter(|_| auth.token.is_none());
    plugin.map(|plugin| Renewal::Plugin(Box::new(plugin)))
}

async fn client(
    config: &Config,
    renewal: Option<&Renewal>,
    pace: &Pace,
) -> Result<(kube::Client, Option<Time>), Lack> {
    let mut config = config.clone();
    let mut until = None;
    match renewal {
        None => {}
        Some(Renewal::File(path)) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Lack::failed(format!(
                    "cannot read the token file {}: {}",
                    path.display(),
                    plain(&error)
                ))
            })?;
            // Whoever writes a token into a file by hand ends the line.
            config.auth_info.token = Some(text.trim().to_owned().into());
        }
        Some(Renewal::Plugin(plugin)) => {
            let Credential {
                token,
                certificate,
                until: told,
            } = plugin::run(plugin, pace).await?;
            config.auth_info.token = token.map(Into::into);
            if let Some((certificate, key)) = certificate {
                config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
                config.auth_info.client_key_data = Some(STANDARD.encode(key).into());
            }
            until = told;
        }
    }
    let client = kube::Client::try_from(config).map_err(|error| Lack::failed(chain(&error)))?;
    Ok((client, until))
}
