//! Visibility: to which namespaces an object is exported.

use super::policies::selector;
use super::{Mesh, Object};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// Where an object can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export<'m> {
    /// `*`
    Everywhere,
    /// `.`, or the object's own namespace alone.
    OwnNamespace,
    /// These namespaces.
    Namespaces(Vec<&'m str>),
    /// `~`
    Nowhere,
}

const SERVICE_ANNOTATION: &str = "networking.istio.io/exportTo";

impl Mesh {
    /// Where an object (`VirtualService`, `DestinationRule`, `ServiceEntry`, `Service`) can be
    /// seen.
    pub fn export<'m>(&'m self, object: &'m Object) -> Export<'m> {
        let own = object.id.namespace.as_str();
        // "destination rules with workloadSelector should not be exported to other namespaces"
        if object.id.is(Kind::DestinationRule) && selector(object.spec()).is_some() {
            return Export::OwnNamespace;
        }
        let annotation = object
            .annotation(SERVICE_ANNOTATION)
            .filter(|_| object.id.is(Kind::Service));
        let mut names: Vec<&str> = match annotation {
            Some(list) => list.split(',').map(str::trim).collect(),
            None => object.spec_strings("exportTo").collect(),
        };
        if names.is_empty() {
            names = self
                .default_export(object)
                .iter()
                .map(|name| &**name)
                .collect();
        }
        if names.contains(&"*") {
            return Export::Everywhere;
        }
        // "not visible to anyone, ignore all exportTos"
        if names.contains(&"~") {
            return Export::Nowhere;
        }
        let mut namespaces: Vec<_> = names
            .iter()
            .map(|name| if *name == "." { own } else { name })
            .collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        match namespaces.as_slice() {
            [only] if *only == own => Export::OwnNamespace,
            _ => Export::Namespaces(namespaces),
        }
    }

    fn default_export(&self, object: &Object) -> &[Box<str>] {
        match object.kind() {
            Some(Kind::VirtualService) => &self.config.virtual_service_export_to,
            Some(Kind::DestinationRule) => &self.config.destination_rule_export_to,
            _ => &self.config.service_export_to,
        }
    }

    /// Whether clients in a namespace can see an object.
    pub fn is_exported_to(&self, object: &Object, namespace: &str) -> bool {
        match self.export(object) {
            Export::Everywhere => true,
            Export::OwnNamespace => object.id.namespace == namespace,
            Export::Namespaces(names) => names.contains(&namespace),
            Export::Nowhere => false,
        }
    }
}

/// What says where an object is exported to; none when the mesh's default does.
pub fn export_node(object: &Object) -> Option<&Node> {
    if object.is(Kind::Service) {
        object
            .node
            .at(["metadata", "annotations", SERVICE_ANNOTATION])
    } else {
        object.spec_at(["exportTo"])
    }
}

/// The object that says where another one is exported to, and the place: itself, else the mesh's
/// settings.
pub fn hider<'m>(mesh: &'m Mesh, object: &'m Object) -> (&'m Object, &'m Node) {
    let settings = || {
        let map = mesh.objects.find(mesh.config.object.as_ref()?)?;
        Some((map, map.node.at(["data", "mesh"])?))
    };
    let own = export_node(object).map(|node| (object, node));
    own.or_else(settings).unwrap_or((object, &object.node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

    #[test]
    fn export_to_names_the_namespaces_that_see() {
        let default = "kind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: 'defaultVirtualServiceExportTo: [.]'}\n---\n";
        for (config, spec, in_shop, in_tools) in [
            ("", "{}", true, true),
            (default, "{}", true, false),
            (default, "{exportTo: ['*']}", true, true),
            ("", "{exportTo: [.]}", true, false),
            ("", "{exportTo: [tools]}", false, true),
            ("", "{exportTo: [., tools]}", true, true),
            ("", "{exportTo: [~]}", true, true),
            ("", "{exportTo: ['~']}", false, false),
            ("", "{exportTo: ['~', tools]}", false, false),
            ("", "{exportTo: ['~', '*']}", true, true),
        ] {
            let mesh = mesh_of(&format!(
                "{config}kind: VirtualService\nmetadata: {{name: a, namespace: shop}}\nspec: {spec}\n"
            ));
            let object = mesh
                .objects
                .get(Kind::VirtualService, "shop", "a")
                .expect("it is there");
            let seen = (
                mesh.is_exported_to(object, "shop"),
                mesh.is_exported_to(object, "tools"),
            );
            assert_eq!(seen, (in_shop, in_tools), "{config}{spec}");
        }
    }

    #[test]
    fn a_service_says_it_in_an_annotation() {
        let mesh = mesh_of(
            "kind: Service\nmetadata: {name: a, namespace: shop, annotations: {networking.istio.io/exportTo: 'tools, .'}}\n",
        );
        let object = mesh
            .objects
            .get(Kind::Service, "shop", "a")
            .expect("it is there");
        assert_eq!(
            mesh.export(object),
            Export::Namespaces(vec!["shop", "tools"])
        );
        assert!(export_node(object).is_some());
    }
}
