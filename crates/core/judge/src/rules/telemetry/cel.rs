//! Whether a text is an expression of the Common Expression Language: its grammar, and nothing
//! about what it means.
//!
//! <https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax>

mod token;

use token::Token;

/// Deeper ones are taken as they are.
const MAX_DEPTH: usize = 100;

/// What is wrong with a text that is no expression.
pub(super) fn problem(text: &str) -> Option<String> {
    let tokens = match token::all(text) {
        Ok(tokens) => tokens,
        Err(what) => return Some(what),
    };
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        depth: 0,
    };
    match parser.expression() {
        Ok(()) => parser
            .next()
            .map(|token| format!("{token} is out of place")),
        Err(Stop::Wrong(what)) => Some(what),
        Err(Stop::Deep) => None,
    }
}

struct Parser<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    depth: usize,
}

enum Stop {
    Wrong(String),
    Deep,
}

type Read = Result<(), Stop>;

impl<'t> Parser<'t> {
    fn next(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn is(&self, sign: &str) -> bool {
        self.next() == Some(Token::Sign(sign))
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, sign: &str) -> Read {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.wrong(&format!("`{sign}`")))
        }
    }

    fn wrong(&self, wanted: &str) -> Stop {
        Stop::Wrong(match self.next() {
            Some(token) => format!("{token} stands where {wanted} is needed"),
            None => format!("it ends where {wanted} is needed"),
        })
    }

    /// `Expr = ConditionalOr ["?" ConditionalOr ":" Expr]`
    fn expression(&mut self) -> Read {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Deep);
        }
        self.operands()?;
        if self.take("?") {
            self.operands()?;
            self.need(":")?;
            self.expression()?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Which operator binds how strongly does not matter for whether a text is one.
    fn operands(&mut self) -> Read {
        const OPERATORS: [&str; 13] = [
            "||", "&&", "<", "<=", ">=", ">", "==", "!=", "+", "-", "*", "/", "%",
        ];
        loop {
            self.unary()?;
            let is_in = self.next() == Some(Token::Word("in"));
            if !is_in && !OPERATORS.iter().any(|operator| self.is(operator)) {
                return Ok(());
            }
            self.at += 1;
        }
    }

    /// `Unary = Member | "!" {"!"} Member | "-" {"-"} Member`
    fn unary(&mut self) -> Read {
        let sign = if self.is("!") { "!" } else { "-" };
        while self.take(sign) {}
        self.primary()?;
        loop {
            if self.take(".") {
                self.take("?");
                self.name()?;
                self.call()?;
            } else if self.take("[") {
                self.take("?");
                self.expression()?;
                self.need("]")?;
            } else if self.take("{") {
                self.list("}", Self::entry)?;
            } else {
                return Ok(());
            }
        }
    }

    fn primary(&mut self) -> Read {
        match self.next() {
            Some(Token::Literal(_)) => {
                self.at += 1;
                Ok(())
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                self.expression()?;
                self.need(")")
            }
            Some(Token::Sign("[")) => {
                self.at += 1;
                self.list("]", Self::element)
            }
            Some(Token::Sign("{")) => {
                self.at += 1;
                self.list("}", Self::entry)
            }
            _ => {
                self.take(".");
                self.name()?;
                self.call()
            }
        }
    }

    fn name(&mut self) -> Read {
        match self.next() {
            Some(Token::Word(word)) if word != "in" => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.wrong("a value")),
        }
    }

    fn call(&mut self) -> Read {
        if self.take("(") {
            self.list(")", Self::expression)
        } else {
            Ok(())
        }
    }

    fn element(&mut self) -> Read {
        self.take("?");
        self.expression()
    }

    fn entry(&mut self) -> Read {
        self.element()?;
        self.need(":")?;
        self.expression()
    }

    /// Some of these with commas between, behind the opening bracket.
    fn list(&mut self, close: &str, one: fn(&mut Self) -> Read) -> Read {
        while !self.take(close) {
            one(self)?;
            // "[ExprList] [","] "]"", not so in a call.
            if !self.take(",") {
                return self.need(close);
            }
            if close == ")" && self.is(close) {
                return Err(self.wrong("a value"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
