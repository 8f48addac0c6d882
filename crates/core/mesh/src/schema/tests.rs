use super::describe::{FieldType, MessageSchema};
use super::*;
use crate::{Object, ObjectRef};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, DocId};
use meshladder_text::tree::{Node, Value, edit};
use meshladder_text::yaml;

fn mesh_of(yaml: &str) -> Mesh {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", yaml.into());
    Mesh::build(&builder.finish())
}

/// The faults of one object: its kind and `spec`, in one line.
fn of(kind: &str, spec: &str) -> Vec<(Flaw, String)> {
    let known = SCHEMAS
        .iter()
        .find(|known| known.kind.singular() == kind)
        .expect("a kind");
    let (group, version) = (known.kind.group(), known.versions[0]);
    let yaml = format!(
        "apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {{name: a, namespace: shop}}\nspec: {spec}\n"
    );
    let mesh = mesh_of(&yaml);
    faults(&mesh.objects)
        .into_iter()
        .map(|fault| (fault.flaw, fault.place))
        .collect()
}

fn messages(message: &'static MessageSchema, seen: &mut Vec<&'static MessageSchema>) {
    if seen.iter().any(|known| std::ptr::eq(*known, message)) {
        return;
    }
    seen.push(message);
    for field in message.fields {
        let mut of = &field.of;
        while let FieldType::List(inner, ..) | FieldType::Map(_, inner) = of {
            of = inner;
        }
        if let FieldType::Of(inner) = of {
            messages(inner, seen);
        }
    }
}

#[test]
fn fields_are_in_order_so_that_they_can_be_found() {
    let mut seen = Vec::new();
    for kind in SCHEMAS {
        messages(kind.spec, &mut seen);
    }
    assert!(seen.len() > 100, "{} messages", seen.len());
    for message in seen {
        let names: Vec<&str> = message.fields.iter().map(|field| field.name).collect();
        assert!(
            names.is_sorted_by(|a, b| a < b),
            "{}: {names:?}",
            message.name
        );
        assert!(names.len() <= 64, "{}: a bit for each field", message.name);
        assert!(
            names
                .iter()
                .all(|name| message.field(name).is_some_and(|field| field.name == *name))
        );
    }
}

/// Lines of kind, flaw, place and `spec`.
const REFUSED: &str = include_str!("refused.txt");

#[test]
fn what_the_webhook_refuses_is_found_and_nothing_else() {
    let mut tried = 0;
    for line in REFUSED.lines().filter(|line| !line.starts_with('#')) {
        let [kind, flaw, place, spec] = line.splitn(4, " | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let found: Vec<_> = of(kind, spec)
            .into_iter()
            .map(|(flaw, place)| (format!("{flaw:?}"), place))
            .collect();
        assert_eq!(found, [(flaw.to_owned(), place.to_owned())], "{line}");
        tried += 1;
    }
    assert!(tried > 80, "{tried} lines");
}

#[test]
fn an_object_of_a_version_that_is_not_served_is_told_and_still_looked_at() {
    let yaml = "apiVersion: networking.istio.io/v2\nkind: DestinationRule\nmetadata: {name: a, namespace: b}\nspec: {}\n";
    let found: Vec<_> = faults(&mesh_of(yaml).objects)
        .into_iter()
        .map(|fault| (fault.flaw, fault.place))
        .collect();
    assert_eq!(
        found,
        [
            (Flaw::InvalidValue, "apiVersion".to_owned()),
            (Flaw::MissingField, "spec".to_owned())
        ]
    );
}

/// An object of each kind that says much, and nothing wrong.
const GOOD: &str = include_str!("good.yaml");

#[test]
fn what_is_right_is_quiet() {
    let mesh = mesh_of(GOOD);
    let found = faults(&mesh.objects);
    assert!(found.is_empty(), "{found:#?}");
    for kind in SCHEMAS {
        assert!(
            !mesh.objects.of_kind(kind.kind).is_empty(),
            "an object of kind {}",
            kind.kind
        );
    }
}

/// Every value of the good objects is once replaced by each of these, taken out, or renamed.
#[test]
fn mutated_objects_are_survived_and_every_pointer_leads_somewhere() {
    let values = [
        "null",
        "true",
        "-1",
        "70000",
        "1e400",
        "\"\"",
        "\"*\"",
        "\"%\"",
        "[]",
        "{}",
        "[null]",
        "{\"a\": {}}",
        "\"é%(\"",
    ];
    let replacements: Vec<Node> = values
        .iter()
        .map(|text| {
            yaml::load(text)
                .documents
                .into_iter()
                .next()
                .expect("a value")
        })
        .collect();
    let mut tried = 0;
    for document in yaml::load(GOOD).documents {
        for at in 0..count(&document) {
            for change in 0..=replacements.len() + 1 {
                let mut mutated = document.clone();
                mutate(&mut mutated, &mut at.clone(), change, &replacements);
                judge(mutated);
                tried += 1;
            }
        }
    }
    assert!(tried > 5_000, "{tried} mutations");
}

fn judge(document: Node) {
    let text = |key: &str| document.str_at(key).unwrap_or_default().to_owned();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let group = version
        .split_once('/')
        .map_or("", |(group, _)| group)
        .to_owned();
    let Some(known) = SCHEMAS
        .iter()
        .find(|known| Some(known.kind) == Kind::of(&kind, &group))
    else {
        return;
    };
    let id = ObjectRef::new(&kind, "shop", "a");
    let object = Object {
        doc: DocId::new("k8s/a.yaml"),
        pointer: Box::default(),
        id,
        group: group.as_str().into(),
        node: document,
    };
    for fault in walk::faults(&object, known)
        .into_iter()
        .map(fault::ObjectFault::told)
    {
        assert!(
            object.node.pointer(&fault.pointer).is_some(),
            "{fault:?} in {}",
            object.node.to_json()
        );
        assert!(
            !fault.what.is_empty() && !fault.what.ends_with('.'),
            "{fault:?}"
        );
    }
}

fn count(node: &Node) -> usize {
    1 + node.items().iter().map(count).sum::<usize>()
        + node
            .members()
            .iter()
            .map(|m| count(&m.value))
            .sum::<usize>()
}

/// Changes the part at a position, counted from the root.
fn mutate(node: &mut Node, left: &mut usize, change: usize, replacements: &[Node]) {
    if *left == 0 {
        match (replacements.get(change), &mut node.value) {
            (Some(other), _) => node.value = other.value.clone(),
            (None, Value::Object(members)) if change == replacements.len() => {
                edit(members, |members| drop(members.pop()));
            }
            (None, Value::Object(members)) => {
                if let Some(member) = members.first_mut() {
                    member.key = format!("{}s", member.key).as_str().into();
                }
            }
            (None, Value::Array(items)) => edit(items, |items| drop(items.pop())),
            (None, _) => node.value = Value::Null,
        }
    }
    let Some(next) = left.checked_sub(1) else {
        *left = usize::MAX;
        return;
    };
    *left = next;
    let children: Vec<&mut Node> = match &mut node.value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.iter_mut().map(|member| &mut member.value).collect(),
        _ => Vec::new(),
    };
    for child in children {
        if *left == usize::MAX {
            return;
        }
        mutate(child, left, change, replacements);
    }
}
