//! The checking client for Python: a thin layer over the Rust client and the verifier.

use portcullis_client::{AnswerExpectations, CheckedApi, ClientQuestion};
use portcullis_evidence::bundle;
use portcullis_evidence::stream_proof::{ReleasedPiece, StreamFacts, StreamProof};
use portcullis_evidence::verify::{self, TrustedParties, VerifyOptions};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::path::PathBuf;

create_exception!(_native, NotProven, PyException, "The card did not admit this, or nothing shows that it did.");

fn not_proven(error: impl std::fmt::Display) -> PyErr {
    NotProven::new_err(error.to_string())
}

fn unfit(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The keys to trust: a folder with `roots`, `issuers` and so on, as the verifier uses it. Simulated cards are accepted
/// only with `allow_sim`.
#[pyclass(name = "Expectations", frozen)]
struct PyExpectations(AnswerExpectations);

#[pymethods]
impl PyExpectations {
    #[new]
    #[pyo3(signature = (trust, *, allow_sim = false, at = None, constants = Vec::new()))]
    fn new(trust: PathBuf, allow_sim: bool, at: Option<u64>, constants: Vec<String>) -> PyResult<Self> {
        let trust = TrustedParties::load(&trust, allow_sim).map_err(unfit)?;
        Ok(Self(AnswerExpectations {
            trust,
            options: VerifyOptions { allow_sim, at, ..VerifyOptions::default() },
            constants,
        }))
    }

    /// The facts in the proof of a stream, as JSON.
    fn check_stream(&self, proof: &[u8]) -> PyResult<String> {
        let proof = StreamProof::parse(proof).map_err(not_proven)?;
        let facts = proof.check(&self.0.trust, self.0.options).map_err(not_proven)?;
        Ok(stream(&facts).to_string())
    }

    /// The verifier's report on a bundle, as JSON.
    fn verify_bundle(&self, python: Python<'_>, path: PathBuf) -> PyResult<String> {
        let verify = || {
            let files = bundle::at(&path).map_err(unfit)?;
            let report = verify::verify(&*files, &self.0.trust, self.0.options, &mut |_| {}).map_err(unfit)?;
            serde_json::to_string(&report).map_err(unfit)
        };
        python.detach(verify)
    }
}

/// A request in the form that is sent to a gateway: with a nonce and a request for proofs.
#[pyclass(name = "Question", frozen)]
struct PyQuestion(ClientQuestion);

#[pymethods]
impl PyQuestion {
    /// `None` if answers under the path contain no model text.
    #[staticmethod]
    fn of(path: &str, body: &[u8], nonce: &str) -> PyResult<Option<Self>> {
        let Some(api) = CheckedApi::of(path) else { return Ok(None) };
        ClientQuestion::new(api, body, nonce).map(|question| Some(Self(question))).map_err(unfit)
    }

    /// The body to send to the gateway.
    #[getter]
    fn body<'py>(&self, python: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(python, self.0.body())
    }

    /// Returns the content type and the body for the client, and the facts of each proof as JSON.
    fn check<'py>(
        &self,
        python: Python<'py>,
        body: &[u8],
        expected: &PyExpectations,
    ) -> PyResult<(&'static str, Bound<'py, PyBytes>, String)> {
        let checked = python.detach(|| self.0.check(body, &expected.0)).map_err(not_proven)?;
        let facts: Vec<Value> = checked.facts.iter().map(stream).collect();
        Ok((checked.content_type, PyBytes::new(python, &checked.body), json!(facts).to_string()))
    }
}

fn stream(facts: &StreamFacts) -> Value {
    let released = facts.released.iter().map(|piece| match piece {
        ReleasedPiece::Text(text) => json!({"text": text}),
        ReleasedPiece::Call(call) => json!({"call": call}),
    });
    json!({
        "serial": facts.serial, "id": facts.context.id, "policy": facts.context.policy, "mode": facts.context.mode,
        "released": released.collect::<Vec<_>>(), "admitted": facts.admitted, "refused": facts.refused,
        "card": facts.device.subject, "issuer": facts.issuer.to_string(), "simulated": facts.simulated,
    })
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{NotProven, PyExpectations, PyQuestion};
}
