//! How the verification of a token ends, in Envoy's words: they are the body of the answer and part
//! of its details.

/// Why a token, or the lack of one, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtStatus {
    /// There is none.
    Missing,
    /// `nbf` lies ahead.
    NotYetValid,
    /// `exp` has passed.
    Expired,
    /// Not three sections with dots between them.
    BadFormat,
    /// The first section is not base64url.
    HeaderBadBase64,
    /// The first section holds no JSON object.
    HeaderBadJson,
    /// `alg` is missing or no string.
    HeaderBadAlg,
    /// `alg` names nothing that Envoy implements.
    HeaderUnknownAlg,
    /// `kid` is no string.
    HeaderBadKid,
    /// The second section is not base64url.
    PayloadBadBase64,
    /// The second section holds no JSON object.
    PayloadBadJson,
    /// A registered claim has the wrong type.
    BadClaim(RegisteredClaim),
    /// `iat`, `nbf` or `exp` is negative or too large.
    OutOfRange(RegisteredClaim),
    /// The third section is not base64url.
    SignatureBadBase64,
    /// An Ed25519 signature has 64 bytes, this one has not.
    Ed25519WrongLength,
    /// No provider asked for has this issuer.
    UnknownIssuer,
    /// None of its audiences is allowed; the only failure that gives 403.
    AudienceNotAllowed,
    /// The signature, the subject or the lifetime is wrong.
    VerificationFails,
    /// The provider has no key at all.
    NoValidKeys,
    /// The provider has no key with that `kid` and `alg`.
    NoMatchingKey,
}

/// A registered claim of RFC 7519.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisteredClaim {
    /// `iss`
    Issuer,
    /// `sub`
    Subject,
    /// `iat`
    IssuedAt,
    /// `nbf`
    NotBefore,
    /// `exp`
    Expiration,
    /// `jti`
    Id,
    /// `aud`
    Audience,
}

impl RegisteredClaim {
    /// The member's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Issuer => "iss",
            Self::Subject => "sub",
            Self::IssuedAt => "iat",
            Self::NotBefore => "nbf",
            Self::Expiration => "exp",
            Self::Id => "jti",
            Self::Audience => "aud",
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Issuer | Self::Subject | Self::Id => "a string",
            Self::IssuedAt | Self::NotBefore | Self::Expiration => "an integer",
            Self::Audience => "a string or string list",
        }
    }
}

impl JwtStatus {
    /// Envoy's text, which is also the body of the answer.
    pub fn text(self) -> String {
        let fixed = match self {
            Self::Missing => "Jwt is missing",
            Self::NotYetValid => "Jwt not yet valid",
            Self::Expired => "Jwt is expired",
            Self::BadFormat => {
                "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections"
            }
            Self::HeaderBadBase64 => "Jwt header is an invalid Base64url encoded",
            Self::HeaderBadJson => "Jwt header is an invalid JSON",
            Self::HeaderBadAlg => "Jwt header [alg] field is required and must be a string",
            Self::HeaderUnknownAlg => "Jwt header [alg] is not supported",
            Self::HeaderBadKid => "Jwt header [kid] field is not a string",
            Self::PayloadBadBase64 => "Jwt payload is an invalid Base64url encoded",
            Self::PayloadBadJson => "Jwt payload is an invalid JSON",
            Self::SignatureBadBase64 => "Jwt signature is an invalid Base64url encoded",
            Self::Ed25519WrongLength => "Jwt ED25519 signature is wrong length",
            Self::UnknownIssuer => "Jwt issuer is not configured",
            Self::AudienceNotAllowed => "Audiences in Jwt are not allowed",
            Self::VerificationFails => "Jwt verification fails",
            Self::NoValidKeys => "Jwks doesn't have any valid public key",
            Self::NoMatchingKey => "Jwks doesn't have key to match kid or alg from Jwt",
            Self::BadClaim(claim) => {
                return format!(
                    "Jwt payload [{}] field is not {}",
                    claim.name(),
                    claim.wanted()
                );
            }
            Self::OutOfRange(claim) => {
                return format!(
                    "Jwt payload [{}] field is not a positive 64 bit integer",
                    claim.name()
                );
            }
        };
        fixed.to_owned()
    }

    /// `jwt_authn_access_denied{Jwt_is_missing}`: "Replace space with underscore since `RCDetails`
    /// may be written to access log."
    pub fn details(self) -> String {
        let text = self.text().replace(' ', "_");
        format!("jwt_authn_access_denied{{{text}}}")
    }

    /// "Failure to verify gives 401, audiences that are not allowed 403."
    pub fn code(self) -> u16 {
        match self {
            Self::AudienceNotAllowed => 403,
            _ => 401,
        }
    }
}
