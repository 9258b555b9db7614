//! Names: qualified, local to a function, of operators and constructors.

use super::parser::{Parser, Qualifiers, Scope, Substitution, Text, cat, decimal};

/// A name and what it says about the function that it names.
#[derive(Clone, Debug, Default)]
pub struct Name {
    pub text: Text,
    /// The component that constructors after it are named by.
    last: Text,
    /// The last component has template arguments: the encoding begins with the type of the result.
    template: bool,
    /// Constructors, destructors and conversions have no such type.
    no_result: bool,
    /// What follows the parameters: qualifiers.
    qualifiers: Text,
    /// The variant of a constructor or destructor, after everything.
    variant: &'static str,
}

/// `operator` and this.
fn operator(code: [u8; 2]) -> Option<&'static str> {
    Some(match &code {
        b"nw" => "new ",
        b"na" => "new[] ",
        b"dl" => "delete ",
        b"da" => "delete[] ",
        b"aw" => "co_await",
        b"cl" => "()",
        b"ix" => "[]",
        b"qu" => "?",
        _ => return symbol(code),
    })
}

/// The sign of an operator, as in expressions.
pub fn symbol(code: [u8; 2]) -> Option<&'static str> {
    Some(match &code {
        b"ps" | b"pl" => "+",
        b"ng" | b"mi" => "-",
        b"ad" | b"an" => "&",
        b"de" | b"ml" => "*",
        b"co" => "~",
        b"dv" => "/",
        b"rm" => "%",
        b"or" => "|",
        b"eo" => "^",
        b"aS" => "=",
        b"pL" => "+=",
        b"mI" => "-=",
        b"mL" => "*=",
        b"dV" => "/=",
        b"rM" => "%=",
        b"aN" => "&=",
        b"oR" => "|=",
        b"eO" => "^=",
        b"ls" => "<<",
        b"rs" => ">>",
        b"lS" => "<<=",
        b"rS" => ">>=",
        b"eq" => "==",
        b"ne" => "!=",
        b"lt" => "<",
        b"gt" => ">",
        b"le" => "<=",
        b"ge" => ">=",
        b"ss" => "<=>",
        b"nt" => "!",
        b"aa" => "&&",
        b"oo" => "||",
        b"pp" => "++",
        b"mm" => "--",
        b"cm" => ",",
        b"pm" => "->*",
        b"pt" => "->",
        _ => return None,
    })
}

