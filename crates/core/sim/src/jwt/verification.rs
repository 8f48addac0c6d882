//! The verification of one request's tokens.

use std::collections::BTreeMap;

use super::extract::{Extracted, Locations};
use super::provider::{Audiences, Provider};
use super::requirement::Outcome;
use super::status::Status;
use super::token::Token;
use crate::request::Claims;
use crate::state::Known;
use crate::{State, Tri};
use meshladder_text::time::Time;

/// One request's verification.
pub(super) struct Verification<'v, 'r> {
    pub(super) providers: &'v BTreeMap<Box<str>, Provider>,
    pub(super) now: Time,
    pub(super) state: &'v mut State<'r>,
    /// What goes into the metadata of the filter.
    pub(super) extracted: Vec<(Box<str>, Known)>,
}

const NO_TOKEN: &str = "whether the request carries a token";
const NO_ISSUER: &str = "the claim iss of the token";

/// What a user said of a token that is not in the request.
enum Stated {
    Nothing,
    Claims(Vec<(String, String)>),
}

impl<'v> Verification<'v, '_> {
    /// All tokens in the places of one provider must be good.
    pub(super) fn of_provider(
        &mut self,
        name: &str,
        audiences: Option<&Audiences>,
        locations: &Locations,
    ) -> Outcome {
        let Some(provider) = self.providers.get(name) else {
            return Outcome::Unknown(
                format!("what the JWT provider {name} is, which the filter does not have").into(),
            );
        };
        provider.sanitize(self.state);
        let audiences = audiences.unwrap_or(&provider.audiences);
        let mut tokens = match self.tokens(locations) {
            Ok(tokens) => tokens,
            Err(Stated::Nothing) => return self.unknown(provider, NO_TOKEN),
            Err(Stated::Claims(claims)) => return self.stated(&claims, provider, audiences),
        };
        let mut outcome = if tokens.is_empty() {
            Outcome::Failed(Status::Missing)
        } else {
            Outcome::Met
        };
        while let (Some(extracted), Outcome::Met) = (tokens.pop(), &outcome) {
            outcome = self.token(&extracted, provider, audiences);
        }
        outcome
    }

    /// `allow_missing` and `allow_missing_or_failed` look at the tokens of all providers; the last
    /// one decides.
    pub(super) fn of_all(&mut self, locations: &Locations, allow_failed: bool) -> Outcome {
        let providers = self.providers;
        for provider in providers.values() {
            provider.sanitize(self.state);
        }
        let outcome = match self.tokens(locations) {
            Ok(mut tokens) => {
                let mut last = Outcome::Failed(Status::Missing);
                // Behind a token that may have been good, nothing is certain.
                while !matches!(last, Outcome::Unknown(_)) && !tokens.is_empty() {
                    last = tokens
                        .pop()
                        .map_or(last, |extracted| self.token_of_any(&extracted));
                }
                last
            }
            Err(stated) => self.stated_for_any(&stated),
        };
        self.allowed(outcome, true, allow_failed)
    }

    /// What is left of an outcome where tokens may be missing or bad.
    pub(super) fn allowed(
        &self,
        outcome: Outcome,
        allow_missing: bool,
        allow_failed: bool,
    ) -> Outcome {
        match outcome {
            Outcome::Failed(Status::Missing) if allow_missing || allow_failed => Outcome::Met,
            Outcome::Failed(_) if allow_failed => Outcome::Met,
            // Passing is certain then; what later filters see is not.
            Outcome::Unknown(fact) if allow_failed && !self.changes_request(&fact) => Outcome::Met,
            other => other,
        }
    }

    /// Whether later filters may see another request, depending on the fact. A token that nobody
    /// stated is in no header that others look at.
    fn changes_request(&self, fact: &str) -> bool {
        let changes = if fact == NO_TOKEN {
            Provider::sets_headers
        } else {
            Provider::changes_request
        };
        self.providers.values().any(changes)
    }

    fn token_of_any(&mut self, extracted: &Extracted) -> Outcome {
        let issuer = match Token::parse(&extracted.token) {
            Ok(token) => token.issuer,
            Err(status) => return Outcome::Failed(status),
        };
        match self.provider_of(&issuer).as_slice() {
            [] => Outcome::Failed(Status::UnknownIssuer),
            [provider] => self.token(extracted, provider, &provider.audiences),
            several => self.unknown_of(
                several,
                &format!("which of the JWT providers for {issuer} Envoy takes"),
            ),
        }
    }

    /// "Jwt iss field is used to find the first provider with the issuer. If not found, use the
    /// first provider without issuer specified." Which is the first is not told: they are in a map.
    fn provider_of(&self, issuer: &str) -> Vec<&'v Provider> {
        let with = |issuer: &str| {
            self.providers
                .values()
                .filter(|p| *p.issuer == *issuer)
                .collect::<Vec<_>>()
        };
        Some(with(issuer))
            .filter(|found| !found.is_empty())
            .unwrap_or_else(|| with(""))
    }

    /// The tokens of the request; what the user said of them when there are none.
    fn tokens(&self, locations: &Locations) -> Result<Vec<Extracted>, Stated> {
        let mut tokens = locations.extract(&self.state.request);
        match &self.state.request.claims {
            Claims::Token(token) if tokens.iter().all(|t| t.token != *token) => {
                tokens.push(Extracted::stated(token))
            }
            Claims::Given(claims) if tokens.is_empty() => {
                return Err(Stated::Claims(claims.clone()));
            }
            Claims::Unknown if tokens.is_empty() => return Err(Stated::Nothing),
            _ => {}
        }
        Ok(tokens)
    }

    fn token(
        &mut self,
        extracted: &Extracted,
        provider: &Provider,
        audiences: &Audiences,
    ) -> Outcome {
        let token = match Token::parse(&extracted.token) {
            Ok(token) => token,
            Err(status) => return Outcome::Failed(status),
        };
        let own = provider.issuer.is_empty() || *provider.issuer == *token.issuer;
        if !extracted
            .issuers
            .as_ref()
            .map_or(own, |issuers| issuers.allow(&token.issuer))
        {
            return Outcome::Failed(Status::UnknownIssuer);
        }
        match provider.verify(&token, audiences, self.now) {
            Ok(Tri::Yes) => {
                let extracted = provider.accept(&token, extracted, self.state);
                self.extracted.extend(extracted);
                Outcome::Met
            }
            Ok(Tri::No) => Outcome::Failed(Status::VerificationFails),
            Ok(Tri::Unknown(fact)) => self.unknown(provider, &fact),
            Err(status) => Outcome::Failed(status),
        }
    }

    fn stated_for_any(&mut self, stated: &Stated) -> Outcome {
        let providers = self.providers;
        let Stated::Claims(claims) = stated else {
            return self.unknown_of(&providers.values().collect::<Vec<_>>(), NO_TOKEN);
        };
        let found = match issuer_of(claims) {
            Some(issuer) => self.provider_of(issuer),
            None => providers.values().collect(),
        };
        match found.as_slice() {
            [] => Outcome::Failed(Status::UnknownIssuer),
            [provider] => self.stated(claims, provider, &provider.audiences),
            several => self.unknown_of(several, NO_ISSUER),
        }
    }

    /// A user's word that the request carries a good token with these claims.
    fn stated(
        &mut self,
        claims: &[(String, String)],
        provider: &Provider,
        audiences: &Audiences,
    ) -> Outcome {
        match issuer_of(claims) {
            // A good token is one of a provider of this filter.
            None if self.providers.len() > 1 && !provider.issuer.is_empty() => {
                return self.unknown(provider, NO_ISSUER);
            }
            Some(issuer) if !provider.issuer.is_empty() && *provider.issuer != *issuer => {
                return Outcome::Failed(Status::UnknownIssuer);
            }
            _ => {}
        }
        match provider.verify_stated(claims, audiences) {
            Ok(Tri::Yes) if provider.sets_headers() => {
                self.unknown(provider, "the token, whose claims become headers")
            }
            Ok(Tri::Yes) => {
                let mut claims = claims.to_vec();
                if issuer_of(&claims).is_none() && !provider.issuer.is_empty() {
                    claims.push(("iss".to_owned(), provider.issuer.to_string()));
                }
                self.extracted
                    .push((provider.payload_in_metadata.clone(), Known::Claims(claims)));
                Outcome::Met
            }
            Ok(Tri::No) => Outcome::Failed(Status::VerificationFails),
            Ok(Tri::Unknown(fact)) => self.unknown(provider, &fact),
            Err(status) => Outcome::Failed(status),
        }
    }

    /// A requirement is met, but what was extracted on the way may be something else.
    pub(super) fn doubted(&mut self, fact: Box<str>) -> Outcome {
        for (_, known) in &mut self.extracted {
            *known = Known::Unknown(fact.clone());
        }
        if self.changes_request(&fact) {
            Outcome::Unknown(fact)
        } else {
            Outcome::Met
        }
    }

    fn unknown_of(&mut self, providers: &[&Provider], fact: &str) -> Outcome {
        for provider in providers {
            self.unknown(provider, fact);
        }
        Outcome::Unknown(fact.into())
    }

    fn unknown(&mut self, provider: &Provider, fact: &str) -> Outcome {
        self.extracted.push((
            provider.payload_in_metadata.clone(),
            Known::Unknown(fact.into()),
        ));
        Outcome::Unknown(fact.into())
    }
}

fn issuer_of(claims: &[(String, String)]) -> Option<&str> {
    claims
        .iter()
        .find(|(claim, _)| claim == "iss")
        .map(|(_, value)| &**value)
}
