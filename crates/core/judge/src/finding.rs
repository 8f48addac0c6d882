//! A finding: one claim about the mesh, with the bytes that prove it.

use std::borrow::Cow;

use meshladder_capture::snapshot::DocId;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::shown;
use meshladder_text::tree::Node;

mod fix;
mod missing_fact;
mod rung;
mod subject;

pub use fix::{Change, Fix, FixKind, Op, Patch, Risk, Trial, on};
pub use missing_fact::MissingFact;
pub use rung::Rung;
pub use subject::Subject;

/// One claim. It cannot be made without evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's code, such as `ML0701`.
    pub code: &'static str,
    /// istioctl's code for it, such as `IST0173`, which `analyze` shows in place of ours.
    pub ist: Option<&'static str>,
    /// The rule's name, such as `subset-selects-no-pods`.
    pub name: &'static str,
    /// The rung it belongs to.
    pub rung: Rung,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The object to change, or what else it is about.
    pub subject: Subject,
    /// The name of the cluster that the subject is in, where there are several.
    pub cluster: Option<String>,
    /// One sentence with real names, without a full stop.
    pub message: String,
    /// What proves it; the first piece is the main one.
    pub evidence: Vec<Evidence>,
    /// What would repair it, the best first.
    pub fixes: Vec<Fix>,
    /// Who suffers: pods as `Pod`, else the objects that the damage shows at. Empty means nobody in
    /// particular.
    pub hits: Vec<ObjectRef>,
    /// How bad it is when the subject itself is asked about: what is meant to be so may still be
    /// the answer.
    pub when_asked: Option<Severity>,
    /// Ids of the findings that explain this one; filled by the ladder.
    pub caused_by: Vec<String>,
    /// Facts that were missing, without which the object to change cannot be told from others.
    pub unsettled: Vec<MissingFact>,
    /// Whether the objects ask for it as they are: then it is not that a proxy lacks the last of
    /// them.
    pub is_asked_for: bool,
    /// Whether it is what a setting brings along, and works: an answer only where there is no other.
    pub is_side_effect: bool,
}

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Traffic suffers.
    Error,
    /// Traffic suffers under some condition, or differs from what was asked for.
    Warning,
    /// Worth knowing.
    Info,
}

/// How sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It follows from complete data and modelled semantics.
    Proven,
    /// A heuristic, or some of the data was missing.
    Likely,
    /// A lead to confirm.
    Possible,
}

/// A place in a document and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The document.
    pub doc: DocId,
    /// Where in it.
    pub spot: Spot,
    /// What stands there, in words.
    pub shows: String,
}

/// Where in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// An RFC 6901 pointer.
    Pointer(String),
    /// The name of the member that an RFC 6901 pointer leads to: its value may stand lines below.
    Key(String),
    /// A byte offset, for dumps that are never parsed whole.
    Offset(usize),
    /// A line, counted from 1, for logs and statistics.
    Line(usize),
    /// The document as a whole, or that it is missing.
    Whole,
}

impl Severity {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl Confidence {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

impl Spot {
    /// The pointer, where there is one.
    pub fn pointer(&self) -> Option<&str> {
        match self {
            Self::Pointer(pointer) | Self::Key(pointer) => Some(pointer),
            Self::Offset(_) | Self::Line(_) | Self::Whole => None,
        }
    }
}

impl Evidence {
    /// A part of an object.
    pub fn of(object: &Object, part: &Node, shows: impl Into<String>) -> Self {
        let spot = Spot::Pointer(object.pointer_of(part));
        Self {
            doc: object.doc.clone(),
            spot,
            shows: shows.into(),
        }
    }

    /// An object as a whole.
    pub fn object(object: &Object, shows: impl Into<String>) -> Self {
        Self::of(object, &object.node, shows)
    }

    /// The object it is part of, by its document and its pointer there; in a document that is no
    /// objects, all of it.
    pub fn object_place(&self) -> (DocId, String) {
        let Some(pointer) = self.spot.pointer() else {
            return (self.doc.clone(), String::new());
        };
        let is_part = |token: &&str| *token == "items" || token.parse::<usize>().is_ok();
        let length: usize = pointer
            .split('/')
            .skip(1)
            .take_while(is_part)
            .map(|token| token.len() + 1)
            .sum();
        (self.doc.clone(), pointer[..length].to_owned())
    }