impl Parser<'_> {
    /// A whole symbol. Without `full`, as an argument of a template, a function is its name alone.
    pub(super) fn encoding(&mut self, full: bool) -> Option<Text> {
        self.deeper(|parser| parser.encoding_here(full))
    }

    fn encoding_here(&mut self, full: bool) -> Option<Text> {
        if matches!(self.peek(), b'T' | b'G') {
            return self.special();
        }
        let name = self.name()?;
        if self.at_end() || self.peek() == b'E' {
            return Some(cat![name.text, name.variant]);
        }
        let mut result = Text::new();
        if name.template && !name.no_result {
            result = cat![self.type_()?.print()?, " "];
        }
        let parameters = self.parameters()?;
        if !full {
            return Some(name.text);
        }
        let Name { text, qualifiers, variant, .. } = name;
        Some(cat![result, text, "(", parameters, ")", qualifiers, variant])
    }

    fn special(&mut self) -> Option<Text> {
        const OF_TYPES: &[(&str, &str)] = &[
            ("TV", "Virtual function table for "),
            ("TT", "Virtual table table for "),
            ("TI", "Typeinfo for "),
            ("TS", "Typeinfo name for "),
        ];
        for (code, words) in OF_TYPES {
            if self.take(code) {
                return Some(cat![words, self.type_()?.print()?]);
            }
        }
        if self.take("GV") {
            return Some(cat!["Initialization guard variable for ", self.name()?.text]);
        }
        let offsets = if self.take("Tv") {
            cat![self.offset()?, ", virtual offset ", self.offset()?]
        } else {
            self.expect("Th")?;
            self.offset()?
        };
        Some(cat!["Thunk for (offset ", offsets, ") ", self.encoding(true)?])
    }

    fn offset(&mut self) -> Option<Text> {
        let sign = if self.take("n") { "-" } else { "" };
        let offset = self.digits()?;
        self.expect("_")?;
        Some(cat![sign, decimal(offset)])
    }

    pub(super) fn name(&mut self) -> Option<Name> {
        self.deeper(|parser| match parser.peek() {
            b'N' => parser.nested_name(),
            b'Z' => parser.local_name(),
            _ => parser.plain_name(),
        })
    }

    /// A name outside of all classes, or directly in `std`.
    fn plain_name(&mut self) -> Option<Name> {
        let name = if self.peek() == b'S' && self.peek_at(1) != b't' {
            let scope = self.substitution()?.into_scope()?;
            if self.peek() != b'I' {
                return None;
            }
            Name { text: scope.text, last: scope.last, ..Name::default() }
        } else {
            let prefix = if self.take("St") { "std::" } else { "" };
            let part = self.component(None)?;
            let name = Name { text: cat![prefix, part.text], ..part };
            if self.peek() != b'I' {
                return Some(name);
            }
            self.remember(Substitution::Prefix(name.scope()))?;
            name
        };
        let arguments = self.template_arguments()?;
        Some(Name { text: cat![name.text, arguments], template: true, ..name })
    }

    fn nested_name(&mut self) -> Option<Name> {
        self.expect("N")?;
        let qualifiers: Qualifiers = self.qualifiers();
        let mut trailing = qualifiers.trailing();
        if self.take("R") {
            trailing.extend_from_slice(b" &");
        } else if self.take("O") {
            trailing.extend_from_slice(b" &&");
        }
        let mut name = Name::default();
        // Every beginning of the name can be referred to; the whole of it is remembered as a type.
        let mut pending = None;
        while !self.take("E") {
            if let Some(scope) = pending.take() {
                self.remember(Substitution::Prefix(scope))?;
            }
            let known;
            (name, known) = self.nested_part(name)?;
            pending = (!known).then(|| name.scope());
        }
        name.qualifiers = trailing;
        (!name.text.is_empty() || !name.last.is_empty() || pending.is_some()).then_some(name)
    }

    /// One more component of a nested name, and whether it was a reference to an earlier one.
    fn nested_part(&mut self, mut scope: Name) -> Option<(Name, bool)> {
        let part = match self.peek() {
            b'S' if self.peek_at(1) == b't' => {
                self.skip(2);
                let text = if scope.text.is_empty() { b"std".into() } else { cat![scope.text, "::std"] };
                return Some((Name { text, last: b"std".into(), ..Name::default() }, true));
            }
            b'S' if scope.text.is_empty() => {
                let scope = self.substitution()?.into_scope()?;
                return Some((Name { text: scope.text, last: scope.last, ..Name::default() }, true));
            }
            b'I' => {
                scope.text.extend(self.template_arguments()?);
                return Some((Name { template: true, ..scope }, false));
            }
            b'T' => {
                let text = self.template_parameter()?;
                Name { last: text.clone(), text, ..Name::default() }
            }
            b'D' if matches!(self.peek_at(1), b't' | b'T') => {
                let text = self.decltype()?;
                Name { last: text.clone(), text, ..Name::default() }
            }
            // The variable or member that a closure belongs to.
            b'M' => {
                self.skip(1);
                return Some((scope, true));
            }
            _ => self.component(Some(&scope.last))?,
        };
        let mut text = scope.text;
        if !text.is_empty() && !part.text.is_empty() {
            text.extend_from_slice(b"::");
        }
        text.extend(part.text);
        Some((Name { text, ..part }, false))
    }

    pub(super) fn decltype(&mut self) -> Option<Text> {
        let bare = self.peek_at(1) == b't';
        self.skip(2);
        let expression = self.expression()?;
        self.expect("E")?;
        Some(if bare { cat!["decltype(", expression, ")"] } else { cat!["decltype((", expression, "))"] })
    }

    /// `Z function E entity`.
    fn local_name(&mut self) -> Option<Name> {
        self.expect("Z")?;
        let function = self.encoding(true)?;
        self.expect("E")?;
        if self.take("s") {
            let text = cat![function, "::string", self.discriminator()?];
            return Some(Name { text, ..Name::default() });
        }
        let scope = if self.take("d") {
            cat![function, "::[default argument ", decimal(self.ordinal()?), " (from end)]"]
        } else {
            function
        };
        let name = self.name()?;
        let text = cat![scope, "::", name.text, self.discriminator()?];
        Some(Name { text, ..name })
    }

    /// Which of several equally named entities of a function it is.
    fn discriminator(&mut self) -> Option<Text> {
        if !self.take("_") {
            return Some(Text::new());
        }
        let number = if self.take("_") {
            let number = self.digits()?;
            self.expect("_")?;
            number
        } else {
            let digit = self.next();
            digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?
        };
        Some(cat![" (instance ", decimal(number.checked_add(2)?), ")"])
    }

    /// A component: an identifier, an operator, a type without name, or a constructor of the class before it.
    fn component(&mut self, class: Option<&[u8]>) -> Option<Name> {
        let mut name = match (self.peek(), class) {
            (b'0'..=b'9', _) => {
                let text = shown(self.source_name()?)?;
                Name { last: text.clone(), text, ..Name::default() }
            }
            (b'C', Some(class)) => self.constructor(class)?,
            (b'D', Some(class)) => self.destructor(class)?,
            (b'U', _) => self.unnamed()?,
            (b'a'..=b'z', _) => self.operator_name()?,
            _ => return None,
        };
        if self.peek() == b'B' {
            let mut tags = Vec::new();
            while self.take("B") {
                tags.push(self.source_name()?);
            }
            let tags = cat!["[abi:", tags.join(&b","[..]), "]"];
            name.text.extend_from_slice(&tags);
            name.last.extend(tags);
        }
        Some(name)
    }

    fn constructor(&mut self, scope: &[u8]) -> Option<Name> {
        self.expect("C")?;
        if self.take("I") {
            let variant = match self.next() {
                b'1' => " [complete inheriting]",
                b'2' => " [base inheriting]",
                _ => return None,
            };
            let text = self.type_()?.print()?;
            return Some(Name { last: text.clone(), text, no_result: true, variant, ..Name::default() });
        }
        let variant = match self.next() {
            b'1' => "",
            b'2' => " [subobject]",
            b'3' => " [allocating]",
            b'9' => " [delegation]",
            _ => return None,
        };
        Some(Name { text: scope.into(), last: scope.into(), no_result: true, variant, ..Name::default() })
    }

    fn destructor(&mut self, scope: &[u8]) -> Option<Name> {
        self.expect("D")?;
        let variant = match self.next() {
            b'0' => " [deleting]",
            b'1' => "",
            b'2' => " [subobject]",
            b'9' => " [delegation]",
            _ => return None,
        };
        let text = cat!["~", scope];
        Some(Name { text, last: scope.into(), no_result: true, variant, ..Name::default() })
    }

    /// A closure, or a type without a name.
    fn unnamed(&mut self) -> Option<Name> {
        let text = if self.take("Ut") {
            cat!["[unnamed type (instance ", decimal(self.ordinal()?), ")]"]
        } else {
            self.expect("Ul")?;
            let parameters = self.parameters()?;
            self.expect("E")?;
            cat!["[lambda(", parameters, ") (instance ", decimal(self.ordinal()?), ")]"]
        };
        Some(Name { last: text.clone(), text, ..Name::default() })
    }

    fn operator_name(&mut self) -> Option<Name> {
        if self.take("cv") {
            let outer = std::mem::replace(&mut self.in_conversion, true);
            let to = self.type_()?.print()?;
            self.in_conversion = outer;
            let text = cat!["operator ", to];
            return Some(Name { last: text.clone(), text, no_result: true, ..Name::default() });
        }
        if self.take("li") {
            let text = cat!["operator \"\"", self.source_name()?];
            return Some(Name { last: text.clone(), text, ..Name::default() });
        }
        let text = cat!["operator ", operator([self.next(), self.next()])?];
        Some(Name { last: text.clone(), text, ..Name::default() })
    }

    pub(super) fn identifier(&mut self) -> Option<Text> {
        let name = self.source_name()?;
        is_identifier(&name).then_some(name)
    }

    /// A length and as many bytes.
    fn source_name(&mut self) -> Option<Text> {
        let length = usize::try_from(self.digits()?).ok().filter(|length| *length > 0)?;
        self.take_bytes(length).map(<[u8]>::to_vec)
    }

    /// A name in an expression that is looked up when the template is used.
    pub(super) fn unresolved_name(&mut self) -> Option<Text> {
        if self.take("on") {
            let mut text = self.operator_name()?.text;
            if self.peek() == b'I' {
                text.extend(self.template_arguments()?);
            }
            return Some(text);
        }
        if self.take("sr") {
            return self.scoped_name();
        }
        if self.take("dn") {
            let of = if self.peek() == b'T' { self.template_parameter()? } else { self.identifier()? };
            return Some(cat!["~", of]);
        }
        let mut text = self.component(None)?.text;
        if self.peek() == b'I' {
            text.extend(self.template_arguments()?);
        }
        Some(text)
    }
}

impl Name {
    fn scope(&self) -> Scope {
        Scope { text: self.text.clone(), last: self.last.clone() }
    }
}

/// Namespaces that the compiler made: of the module, which is not shown, and those without a name.
fn shown(name: Text) -> Option<Text> {
    if name.starts_with(b"_INTERNAL") {
        Some(Text::new())
    } else if name.starts_with(b"_GLOBAL__N_") {
        Some(b"<unnamed>".into())
    } else {
        is_identifier(&name).then_some(name)
    }
}

/// nvlink takes a name with any other byte in it for no name of C++, and prints the whole symbol as it is.
fn is_identifier(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}
