//! What a description is made from.

use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_collect::live::{Choice, ProxyWish, Purpose};
use meshladder_judge::describe::concerned;
use meshladder_mesh::Mesh;

use super::{
    ADMIN, STEP, choice, connect_like_istioctl, in_sources, logs, namespace, read,
    unless_interrupted, wish,
};
use crate::args::Global;
use crate::args::cluster::Reading;
use crate::cmd::describe::{described, scope};
use crate::exit::Failure;

/// The objects, the proxies that the thing is about, and of a sample of others how they see its
/// endpoints. Also the namespace it was looked for in: as with kubectl that of the context, unless
/// another is named.
pub(in crate::cmd) fn describe(
    global: &Global,
    text: &str,
    own: Option<String>,
    reading: &Reading,
) -> Result<(Snapshot, Option<String>), Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let of_context = || (!global.all_namespaces).then(|| session.namespace().to_owned());
    let own = own
        .or_else(|| namespace(global).map(str::to_owned))
        .or_else(of_context);
    let logs = logs(reading);
    let snapshot = session.objects(&wish(global, Purpose::Describe, Some(logs)))?;
    let snapshot = if let Some(proxies) = &reading.proxies {
        let chosen = choice(global, &snapshot, Some(proxies))?;
        read(&mut session, snapshot, chosen, Some(logs), false)?
    } else {
        let mesh = Mesh::build(&snapshot);
        let object = described(&scope(text, own.as_deref(), &snapshot, &mesh)?);
        let pods = concerned(&mesh, &object).into_iter().take(STEP);
        let pods = in_sources(
            &snapshot,
            pods.map(|pod| (pod.namespace.into(), pod.name.into())),
        );
        let snapshot = read(
            &mut session,
            snapshot,
            Some(Choice::These(pods)),
            Some(logs),
            false,
        )?;
        let (choice, shapes) = (Choice::Sample(STEP, None), vec![Shape::Clusters]);
        let callers = ProxyWish {
            choice,
            shapes,
            sections: Vec::new(),
            port: ADMIN,
            logs: None,
            is_enough: false,
        };
        session.proxies(snapshot, &callers)?
    };
    Ok((unless_interrupted(&session, snapshot)?, own))
}