    /// A byte of a dump.
    pub fn offset(doc: &DocId, offset: usize, shows: impl Into<String>) -> Self {
        Self {
            doc: doc.clone(),
            spot: Spot::Offset(offset),
            shows: shows.into(),
        }
    }

    /// A line, counted from 1.
    pub fn line(doc: &DocId, line: usize, shows: impl Into<String>) -> Self {
        Self {
            doc: doc.clone(),
            spot: Spot::Line(line),
            shows: shows.into(),
        }
    }

    /// What it shows may hold names from elsewhere.
    pub(crate) fn on_one_line(mut self) -> Self {
        if let Cow::Owned(line) = shown::line(&self.shows) {
            self.shows = line;
        }
        self
    }

    /// A document as a whole; also one that is not there, when its absence is the proof.
    pub fn document(doc: &DocId, shows: impl Into<String>) -> Self {
        Self {
            doc: doc.clone(),
            spot: Spot::Whole,
            shows: shows.into(),
        }
    }
}

impl Finding {
    /// Code, subject and place: wording may improve without a change of identity.
    pub fn id(&self) -> String {
        let (kind, namespace, name) = (
            self.subject.kind(),
            self.subject.namespace(),
            self.subject.name(),
        );
        let subject = if name.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}/{namespace}/{name}")
        };
        let cluster = self.cluster.as_deref();
        format!(
            "{}:{}{subject}:{}",
            self.code,
            cluster.map(|name| format!("{name}:")).unwrap_or_default(),
            self.evidence.first().map_or(String::new(), place_of)
        )
    }

    /// Also shows this.
    pub fn see(&mut self, evidence: Evidence) -> &mut Self {
        self.evidence.push(evidence.on_one_line());
        self
    }

    /// Offers this repair.
    pub fn fix(&mut self, fix: Fix) -> &mut Self {
        self.fixes.push(fix);
        self
    }

    /// This pod or object suffers.
    pub fn hits(&mut self, hit: ObjectRef) -> &mut Self {
        if !self.hits.contains(&hit) {
            self.hits.push(hit);
        }
        self
    }

    /// Not as bad as the rule's usual.
    pub fn severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = severity;
        self
    }

    /// istioctl has this code for it, of the several that it has for the rule, or none.
    pub fn ist(&mut self, code: Option<&'static str>) -> &mut Self {
        self.ist = code;
        self
    }

    /// When the subject itself is asked about, it is this bad.
    pub fn when_asked(&mut self, severity: Severity) -> &mut Self {
        self.when_asked = Some(severity);
        self
    }

    /// Not as sure as usual.
    pub fn confidence(&mut self, confidence: Confidence) -> &mut Self {
        self.confidence = self.confidence.max(confidence);
        self
    }

    /// Without this fact it is not known whether the subject is at fault, or something else.
    pub fn lacks(&mut self, fact: impl Into<MissingFact>) -> &mut Self {
        self.unsettled.push(fact.into());
        self
    }

    /// The objects ask for it as they are, whether proxies have them or not.
    pub fn is_asked_for(&mut self, is_so: bool) -> &mut Self {
        self.is_asked_for = is_so;
        self
    }

    /// It is what a setting brings along, and an answer only where there is no other.
    pub fn is_side_effect(&mut self) -> &mut Self {
        self.is_side_effect = true;
        self
    }

    /// `Service shop/cart`, and where there are several clusters which one it is in.
    pub fn told_subject(&self) -> String {
        match &self.cluster {
            Some(cluster) => format!("{} in {cluster}", self.subject),
            None => self.subject.to_string(),
        }
    }

    /// Whether it is told loudly.
    pub fn is_loud(&self) -> bool {
        self.severity <= Severity::Warning
    }
}

/// The pointer inside the object where there is one: the index in a list of objects is no part of
/// the identity.
fn place_of(evidence: &Evidence) -> String {
    match evidence.spot.pointer() {
        Some(pointer) => pointer[evidence.object_place().1.len()..].to_owned(),
        None => evidence.doc.to_string(),
    }
}
