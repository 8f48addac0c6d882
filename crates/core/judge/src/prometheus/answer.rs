//! Answers of Prometheus' HTTP API, and of those that speak it.

use std::collections::BTreeMap;

use meshladder_text::json::{Raw, ValueKind};

/// The answer to an instant query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrometheusAnswer {
    /// The samples, in the server's order.
    pub samples: Vec<Sample>,
    /// What the server warns of: parts that could not be asked, queries that look wrong.
    pub warnings: Vec<String>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value; NaN and infinities are possible.
    pub value: f64,
}

impl Sample {
    /// A label; as in Prometheus, one that is not there is empty.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl PrometheusAnswer {
    /// Reads a body; the status line is the caller's.
    ///
    /// # Errors
    /// The server's own words when it refused, or why the body is no answer.
    pub fn read(body: &str) -> Result<Self, String> {
        let root = Raw::of(body).map_err(|fault| format!("not JSON: {}", fault.what))?;
        match root.string_at("status").as_deref() {
            Some("success") => {}
            Some("error") => return Err(refusal(root)),
            _ => return Err(format!("not an answer of Prometheus' API: {}", start(body))),
        }
        let data = root.get("data").ok_or("the answer has no data")?;
        let samples = match data.string_at("resultType").as_deref() {
            Some("vector") => data.list("result").filter_map(sample).collect(),
            Some("scalar") => data
                .get("result")
                .and_then(value)
                .map(unlabelled)
                .into_iter()
                .collect(),
            Some(other) => {
                return Err(format!("the query gives a {other}, not one value a series"));
            }
            None => return Err("the answer does not say what kind of result it has".to_owned()),
        };
        // "infos" are remarks on the query; Thanos and Mimir tell partial data as warnings.
        let said = ["warnings", "infos"]
            .into_iter()
            .flat_map(|key| root.list(key));
        Ok(Self {
            samples,
            warnings: said
                .filter_map(|text| text.string().map(String::from))
                .collect(),
        })
    }

    /// The value of the first sample.
    pub fn first(&self) -> Option<f64> {
        self.samples.first().map(|sample| sample.value)
    }
}

fn refusal(root: Raw<'_>) -> String {
    let word = |key| root.string_at(key).unwrap_or_default();
    format!("{}: {}", word("errorType"), word("error"))
}

fn sample(raw: Raw<'_>) -> Option<Sample> {
    let labels = raw
        .get("metric")?
        .members()
        .filter_map(|(name, text)| Some((name.into(), text.string()?.into())));
    Some(Sample {
        labels: labels.collect(),
        value: value(raw.get("value")?)?,
    })
}

fn unlabelled(value: f64) -> Sample {
    Sample {
        labels: BTreeMap::new(),
        value,
    }
}

/// `[1435781451.781, "1.5"]`
fn value(pair: Raw<'_>) -> Option<f64> {
    let text = pair.elements().nth(1)?.string()?;
    match &*text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        other => other.parse().ok(),
    }
}

/// Enough of a body to see what it is: a login page, a proxy's error.
fn start(body: &str) -> String {
    let line = body
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("nothing")
        .trim();
    match Raw::of(body).map(Raw::kind) {
        Ok(ValueKind::Object | ValueKind::Array) => "other JSON".to_owned(),
        _ => format!("`{}`", line.chars().take(80).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_read_with_its_warnings() {
        let body = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"response_flags":"UH","reporter":"source"},"value":[1435781451.781,"1.5"]},
            {"metric":{},"value":[1435781451.781,"NaN"]}]},
            "warnings":["store 10.0.0.1:10901 not reached"],"infos":["metric might not be a counter"]}"#;
        let answer = PrometheusAnswer::read(body).expect("an answer");
        assert_eq!((answer.samples.len(), answer.samples[0].value), (2, 1.5));
        assert_eq!(
            (
                answer.samples[0].label("response_flags"),
                answer.samples[0].label("absent")
            ),
            ("UH", "")
        );
        assert!(answer.samples[1].value.is_nan());
        assert_eq!(
            answer.warnings,
            [
                "store 10.0.0.1:10901 not reached",
                "metric might not be a counter"
            ]
        );
    }

    #[test]
    fn what_is_no_answer_says_why() {
        for (body, why) in [
            (
                r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#,
                "bad_data: parse error",
            ),
            (
                "<html><title>Sign in</title>",
                "<html><title>Sign in</title>",
            ),
            (r#"{"message":"no"}"#, "other JSON"),
            ("", "not JSON"),
            (
                r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#,
                "a matrix",
            ),
        ] {
            let told = PrometheusAnswer::read(body).expect_err("no answer");
            assert!(told.contains(why), "{body}: {told}");
        }
    }

    #[test]
    fn scalars_and_infinities_are_values() {
        let body = r#"{"status":"success","data":{"resultType":"scalar","result":[1,"+Inf"]}}"#;
        assert_eq!(
            PrometheusAnswer::read(body).expect("an answer").first(),
            Some(f64::INFINITY)
        );
    }
}
