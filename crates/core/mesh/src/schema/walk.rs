//! One walk over an object, along the structure of its kind.

use super::describe::{FieldType, KindSchema, MessageSchema};
use super::duration;
use super::fault::{Flaw, ObjectFault, Repair, shown};
use super::guess;
use super::text::TextRule;
use crate::Object;
use crate::schema::describe::DurationRule;
use meshladder_text::tree::{Member, Node, Value};

/// Where the walk is, and what it found.
#[derive(Debug)]
pub(super) struct SchemaWalk<'n> {
    pub(super) object: &'n Object,
    schema: &'static KindSchema,
    faults: Vec<ObjectFault<'n>>,
}

/// What is wrong with an object. Nothing is allocated for one that is right.
pub(super) fn faults<'n>(object: &'n Object, schema: &'static KindSchema) -> Vec<ObjectFault<'n>> {
    let mut walk = SchemaWalk {
        object,
        schema,
        faults: Vec::new(),
    };
    if walk.is_of_version() {
        walk.object();
    }
    walk.faults
}

/// A field gets its right name, unless there is one of that name already.
fn rename(parent: &Node, name: &'static str) -> Option<Repair> {
    if parent.get(name).is_some() {
        return None;
    }
    Some(Repair::Rename(name))
}

impl<'n> SchemaWalk<'n> {
    /// Something is wrong here.
    pub(super) fn fault(
        &mut self,
        flaw: Flaw,
        node: &'n Node,
        what: impl Into<String>,
    ) -> &mut ObjectFault<'n> {
        let at = self.faults.len();
        self.faults.push(ObjectFault {
            flaw,
            object: self.object,
            node,
            what: what.into(),
            repair: None,
        });
        &mut self.faults[at]
    }

    /// The value here is wrong; `what` follows after it: `not a port`.
    pub(super) fn value_fault(
        &mut self,
        flaw: Flaw,
        node: &'n Node,
        what: impl std::fmt::Display,
    ) -> &mut ObjectFault<'n> {
        self.fault(flaw, node, format!("is {}, {what}", shown(node)))
    }

    /// Whether the object's version has this structure.
    fn is_of_version(&mut self) -> bool {
        let Some(node) = self.object.node.get("apiVersion") else {
            return true;
        };
        let text = node.str().unwrap_or_default();
        let version = text.split_once('/').map_or("", |(_, version)| version);
        if self.schema.versions.contains(&version) {
            return true;
        }
        // Of a kind with other versions beside these nothing is known of the others.
        if !self.schema.only {
            return false;
        }
        let kind = self.schema.kind;
        let known = self.schema.versions.join(", ");
        let best = format!("{}/{}", kind.group(), self.schema.versions[0]);
        let what = format!(
            "which there is not; {} is served as {known}",
            kind.singular()
        );
        self.value_fault(Flaw::InvalidValue, node, what).repair =
            Some(Repair::Replace(best.into()));
        true
    }

    fn object(&mut self) {
        let object = &self.object.node;
        for member in object.members() {
            self.top_level(member);
        }
        let spec = object.get("spec");
        match spec.map(|spec| (spec, &spec.value)) {
            Some((spec, Value::Object(members))) => self.message(spec, members, self.schema.spec),
            // To the API server a null is a field that is not there.
            None | Some((_, Value::Null)) => {
                self.missing(object, self.schema.spec, 0);
                (self.schema.spec.check)(object, self);
            }
            Some((spec, _)) => {
                self.value_fault(Flaw::WrongType, spec, "not an object");
            }
        }
    }

    /// A member beside `spec`: most often one that was indented too little.
    fn top_level(&mut self, member: &'n Member) {
        let key = &*member.key;
        if matches!(key, "apiVersion" | "kind" | "metadata" | "spec" | "status") {
            return;
        }
        let mut what = format!("is not a field of {}", self.schema.kind.singular());
        if self.schema.spec.position(key).is_some() {
            what.push_str("; it belongs under spec as spec.");
            what.push_str(key);
        }
        self.fault(Flaw::UnknownField, &member.value, what);
    }

    fn message(&mut self, node: &'n Node, members: &'n [Member], message: &'static MessageSchema) {
        let mut there = 0_u64;
        for member in members {
            let Some(at) = message.position(&member.key) else {
                self.unknown(node, member, message);
                continue;
            };
            if member.value.value != Value::Null {
                there |= 1 << at;
                self.value(&member.value, &message.fields[at].of);
            }
        }
        self.missing(node, message, there);
        (message.check)(node, self);
    }

    fn missing(&mut self, node: &'n Node, message: &MessageSchema, there: u64) {
        let mut names = Vec::new();
        for (at, field) in message.fields.iter().enumerate() {
            let is_there = there >> at & 1 == 1;
            if field.needed && !is_there {
                names.push(field.name);
            }
        }
        if names.is_empty() {
            return;
        }
        let what = format!("lacks {}", names.join(" and "));
        self.fault(Flaw::MissingField, node, what);
    }

    fn unknown(&mut self, parent: &'n Node, member: &'n Member, message: &'static MessageSchema) {
        // Protocol Buffers' JSON also takes a field's own name: `per_try_timeout`.
        if self.is_proto()
            && let Some(name) = guess::camel_case(&member.key)
            && let Some(field) = message.field(&name)
        {
            let name = field.name;
            let what =
                format!("is read by istioctl, but the API server drops it; its name is {name}");
            self.fault(Flaw::LooselyWritten, &member.value, what).repair = rename(parent, name);
            return self.value(&member.value, &field.of);
        }
        let near = guess::field(message, &member.key);
        let hint = match (near, guess::home(self.schema, &member.key)) {
            (Some(name), _) => format!("; did you mean {name}"),
            (None, Some(home)) => format!("; there is one in {home}"),
            (None, None) => String::new(),
        };
        let what = format!("is not a field of {}{hint}", message.name);
        self.fault(Flaw::UnknownField, &member.value, what).repair =
            near.and_then(|name| rename(parent, name));
    }

    /// Istio's own kinds are messages of Protocol Buffers, which its tools read more freely than
    /// the API server does.
    fn is_proto(&self) -> bool {
        self.schema.kind.group().ends_with("istio.io")
    }

    fn value(&mut self, node: &'n Node, of: &'static FieldType) {
        match (of, &node.value) {
            (FieldType::Any, _) | (FieldType::Bool, Value::Bool(_)) => {}
            (FieldType::Text(text), Value::String(value)) => self.text(node, *text, value),
            (FieldType::Int(..) | FieldType::Number(..), Value::Number(value)) => {
                self.number(node, of, value);
            }
            (FieldType::Int(..) | FieldType::Number(..), Value::String(value))
                if self.is_number(of, value) =>
            {
                let what = format!(
                    "is {}, text where the API server takes a number",
                    shown(node)
                );
                self.fault(Flaw::LooselyWritten, node, what).repair =
                    Some(Repair::Replace(Value::Number(value.clone())));
                self.number(node, of, value);
            }
            (FieldType::Time(span), Value::String(value)) => self.time(node, *span, value),
            (FieldType::Enum(names), Value::String(value)) => self.name(node, names, value),
            (FieldType::Enum(names), Value::Number(value)) if self.is_proto() => {
                self.position(node, names, value);
            }
            (FieldType::List(of, least, most), Value::Array(items)) => {
                self.list(node, of, items, *least..=*most);
            }
            (FieldType::Map(keys, of), Value::Object(members)) => self.map(*keys, of, members),
            (FieldType::Of(message), Value::Object(members)) => {
                self.message(node, members, message);
            }
            _ => self.wrong_type(node, of),
        }
    }

    fn is_number(&self, of: &FieldType, value: &str) -> bool {
        if !self.is_proto() {
            return false;
        }
        match of {
            FieldType::Number(..) => value.parse::<f64>().is_ok(),
            _ => value.parse::<i64>().is_ok(),
        }
    }

    fn wrong_type(&mut self, node: &'n Node, of: &'static FieldType) {
        let repair = guess::in_type(node, of);
        let what = format!("is {}, not {}", shown(node), guess::in_words(of));
        self.fault(Flaw::WrongType, node, what).repair = repair.map(Repair::Replace);
    }

    fn text(&mut self, node: &'n Node, text: TextRule, value: &str) {
        // What was secret cannot be judged.
        if value.contains("[redacted]") {
            return;
        }
        if let Some((flaw, what)) = text.problem(value) {
            self.fault(flaw, node, what);
        }
    }

    fn number(&mut self, node: &'n Node, of: &'static FieldType, value: &str) {
        let number: f64 = value.parse().unwrap_or(f64::NAN);
        let out_of_range = match *of {
            FieldType::Int(..) if number.fract() != 0.0 => return self.wrong_type(node, of),
            FieldType::Int(least, most) => {
                let is_inside = match value.parse::<i64>() {
                    Ok(whole) => (least..=most).contains(&whole),
                    // `1e3` and what is too large for 64 bits; `0.0` is a zero.
                    Err(_) => number == 0.0,
                };
                (!is_inside).then(|| format!("{least} to {most}"))
            }
            FieldType::Number(least, most) => {
                let is_inside = (least..=most).contains(&number);
                (!is_inside).then(|| format!("{least} to {most}"))
            }
            _ => None,
        };
        if let Some(range) = out_of_range {
            let what = format!("is {value}, out of range: {range}");
            self.fault(Flaw::InvalidValue, node, what);
        }
    }

    fn time(&mut self, node: &'n Node, span: DurationRule, value: &str) {
        if let Some(problem) = duration::problem(span, value) {
            self.value_fault(Flaw::InvalidValue, node, problem);
        }
    }

    fn name(&mut self, node: &'n Node, names: &'static [&'static str], value: &str) {
        if names.contains(&value) {
            return;
        }
        let near = guess::name(names.iter().copied(), value);
        let what = match near {
            Some(near) => format!("is {}; did you mean {near}", shown(node)),
            None => format!("is {}, not one of {}", shown(node), names.join(", ")),
        };
        self.fault(Flaw::UnknownEnumValue, node, what).repair =
            near.map(|near| Repair::Replace(near.into()));
    }

    fn position(&mut self, node: &'n Node, names: &'static [&'static str], value: &str) {
        let Some(name) = value.parse::<usize>().ok().and_then(|at| names.get(at)) else {
            let what = format!("is {value}, not one of {}", names.join(", "));
            self.fault(Flaw::UnknownEnumValue, node, what);
            return;
        };
        let what = format!("is {value}, where the API server takes the name {name}");
        self.fault(Flaw::LooselyWritten, node, what).repair = Some(Repair::Replace((*name).into()));
    }

    fn list(
        &mut self,
        node: &'n Node,
        of: &'static FieldType,
        items: &'n [Node],
        bounds: std::ops::RangeInclusive<usize>,
    ) {
        if items.len() < *bounds.start() {
            self.fault(
                Flaw::MissingField,
                node,
                "is empty, and at least one is needed",
            );
        } else if items.len() > *bounds.end() {
            let what = format!("has {} entries, more than {}", items.len(), bounds.end());
            self.fault(Flaw::InvalidValue, node, what);
        }
        for item in items {
            self.value(item, of);
        }
    }

    fn map(&mut self, keys: TextRule, of: &'static FieldType, members: &'n [Member]) {
        for member in members {
            if let Some((flaw, what)) = keys.problem(&member.key) {
                self.fault(flaw, &member.value, format!("has a name that {what}"));
            }
            if member.value.value != Value::Null {
                self.value(&member.value, of);
            }
        }
    }
}
