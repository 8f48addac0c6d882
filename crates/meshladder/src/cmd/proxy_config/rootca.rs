//! `proxy-config rootca-compare`: whether two proxies trust a common root.

use std::collections::BTreeSet;
use std::io::Write;

use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_output::tables::secret;

use super::index;
use crate::args::Global;
use crate::cmd::{live, source};
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome};
use crate::out;

pub(super) fn run(global: &Global, first: &str, second: &str) -> Outcome {
    let (snapshot, namespace) = if global.source.is_empty() {
        live::two_proxies(global, [first, second])?
    } else {
        (source::snapshot(global)?, global.namespace.clone())
    };
    let roots = |target| roots(&snapshot, namespace.as_deref(), target);
    let (a, b) = (roots(first)?, roots(second)?);
    if a.is_disjoint(&b) {
        let message = format!(
            "{first} and {second} trust no common root certificate: they cannot speak mTLS with each other"
        );
        return Err(Failure::new(ISTIOCTL_ERROR, message));
    }
    let mut out = out::stdout();
    writeln!(
        out,
        "{first} and {second} trust {} common root certificate(s)",
        a.intersection(&b).count()
    )?;
    out.flush()?;
    Ok(0)
}

/// The fingerprints of the root certificates of a proxy.
fn roots(
    snapshot: &Snapshot,
    namespace: Option<&str>,
    target: &str,
) -> Result<BTreeSet<String>, Failure> {
    let proxy = source::find(snapshot, target, namespace, Shape::ConfigDump)?;
    let document = source::document(snapshot, &proxy, Shape::ConfigDump)?;
    let roots = secret::root_fingerprints(&index(&document, &[Section::Secrets])?);
    if roots.is_empty() {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            format!("{proxy} has no readable ROOTCA secret"),
        ));
    }
    Ok(roots)
}
