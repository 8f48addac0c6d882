//! The verification of one request's tokens.

use std::collections::BTreeMap;

use super::extract::{TokenLocations, TokenSource};
use super::provider::{Audiences, JwtProvider};
use super::requirement::RequirementOutcome;
use super::status::JwtStatus;
use super::token::Jwt;
use crate::request::Claims;
use crate::state::MetadataEntry;
use crate::{RequestState, Tri};
use meshladder_text::time::Time;

/// One request's verification.
pub(super) struct Verification<'v, 'r> {
    pub(super) providers: &'v BTreeMap<Box<str>, JwtProvider>,
    pub(super) now: Time,
    pub(super) state: &'v mut RequestState<'r>,
    /// What goes into the metadata of the filter.
    pub(super) extracted: Vec<(Box<str>, MetadataEntry)>,
}

const NO_TOKEN: &str = "whether the request carries a token";
const NO_ISSUER: &str = "the claim iss of the token";

/// What a user said of a token that is not in the request.
enum ClaimSource {
    Nothing,
    Claims(Vec<(String, String)>),
}

impl<'v> Verification<'v, '_> {
    /// All tokens in the places of one provider must be good.
    pub(super) fn of_provider(
        &mut self,
        name: &str,
        audiences: Option<&Audiences>,
        locations: &TokenLocations,
    ) -> RequirementOutcome {
        let Some(provider) = self.providers.get(name) else {
            let fact = format!("what the JWT provider {name} is, which the filter does not have");
            return RequirementOutcome::Unknown(fact.into());
        };
        // Nobody but the filter may set the headers that its claims go to.
        provider.sanitize(self.state);
        let audiences = audiences.unwrap_or(&provider.audiences);
        let tokens = match self.tokens(locations) {
            Ok(tokens) => tokens,
            Err(ClaimSource::Nothing) => return self.unknown(provider, NO_TOKEN),
            Err(ClaimSource::Claims(claims)) => return self.stated(&claims, provider, audiences),
        };

        if tokens.is_empty() {
            return RequirementOutcome::Failed(JwtStatus::Missing);
        }
        // Envoy begins with the last one.
        for token in tokens.iter().rev() {
            let outcome = self.token(token, provider, audiences);
            if outcome != RequirementOutcome::Met {
                return outcome;
            }
        }
        RequirementOutcome::Met
    }

    /// `allow_missing` and `allow_missing_or_failed` look at the tokens of all providers; the last
    /// one decides.
    pub(super) fn of_all(
        &mut self,
        locations: &TokenLocations,
        allow_failed: bool,
    ) -> RequirementOutcome {
        let providers = self.providers;
        for provider in providers.values() {
            provider.sanitize(self.state);
        }
        let outcome = match self.tokens(locations) {
            Ok(tokens) => self.last_of(&tokens),
            Err(stated) => self.stated_for_any(&stated),
        };
        self.allowed(outcome, true, allow_failed)
    }

    fn last_of(&mut self, tokens: &[TokenSource]) -> RequirementOutcome {
        let mut last = RequirementOutcome::Failed(JwtStatus::Missing);
        for token in tokens.iter().rev() {
            last = self.token_of_any(token);
            // Behind a token that may have been good, nothing is certain.
            if matches!(last, RequirementOutcome::Unknown(_)) {
                break;
            }
        }
        last
    }

    /// What is left of an outcome where tokens may be missing or bad.
    pub(super) fn allowed(
        &self,
        outcome: RequirementOutcome,
        allow_missing: bool,
        allow_failed: bool,
    ) -> RequirementOutcome {
        match outcome {
            RequirementOutcome::Failed(JwtStatus::Missing) if allow_missing || allow_failed => {
                RequirementOutcome::Met
            }
            RequirementOutcome::Failed(_) if allow_failed => RequirementOutcome::Met,
            // Passing is certain then; what later filters see is not.
            RequirementOutcome::Unknown(fact) if allow_failed && !self.changes_request(&fact) => {
                RequirementOutcome::Met
            }
            other => other,
        }
    }

    /// Whether later filters may see another request, depending on the fact. A token that nobody
    /// stated is in no header that others look at.
    fn changes_request(&self, fact: &str) -> bool {
        let changes = if fact == NO_TOKEN {
            JwtProvider::sets_headers
        } else {
            JwtProvider::changes_request
        };
        self.providers.values().any(changes)
    }

    fn token_of_any(&mut self, extracted: &TokenSource) -> RequirementOutcome {
        // The issuer is read before anything is verified: it tells whose keys count.
        let issuer = match Jwt::parse(&extracted.token) {
            Ok(token) => token.issuer,
            Err(status) => return RequirementOutcome::Failed(status),
        };
        match self.provider_of(&issuer).as_slice() {
            [] => RequirementOutcome::Failed(JwtStatus::UnknownIssuer),
            [provider] => self.token(extracted, provider, &provider.audiences),
            several => self.unknown_of(
                several,
                &format!("which of the JWT providers for {issuer} Envoy takes"),
            ),
        }
    }

    /// "Jwt iss field is used to find the first provider with the issuer. If not found, use the
    /// first provider without issuer specified." Which is the first is not told: they are in a map.
    fn provider_of(&self, issuer: &str) -> Vec<&'v JwtProvider> {
        let with_issuer = self.providers_with(issuer);
        if with_issuer.is_empty() {
            return self.providers_with("");
        }
        with_issuer
    }

    fn providers_with(&self, issuer: &str) -> Vec<&'v JwtProvider> {
        let mut providers = Vec::new();
        for provider in self.providers.values() {
            if *provider.issuer == *issuer {
                providers.push(provider);
            }
        }
        providers
    }

    /// The tokens of the request; what the user said of them when there are none.
    fn tokens(&self, locations: &TokenLocations) -> Result<Vec<TokenSource>, ClaimSource> {
        let mut tokens = locations.extract(&self.state.request);
        match &self.state.request.claims {
            // The user may have named a token that is in the request too.
            Claims::Token(token) if tokens.iter().all(|source| source.token != *token) => {
                tokens.push(TokenSource::stated(token));
            }
            Claims::Given(claims) if tokens.is_empty() => {
                return Err(ClaimSource::Claims(claims.clone()));
            }
            Claims::Unknown if tokens.is_empty() => return Err(ClaimSource::Nothing),
            _ => {}
        }
        Ok(tokens)
    }

    fn token(
        &mut self,
        extracted: &TokenSource,
        provider: &JwtProvider,
        audiences: &Audiences,
    ) -> RequirementOutcome {
        let token = match Jwt::parse(&extracted.token) {
            Ok(token) => token,
            Err(status) => return RequirementOutcome::Failed(status),
        };
        let is_allowed = match &extracted.issuers {
            Some(issuers) => issuers.allow(&token.issuer),
            None => provider.issuer.is_empty() || *provider.issuer == *token.issuer,
        };
        if !is_allowed {
            return RequirementOutcome::Failed(JwtStatus::UnknownIssuer);
        }

        match provider.verify(&token, audiences, self.now) {
            Ok(Tri::Yes) => {
                let extracted = provider.accept(&token, extracted, self.state);
                self.extracted.extend(extracted);
                RequirementOutcome::Met
            }
            Ok(Tri::No) => RequirementOutcome::Failed(JwtStatus::VerificationFails),
            Ok(Tri::Unknown(fact)) => self.unknown(provider, &fact),
            Err(status) => RequirementOutcome::Failed(status),
        }
    }

    fn stated_for_any(&mut self, stated: &ClaimSource) -> RequirementOutcome {
        let all: Vec<_> = self.providers.values().collect();
        let ClaimSource::Claims(claims) = stated else {
            return self.unknown_of(&all, NO_TOKEN);
        };
        let providers = match issuer_of(claims) {
            Some(issuer) => self.provider_of(issuer),
            None => all,
        };
        match providers.as_slice() {
            [] => RequirementOutcome::Failed(JwtStatus::UnknownIssuer),
            [provider] => self.stated(claims, provider, &provider.audiences),
            several => self.unknown_of(several, NO_ISSUER),
        }
    }

    /// A user's word that the request carries a good token with these claims.
    fn stated(
        &mut self,
        claims: &[(String, String)],
        provider: &JwtProvider,
        audiences: &Audiences,
    ) -> RequirementOutcome {
        match issuer_of(claims) {
            // A good token is one of a provider of this filter.
            None if self.providers.len() > 1 && !provider.issuer.is_empty() => {
                return self.unknown(provider, NO_ISSUER);
            }
            Some(issuer) if !provider.issuer.is_empty() && *provider.issuer != *issuer => {
                return RequirementOutcome::Failed(JwtStatus::UnknownIssuer);
            }
            _ => {}
        }
        match provider.verify_stated(claims, audiences) {
            Ok(Tri::Yes) if provider.sets_headers() => {
                self.unknown(provider, "the token, whose claims become headers")
            }
            Ok(Tri::Yes) => {
                let claims = with_issuer(claims, provider);
                let key = provider.payload_in_metadata.clone();
                self.extracted.push((key, MetadataEntry::Claims(claims)));
                RequirementOutcome::Met
            }
            Ok(Tri::No) => RequirementOutcome::Failed(JwtStatus::VerificationFails),
            Ok(Tri::Unknown(fact)) => self.unknown(provider, &fact),
            Err(status) => RequirementOutcome::Failed(status),
        }
    }

    /// A requirement is met, but what was extracted on the way may be something else.
    pub(super) fn doubted(&mut self, fact: Box<str>) -> RequirementOutcome {
        for (_, known) in &mut self.extracted {
            *known = MetadataEntry::Unknown(fact.clone());
        }
        if self.changes_request(&fact) {
            return RequirementOutcome::Unknown(fact);
        }
        RequirementOutcome::Met
    }

    fn unknown_of(&mut self, providers: &[&JwtProvider], fact: &str) -> RequirementOutcome {
        for provider in providers {
            self.unknown(provider, fact);
        }
        RequirementOutcome::Unknown(fact.into())
    }

    fn unknown(&mut self, provider: &JwtProvider, fact: &str) -> RequirementOutcome {
        let key = provider.payload_in_metadata.clone();
        self.extracted
            .push((key, MetadataEntry::Unknown(fact.into())));
        RequirementOutcome::Unknown(fact.into())
    }
}

fn issuer_of(claims: &[(String, String)]) -> Option<&str> {
    for (claim, value) in claims {
        if claim == "iss" {
            return Some(value);
        }
    }
    None
}

/// A token that this provider takes has its issuer, also when the user did not say so.
fn with_issuer(claims: &[(String, String)], provider: &JwtProvider) -> Vec<(String, String)> {
    let mut claims = claims.to_vec();
    if issuer_of(&claims).is_none() && !provider.issuer.is_empty() {
        claims.push(("iss".to_owned(), provider.issuer.to_string()));
    }
    claims
}
