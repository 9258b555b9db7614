//! Types. A declarator is printed in two parts, around what it declares: `int (*` and `)[3]`.

use super::parser::{LONGEST, Parser, Qualifiers, Scope, Substitution, Text, Type, cat, decimal};
use std::rc::Rc;

/// A text that only grows up to a limit.
struct Printed(Text);

impl Printed {
    fn push(&mut self, text: impl AsRef<[u8]>) -> Option<()> {
        let text = text.as_ref();
        (self.0.len() + text.len() <= LONGEST).then(|| self.0.extend_from_slice(text))
    }
}

impl Type {
    /// `None` if it is too long: the type of a vector prints its elements' twice, and they may be vectors.
    pub fn print(&self) -> Option<Text> {
        let mut out = Printed(Text::new());
        self.first(&mut out, false, false)?;
        self.second(&mut out, false)?;
        Some(out.0)
    }

    /// The part in front. `declared` says that a declarator follows which binds less than the suffix.
    fn first(&self, out: &mut Printed, declared: bool, space: bool) -> Option<()> {
        match self {
            Self::Name { text, spaced } => {
                out.push(text)?;
                out.push(if space && *spaced { " " } else { "" })
            }
            Self::Pointer(sign, of) => {
                of.first(out, true, true)?;
                out.push(sign)
            }
            Self::Member { class, of } => {
                of.first(out, true, true)?;
                out.push(" :: ")?;
                out.push(class.print()?)?;
                out.push("::*")
            }
            Self::Array { of, .. } => {
                of.first(out, false, true)?;
                out.push(if declared { "(" } else { "" })
            }
            Self::Function { result, .. } => {
                result.first(out, false, true)?;
                out.push(if declared { "(" } else { "" })
            }
            Self::Qualified { qualifiers, of } => match &**of {
                // What an array or a function is qualified with is elsewhere, or nowhere.
                Self::Array { .. } | Self::Function { .. } => of.first(out, declared, space),
                Self::Pointer(..) | Self::Member { .. } | Self::Complex(_) => {
                    of.first(out, declared, space)?;
                    out.push(qualifiers.leading())
                }
                _ => {
                    out.push(qualifiers.leading())?;
                    of.first(out, declared, space)
                }
            },
            Self::Vendor { name, of } => {
                of.first(out, false, true)?;
                out.push(name)
            }
            Self::Vector { count, of } => {
                of.first(out, false, false)?;
                out.push(" __attribute((vector_size(")?;
                out.push(count)?;
                out.push("*sizeof(")?;
                out.push(of.print()?)?;
                out.push(")))) ")?;
                out.push(if space { " " } else { "" })
            }
            Self::Complex(of) => {
                out.push("_Complex ")?;
                of.first(out, true, true)
            }
            Self::Pack(of) => {
                of.first(out, declared, false)?;
                out.push(if space { "... " } else { "..." })
            }
        }
    }

    /// The part after it.
    fn second(&self, out: &mut Printed, declared: bool) -> Option<()> {
        match self {
            Self::Name { .. } => Some(()),
            Self::Pointer(_, of) | Self::Member { of, .. } | Self::Complex(of) => of.second(out, true),
            Self::Array { bound, of } => {
                out.push(if declared { ")[" } else { "[" })?;
                out.push(bound)?;
                out.push("]")?;
                of.second(out, false)
            }
            Self::Function { result, parameters, qualifiers } => {
                out.push(if declared { ")(" } else { "(" })?;
                out.push(parameters)?;
                out.push(")")?;
                out.push(qualifiers)?;
                result.second(out, false)
            }
            Self::Qualified { of, .. }
            | Self::Vendor { of, .. }
            | Self::Vector { of, .. }
            | Self::Pack(of) => of.second(out, declared),
        }
    }
}

/// A type of its own: no substitution refers to it.
fn builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'a' => "signed char",
        b'b' => "bool",
        b'c' => "char",
        b'd' => "double",
        b'e' => "long double",
        b'f' => "float",
        b'g' => "__float128",
        b'h' => "unsigned char",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b's' => "short",
        b't' => "unsigned short",
        b'v' => "void",
        b'w' => "wchar_t",
        b'x' => "long long",
        b'y' => "unsigned long long",
        _ => return None,
    })
}

fn builtin_d(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'a' => "auto",
        b'c' => "decltype(auto)",
        b'h' => "__fp16",
        b'i' => "char32_t",
        b'n' => "std::nullptr_t",
        b's' => "char16_t",
        b'u' => "char8_t",
        _ => return None,
    })
}

