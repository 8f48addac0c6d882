use super::raise::{RuleAnswer, run};
use super::*;
use crate::finding::{Evidence, Finding, MissingFact, Rung, Severity};
use crate::report::{Outcome, Verdict};
use crate::rules::{Check, Lens, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::DocId;
use meshladder_capture::snapshot::{Builder, Inputs};
use meshladder_mesh::ObjectRef;
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Caller, Url};

const FINE: Rule = Rule {
    code: "ML9901",
    name: "fine",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "it is fine",
    needs: Inputs::NONE,
    uses: Inputs::NONE,
    explains: &[],
    docs: "",
    check: Check::Mesh(|_, out| {
        let proof = Evidence::document(&DocId::new("manifest.json"), "the whole");
        out.find(
            ObjectRef::of(Kind::Service, "shop", "cart"),
            "it is found",
            proof,
        );
    }),
};

static ANSWERS: Rule = FINE;

static BREAKS: Rule = Rule {
    code: "ML9902",
    name: "breaks",
    check: Check::Mesh(|_, out| {
        let proof = Evidence::document(&DocId::new("manifest.json"), "the whole");
        out.find(
            ObjectRef::of(Kind::Service, "shop", "cart"),
            "half an answer",
            proof,
        );
        panic!("an index out of bounds");
    }),
    ..FINE
};

#[test]
fn a_rule_that_breaks_becomes_a_finding_and_the_others_still_answer() {
    let (snapshot, mesh, fleet) = (Builder::new().finish(), Mesh::default(), Fleet::default());
    let faults = Faults::default();
    let facts = Facts {
        snapshot: &snapshot,
        mesh: &mesh,
        fleet: &fleet,
        faults: &faults,
    };
    let answers: Vec<RuleAnswer> = [&BREAKS, &ANSWERS]
        .into_iter()
        .filter_map(|rule| run(rule, &facts, Lens::Mesh))
        .collect();
    let findings: Vec<_> = answers
        .iter()
        .flat_map(|answer| &answer.sink.findings)
        .collect();
    let told: Vec<_> = findings
        .iter()
        .map(|f| (f.code, f.severity, f.subject.to_string()))
        .collect();
    assert_eq!(
        told,
        [
            ("ML9902", Severity::Info, "Meshladder ML9902".to_owned()),
            ("ML9901", Severity::Error, "Service shop/cart".to_owned()),
        ]
    );
    assert!(
        findings[0].message.contains("a bug of meshladder"),
        "{}",
        findings[0].message
    );
}

static QUIET: Rule = Rule {
    code: "ML9903",
    name: "quiet",
    check: Check::Mesh(|_, out| out.examined()),
    ..FINE
};

#[test]
fn a_mesh_in_which_a_rule_broke_is_not_called_healthy() {
    let (snapshot, mesh) = (Builder::new().finish(), Mesh::default());
    let question = Question {
        scope: Scope::Mesh,
        seen: None,
        threads: 1,
    };
    let report = |rules: &[&'static Rule]| climb_by(rules, &snapshot, &mesh, &question, None);
    let config = |report: &Report| {
        let rung = report.rungs.iter().find(|rung| rung.rung == Rung::Config);
        rung.map(|rung| rung.outcome.clone())
    };
    let fine = report(&[&QUIET]);
    assert_eq!(fine.verdict, Verdict::Healthy);
    assert_eq!(config(&fine), Some(Outcome::Passed));
    let broken = report(&[&BREAKS, &QUIET]);
    let fact = MissingFact::Rule {
        code: "ML9902",
        name: "breaks",
    };
    assert_eq!(broken.verdict, Verdict::Undecided);
    assert_eq!(broken.unknown, std::slice::from_ref(&fact));
    assert_eq!(config(&broken), Some(Outcome::Skipped(fact)));
    assert_eq!(report(&[&BREAKS, &ANSWERS]).verdict, Verdict::Broken);
}

/// A plain GET, or a connection, of a pod.
fn call(namespace: &str, name: &str, to: &str) -> Call {
    Call {
        from: Caller::Pod {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
        to: Url::parse(to).expect("it is a URL"),
        method: "GET".to_owned(),
        headers: Vec::new(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    }
}

fn found(message: &str) -> Finding {
    let proof = Evidence::document(&DocId::new("manifest.json"), "the whole");
    Sink::new(&ANSWERS)
        .find(
            ObjectRef::of(Kind::Deployment, "shop", message),
            message,
            proof,
        )
        .clone()
}

#[test]
fn a_cause_that_cannot_be_told_from_others_is_not_blamed() {
    let mut findings = vec![found("cut off")];
    findings[0].lacks("networkpolicies");
    assert_eq!(
        attribute::unsettled(&mut findings),
        [MissingFact::from("networkpolicies")]
    );
    assert!(findings.iter().all(|finding| !finding.is_loud()));
}

#[test]
fn a_cause_that_is_settled_stays_loud_beside_one_that_is_not() {
    let mut findings = vec![found("cut off"), found("down")];
    findings[0].lacks("networkpolicies");
    assert!(attribute::unsettled(&mut findings).is_empty());
    assert!(findings.iter().all(Finding::is_loud));
}

#[test]
fn a_loud_log_is_told_only_of_a_mesh_whose_traffic_is_well() {
    let of_log = || Finding {
        rung: Rung::Telemetry,
        severity: Severity::Warning,
        ..found("debug")
    };
    let mut alone = vec![of_log()];
    weigh::put_traffic_first(&mut alone, &Scope::Mesh);
    assert!(alone[0].is_loud());
    let mut beside = vec![found("down"), of_log()];
    weigh::put_traffic_first(&mut beside, &Scope::Mesh);
    assert!(beside[0].is_loud() && !beside[1].is_loud());
    let mut case = vec![found("down"), of_log()];
    let object = ObjectRef::of(Kind::Deployment, "shop", "debug");
    weigh::put_traffic_first(
        &mut case,
        &Scope::Workload {
            object,
            pods: Vec::new(),
        },
    );
    assert!(case[1].is_loud());
}

mod causes;
mod from_outside;
mod incidents;
mod missing;
