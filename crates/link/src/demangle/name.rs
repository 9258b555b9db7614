//! Names: qualified, local to a function, of operators and constructors.

use super::types::Qualifiers;
use super::{Parser, Scope, Substitution};

/// A name and what it says about the function that it names.
#[derive(Clone, Debug, Default)]
pub struct Name {
    pub text: String,
    /// The component that constructors behind it are named by.
    last: String,
    /// The last component has template arguments: the encoding begins with the type of the result.
    template: bool,
    /// Constructors, destructors and conversions have no such type.
    no_result: bool,
    /// What follows the parameters: qualifiers.
    qualifiers: String,
    /// The variant of a constructor or destructor, behind everything.
    variant: &'static str,
}

/// `operator` and this.
fn operator(code: &[u8]) -> Option<&'static str> {
    Some(match code {
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
pub fn symbol(code: &[u8]) -> Option<&'static str> {
    Some(match code {
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
    pub(super) fn encoding(&mut self, full: bool) -> Option<String> {
        self.deeper(|parser| parser.encoding_here(full))
    }

    fn encoding_here(&mut self, full: bool) -> Option<String> {
        if matches!(self.peek(), b'T' | b'G') {
            return self.special();
        }
        let name = self.name()?;
        if self.at_end() || self.peek() == b'E' {
            return Some(name.text + name.variant);
        }
        let mut result = String::new();
        if name.template && !name.no_result {
            result = self.type_()?.print() + " ";
        }
        let parameters = self.parameters()?;
        if !full {
            return Some(name.text);
        }
        let Name { text, qualifiers, variant, .. } = name;
        Some(format!("{result}{text}({parameters}){qualifiers}{variant}"))
    }

    fn special(&mut self) -> Option<String> {
        const OF_TYPES: &[(&str, &str)] = &[
            ("TV", "Virtual function table for "),
            ("TT", "Virtual table table for "),
            ("TI", "Typeinfo for "),
            ("TS", "Typeinfo name for "),
        ];
        for (code, words) in OF_TYPES {
            if self.take(code) {
                return Some(format!("{words}{}", self.type_()?.print()));
            }
        }
        if self.take("GV") {
            return Some(format!("Initialization guard variable for {}", self.name()?.text));
        }
        let offsets = if self.take("Tv") {
            let fixed = self.offset()?;
            format!("{fixed}, virtual offset {}", self.offset()?)
        } else {
            self.expect("Th")?;
            self.offset()?
        };
        Some(format!("Thunk for (offset {offsets}) {}", self.encoding(true)?))
    }

    fn offset(&mut self) -> Option<String> {
        let sign = if self.take("n") { "-" } else { "" };
        let offset = self.digits()?;
        self.expect("_")?;
        Some(format!("{sign}{offset}"))
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
            let scope = self.substitution()?.into_scope();
            if self.peek() != b'I' {
                return None;
            }
            Name { text: scope.text, last: scope.last, ..Name::default() }
        } else {
            let prefix = if self.take("St") { "std::" } else { "" };
            let part = self.component("")?;
            let name = Name { text: prefix.to_owned() + &part.text, ..part };
            if self.peek() != b'I' {
                return Some(name);
            }
            self.remember(Substitution::Prefix(name.scope()));
            name
        };
        let arguments = self.template_arguments()?;
        Some(Name { text: name.text + &arguments, template: true, ..name })
    }

    fn nested_name(&mut self) -> Option<Name> {
        self.expect("N")?;
        let qualifiers: Qualifiers = self.qualifiers();
        let mut trailing = qualifiers.trailing();
        if self.take("R") {
            trailing.push_str(" &");
        } else if self.take("O") {
            trailing.push_str(" &&");
        }
        let mut name = Name::default();
        // Every beginning of the name can be referred to; the whole of it is remembered as a type.
        let mut pending = None;
        while !self.take("E") {
            if let Some(scope) = pending.take() {
                self.remember(Substitution::Prefix(scope));
            }
            let known;
            (name, known) = self.nested_part(name)?;
            pending = (!known).then(|| name.scope());
        }
        name.qualifiers = trailing;
        (!name.text.is_empty() || !name.last.is_empty() || pending.is_some()).then_some(name)
    }

    /// One more component of a nested name, and whether it was a reference to an earlier one.
    fn nested_part(&mut self, scope: Name) -> Option<(Name, bool)> {
        let part = match self.peek() {
            b'S' if self.peek_at(1) == b't' => {
                self.at += 2;
                return Some((Name { text: "std".into(), last: "std".into(), ..Name::default() }, true));
            }
            b'S' => {
                let scope = self.substitution()?.into_scope();
                return Some((Name { text: scope.text, last: scope.last, ..Name::default() }, true));
            }
            b'I' => {
                let arguments = self.template_arguments()?;
                return Some((Name { text: scope.text + &arguments, template: true, ..scope }, false));
            }
            b'T' => {
                let text = self.template_parameter()?;
                Name { last: text.clone(), text, ..Name::default() }
            }
            b'D' if matches!(self.peek_at(1), b't' | b'T') => {
                let text = self.type_d_text()?;
                Name { last: text.clone(), text, ..Name::default() }
            }
            // The variable or member that a closure belongs to.
            b'M' => {
                self.at += 1;
                return Some((scope, true));
            }
            _ => self.component(&scope.last)?,
        };
        let between = if scope.text.is_empty() || part.text.is_empty() { "" } else { "::" };
        Some((Name { text: scope.text + between + &part.text, ..part }, false))
    }

    fn type_d_text(&mut self) -> Option<String> {
        let bare = self.peek_at(1) == b't';
        self.at += 2;
        let expression = self.expression()?;
        self.expect("E")?;
        Some(if bare { format!("decltype({expression})") } else { format!("decltype(({expression}))") })
    }

    /// `Z function E entity`.
    fn local_name(&mut self) -> Option<Name> {
        self.expect("Z")?;
        let function = self.encoding(true)?;
        self.expect("E")?;
        if self.take("s") {
            let text = format!("{function}::string{}", self.discriminator()?);
            return Some(Name { text, ..Name::default() });
        }
        let scope = if self.take("d") {
            format!("{function}::[default argument {} (from end)]", self.ordinal()?)
        } else {
            function
        };
        let name = self.name()?;
        let text = format!("{scope}::{}{}", name.text, self.discriminator()?);
        Some(Name { text, ..name })
    }

    /// Which of several equally named entities of a function it is.
    fn discriminator(&mut self) -> Option<String> {
        if !self.take("_") {
            return Some(String::new());
        }
        let number = if self.take("_") {
            let number = self.digits()?;
            self.expect("_")?;
            number
        } else {
            let digit = self.next();
            digit.is_ascii_digit().then(|| usize::from(digit - b'0'))?
        };
        Some(format!(" (instance {})", number.checked_add(2)?))
    }

    /// A component: an identifier, an operator, a constructor or a type without name.
    fn component(&mut self, scope: &str) -> Option<Name> {
        let mut name = match self.peek() {
            b'0'..=b'9' => {
                let text = shown(self.identifier()?);
                Name { last: text.clone(), text, ..Name::default() }
            }
            b'C' => self.constructor(scope)?,
            b'D' if self.peek_at(1).is_ascii_digit() => self.destructor(scope)?,
            b'U' => self.unnamed()?,
            b'a'..=b'z' => self.operator_name()?,
            _ => return None,
        };
        if self.peek() == b'B' {
            let mut tags = Vec::new();
            while self.take("B") {
                tags.push(self.identifier()?);
            }
            let tags = format!("[abi:{}]", tags.join(","));
            name.text += &tags;
            name.last += &tags;
        }
        Some(name)
    }

    fn constructor(&mut self, scope: &str) -> Option<Name> {
        self.expect("C")?;
        if self.take("I") {
            let variant = match self.next() {
                b'1' => " [complete inheriting]",
                b'2' => " [base inheriting]",
                _ => return None,
            };
            let text = self.type_()?.print();
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

    fn destructor(&mut self, scope: &str) -> Option<Name> {
        self.expect("D")?;
        let variant = match self.next() {
            b'0' => " [deleting]",
            b'1' => "",
            b'2' => " [subobject]",
            b'9' => " [delegation]",
            _ => return None,
        };
        let text = format!("~{scope}");
        Some(Name { text, last: scope.into(), no_result: true, variant, ..Name::default() })
    }

    /// A closure, or a type without a name.
    fn unnamed(&mut self) -> Option<Name> {
        let text = if self.take("Ut") {
            format!("[unnamed type (instance {})]", self.ordinal()?)
        } else {
            self.expect("Ul")?;
            let parameters = self.parameters()?;
            self.expect("E")?;
            format!("[lambda({parameters}) (instance {})]", self.ordinal()?)
        };
        Some(Name { last: text.clone(), text, ..Name::default() })
    }

    fn operator_name(&mut self) -> Option<Name> {
        if self.take("cv") {
            let outer = std::mem::replace(&mut self.in_conversion, true);
            let to = self.type_()?.print();
            self.in_conversion = outer;
            let text = format!("operator {to}");
            return Some(Name { last: text.clone(), text, no_result: true, ..Name::default() });
        }
        if self.take("li") {
            let text = format!("operator \"\"{}", self.identifier()?);
            return Some(Name { last: text.clone(), text, ..Name::default() });
        }
        let sign = operator(self.text.get(self.at..self.at + 2)?)?;
        self.at += 2;
        let text = format!("operator {sign}");
        Some(Name { last: text.clone(), text, ..Name::default() })
    }

    pub(super) fn identifier(&mut self) -> Option<String> {
        let length = self.digits()?;
        let bytes = self.text.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        (length > 0).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    /// A name in an expression that is looked up when the template is used.
    pub(super) fn unresolved_name(&mut self) -> Option<String> {
        if self.take("on") {
            let mut text = self.operator_name()?.text;
            if self.peek() == b'I' {
                text += &self.template_arguments()?;
            }
            return Some(text);
        }
        if self.take("sr") {
            return self.scoped_name();
        }
        if self.take("dn") {
            let of = if self.peek() == b'T' { self.template_parameter()? } else { self.identifier()? };
            return Some(format!("~{of}"));
        }
        let mut text = self.component("")?.text;
        if self.peek() == b'I' {
            text += &self.template_arguments()?;
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
fn shown(identifier: String) -> String {
    if identifier.starts_with("_INTERNAL") {
        String::new()
    } else if identifier.starts_with("_GLOBAL__N_") {
        "<unnamed>".into()
    } else {
        identifier
    }
}