pub fn named(text: impl Into<Text>) -> Rc<Type> {
    Rc::new(Type::Name { text: text.into(), spaced: true })
}

impl Parser<'_> {
    pub(super) fn type_(&mut self) -> Option<Rc<Type>> {
        self.deeper(Self::type_here)
    }

    fn type_here(&mut self) -> Option<Rc<Type>> {
        if let Some(text) = builtin(self.peek()) {
            self.skip(1);
            return Some(named(text));
        }
        if let Some(text) = self.builtin_of_two() {
            return Some(named(text));
        }
        if self.peek() == b'S' && self.peek_at(1) != b't' {
            return self.substituted_type();
        }
        let made = self.new_type()?;
        self.remember(Substitution::Type(made.clone()))?;
        Some(made)
    }

    fn builtin_of_two(&mut self) -> Option<Text> {
        if self.peek() != b'D' {
            return None;
        }
        if let Some(text) = builtin_d(self.peek_at(1)) {
            self.skip(2);
            return Some(text.into());
        }
        if self.peek_at(1) == b'F' {
            self.skip(2);
            let bits = self.digits().filter(|bits| matches!(bits, 16 | 32 | 64 | 128))?;
            return match self.next() {
                b'_' => Some(cat!["_Float", decimal(bits)]),
                b'x' => Some(cat!["_Float", decimal(bits), "x"]),
                b'b' if bits == 16 => Some("std::bfloat16_t".into()),
                _ => None,
            };
        }
        None
    }

    fn substituted_type(&mut self) -> Option<Rc<Type>> {
        let found = self.substitution()?;
        if self.peek() == b'I' {
            let scope = found.into_scope()?;
            let text = cat![scope.text, self.template_arguments()?];
            let made = Rc::new(Type::Name { text, spaced: false });
            self.remember(Substitution::Type(made.clone()))?;
            return Some(made);
        }
        Some(match found {
            Substitution::Type(found) => found,
            Substitution::Prefix(scope) => Rc::new(Type::Name { text: scope.text, spaced: false }),
        })
    }

    fn new_type(&mut self) -> Option<Rc<Type>> {
        let made = match self.peek() {
            b'r' | b'V' | b'K' => {
                let qualifiers = self.qualifiers();
                let of = self.type_unless_function(&qualifiers.trailing())?;
                match &*of {
                    Type::Function { .. } => return Some(of),
                    _ => Type::Qualified { qualifiers, of },
                }
            }
            b'P' => self.pointer("*")?,
            b'R' => self.pointer("&")?,
            b'O' => self.pointer("&&")?,
            b'M' => {
                self.skip(1);
                let class = self.type_()?;
                Type::Member { class, of: self.type_()? }
            }
            b'A' => self.array()?,
            b'u' => {
                self.skip(1);
                return self.identifier().map(named);
            }
            b'F' => self.function(b"")?,
            b'C' => {
                self.skip(1);
                Type::Complex(self.type_()?)
            }
            b'U' if self.peek_at(1).is_ascii_digit() => {
                self.skip(1);
                let name = self.identifier()?;
                let of = self.type_()?;
                if name == b"__vector" {
                    return Some(named(cat!["__attribute__((vector_size(?))) ", of.print()?]));
                }
                Type::Vendor { name, of }
            }
            b'T' => {
                let parameter = self.template_parameter()?;
                if self.peek() == b'I' && !self.in_conversion {
                    let (text, last) = (parameter.clone(), parameter.clone());
                    self.remember(Substitution::Prefix(Scope { text, last }))?;
                    let arguments = self.template_arguments()?;
                    return Some(named(cat![parameter, arguments]));
                }
                return Some(named(parameter));
            }
            b'D' => return self.type_d(),
            b'0'..=b'9' | b'N' | b'Z' | b'S' => return Some(named(self.name()?.text)),
            _ => return None,
        };
        Some(Rc::new(made))
    }

    fn type_d(&mut self) -> Option<Rc<Type>> {
        Some(match self.peek_at(1) {
            b'p' => {
                self.skip(2);
                Rc::new(Type::Pack(self.type_()?))
            }
            b't' | b'T' => named(self.decltype()?),
            b'v' => {
                self.skip(2);
                let count = decimal(self.digits()?);
                self.expect("_")?;
                Rc::new(Type::Vector { count, of: self.type_()? })
            }
            b'o' | b'O' => Rc::new(self.function(b"")?),
            _ => return None,
        })
    }

    fn pointer(&mut self, sign: &'static str) -> Option<Type> {
        self.skip(1);
        Some(Type::Pointer(sign, self.type_()?))
    }

    pub(super) fn qualifiers(&mut self) -> Qualifiers {
        let mut qualifiers = Qualifiers::default();
        loop {
            match self.peek() {
                b'r' => qualifiers.restrict = true,
                b'V' => qualifiers.volatile = true,
                b'K' => qualifiers.constant = true,
                _ => return qualifiers,
            }
            self.skip(1);
        }
    }

    /// What qualifiers apply to. A qualified function is one type together with them.
    fn type_unless_function(&mut self, qualifiers: &[u8]) -> Option<Rc<Type>> {
        let is_function =
            self.peek() == b'F' || (self.peek() == b'D' && matches!(self.peek_at(1), b'o' | b'O'));
        if is_function {
            return self.deeper(|parser| parser.function(qualifiers)).map(Rc::new);
        }
        self.type_()
    }

    fn array(&mut self) -> Option<Type> {
        self.skip(1);
        let bound = match self.peek() {
            b'_' => Text::new(),
            digit if digit.is_ascii_digit() => self.take_while(|byte| byte.is_ascii_digit()).to_vec(),
            _ => self.expression()?,
        };
        self.expect("_")?;
        Some(Type::Array { bound, of: self.type_()? })
    }

    fn function(&mut self, qualifiers: &[u8]) -> Option<Type> {
        let mut exception = Text::new();
        if self.take("Do") {
            exception.extend_from_slice(b" noexcept");
        } else if self.take("DO") {
            exception = cat![" noexcept(", self.expression()?, ")"];
            self.expect("E")?;
        }
        self.expect("F")?;
        self.take("Y");
        let result = self.type_()?;
        let parameters = self.parameters()?;
        let reference = match self.peek() {
            b'R' => " &",
            b'O' => " &&",
            _ => "",
        };
        self.skip(usize::from(!reference.is_empty()));
        self.expect("E")?;
        let qualifiers = cat![qualifiers, reference, exception];
        Some(Type::Function { result, parameters, qualifiers })
    }

    /// The parameters of a function, up to what cannot be a type; `v` alone is none.
    pub(super) fn parameters(&mut self) -> Option<Text> {
        if self.peek() == b'v' && self.ends_parameters(1) {
            self.skip(1);
            return Some(Text::new());
        }
        let mut list = Vec::new();
        while !self.ends_parameters(0) {
            if self.peek() == b'z' && self.ends_parameters(1) {
                self.skip(1);
                list.push(b"...".into());
            } else {
                list.push(self.type_()?.print()?);
            }
        }
        (!list.is_empty()).then(|| list.join(&b", "[..]))
    }

    /// Whether the byte at this offset ends a list of parameters, or is the qualifier of a function that ends.
    fn ends_parameters(&self, offset: usize) -> bool {
        match self.peek_at(offset) {
            0 | b'$' | b'E' => true,
            b'R' | b'O' => self.peek_at(offset + 1) == b'E',
            _ => false,
        }
    }

    pub(super) fn template_parameter(&mut self) -> Option<Text> {
        self.expect("T")?;
        Some(cat!["T", decimal(self.ordinal()?)])
    }

    /// `<…>`, without a blank between closing brackets.
    pub(super) fn template_arguments(&mut self) -> Option<Text> {
        self.expect("I")?;
        let in_conversion = std::mem::take(&mut self.in_conversion);
        let mut list = Vec::new();
        while !self.take("E") {
            self.template_argument(&mut list)?;
        }
        self.in_conversion = in_conversion;
        Some(cat!["<", list.join(&b", "[..]), ">"])
    }

    fn template_argument(&mut self, list: &mut Vec<Text>) -> Option<()> {
        match self.peek() {
            b'X' => {
                self.skip(1);
                list.push(self.expression()?);
                self.expect("E")?;
            }
            b'L' => list.push(self.literal()?),
            // A pack is part of the list, and nothing of it is an empty part.
            b'J' => {
                self.skip(1);
                if self.peek() == b'E' {
                    list.push(Text::new());
                }
                while !self.take("E") {
                    self.deeper(|parser| parser.template_argument(list))?;
                }
            }
            _ => list.push(self.type_()?.print()?),
        }
        Some(())
    }
}

impl Substitution {
    pub(super) fn into_scope(self) -> Option<Scope> {
        match self {
            Self::Prefix(scope) => Some(scope),
            Self::Type(of) => {
                let text = of.print()?;
                let name = text.split(|byte| *byte == b'<').next()?;
                let last = name.windows(2).rposition(|pair| pair == b"::").map_or(0, |at| at + 2);
                Some(Scope { last: name[last..].to_vec(), text })
            }
        }
    }
}
