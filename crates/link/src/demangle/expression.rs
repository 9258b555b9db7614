//! Expressions in template arguments, array bounds and `decltype`.

use super::Parser;
use super::name::symbol;

/// Operators of one operand, written in front of it.
const PREFIX: &[&[u8]] = &[b"ps", b"ng", b"ad", b"de", b"co", b"nt"];

const CASTS: &[(&str, &str)] =
    &[("sc", "static_cast"), ("dc", "dynamic_cast"), ("rc", "reinterpret_cast"), ("cc", "const_cast")];

/// Functions of a type and of an expression.
const OF_TYPE: &[(&str, &str)] = &[("st", "sizeof"), ("at", "alignof"), ("ti", "typeid")];
const OF_VALUE: &[(&str, &str)] =
    &[("sz", "sizeof"), ("az", "alignof"), ("te", "typeid"), ("nx", "noexcept")];

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Option<String> {
        self.deeper(Self::expression_here)
    }

    fn expression_here(&mut self) -> Option<String> {
        if self.peek() == b'L' {
            return self.literal();
        }
        if self.peek() == b'T' {
            return self.template_parameter();
        }
        if self.peek() == b'f' && matches!(self.peek_at(1), b'p' | b'L') && !self.at_fold() {
            return self.parameter();
        }
        if self.peek() == b'f' && matches!(self.peek_at(1), b'l' | b'r' | b'L' | b'R') {
            return self.fold_expression();
        }
        for (code, word) in CASTS {
            if self.take(code) {
                let to = self.type_()?.print();
                return Some(format!("{word}<{to}>({})", self.expression()?));
            }
        }
        for (code, word) in OF_TYPE {
            if self.take(code) {
                return Some(format!("{word}({})", self.type_()?.print()));
            }
        }
        for (code, word) in OF_VALUE {
            if self.take(code) {
                return Some(format!("{word}({})", self.expression()?));
            }
        }
        self.call_like()
    }

    fn call_like(&mut self) -> Option<String> {
        if self.take("cl") {
            let function = self.expression()?;
            return Some(format!("{function}({})", self.expressions()?));
        }
        if self.take("cv") {
            let to = self.type_()?.print();
            if self.take("_") {
                return Some(format!("{to}({})", self.expressions()?));
            }
            return Some(format!("({to}){}", self.expression()?));
        }
        if self.take("tl") {
            let of = self.type_()?.print();
            return Some(format!("{of}{{{}}}", self.expressions()?));
        }
        if self.take("il") {
            return Some(format!("{{{}}}", self.expressions()?));
        }
        if self.take("sr") {
            return self.scoped_name();
        }
        if self.take("sZ") {
            let pack = if self.peek() == b'T' { self.template_parameter()? } else { self.expression()? };
            return Some(format!("sizeof...({pack})"));
        }
        if self.take("sp") {
            return Some(self.expression()? + "...");
        }
        if self.take("gs") {
            return Some(format!("::{}", self.expression()?));
        }
        if self.take("tr") {
            return Some("throw".into());
        }
        if self.take("nw_") {
            let of = self.type_()?.print();
            self.expect("E")?;
            return Some(format!("new {of}"));
        }
        for (code, word) in [("dl", "delete"), ("da", "delete[]")] {
            if self.take(code) {
                return Some(format!("{word} {}", self.expression()?));
            }
        }
        if self.take("ds") {
            let object = self.expression()?;
            return Some(format!("{object}.*{}", self.expression()?));
        }
        if self.take("tw") {
            return Some(format!("throw {}", self.expression()?));
        }
        for (code, sign) in [("dt", "."), ("pt", "->")] {
            if self.take(code) {
                let object = self.expression()?;
                return Some(format!("({object}{sign}{})", self.unresolved_name()?));
            }
        }
        if self.take("ix") {
            let object = self.expression()?;
            return Some(format!("{object}[{}]", self.expression()?));
        }
        if self.take("qu") {
            let (condition, yes) = (self.expression()?, self.expression()?);
            return Some(format!("{condition}?{yes}:{}", self.expression()?));
        }
        self.operation()
    }

    fn operation(&mut self) -> Option<String> {
        let code = self.text.get(self.at..self.at + 2);
        let Some((code, sign)) = code.and_then(|code| Some((code.to_vec(), symbol(code)?))) else {
            return self.unresolved_name();
        };
        self.at += 2;
        if PREFIX.contains(&&*code) {
            return Some(format!("{sign}{}", self.expression()?));
        }
        if matches!(&*code, b"pp" | b"mm") {
            let prefix = self.take("_");
            let operand = self.expression()?;
            return Some(if prefix { format!("{sign}{operand}") } else { format!("{operand}{sign}") });
        }
        let left = self.expression()?;
        Some(format!("{left}{sign}{}", self.expression()?))
    }

    fn expressions(&mut self) -> Option<String> {
        let mut list = Vec::new();
        while !self.take("E") {
            list.push(self.expression()?);
        }
        Some(list.join(", "))
    }

    /// A member of something that depends on a parameter.
    pub(super) fn scoped_name(&mut self) -> Option<String> {
        if self.take("N") {
            let mut text = self.type_()?.print();
            while !self.take("E") {
                text = format!("{text}::{}", self.unresolved_name()?);
            }
            return Some(format!("{text}::{}", self.unresolved_name()?));
        }
        if self.peek().is_ascii_digit() {
            // Names that nothing refers to, up to the last one.
            let mut text = self.unresolved_name()?;
            while !self.take("E") {
                text = format!("{text}::{}", self.unresolved_name()?);
            }
            return Some(format!("{text}::{}", self.unresolved_name()?));
        }
        let text = self.type_()?.print();
        Some(format!("{text}::{}", self.unresolved_name()?))
    }

    fn at_fold(&self) -> bool {
        self.peek_at(1) == b'L' && symbol(&[self.peek_at(2), self.peek_at(3)]).is_some()
    }

    /// A parameter of the function.
    fn parameter(&mut self) -> Option<String> {
        let levels = if self.take("fL") {
            let level = self.digits()?;
            self.expect("p")?;
            format!("[up {} level{}]", level + 1, if level == 0 { "" } else { "s" })
        } else {
            self.expect("fp")?;
            String::new()
        };
        if self.take("T") {
            return Some("this".into());
        }
        let qualifiers = self.qualifiers().trailing();
        let number = self.ordinal()?;
        let qualifiers = qualifiers.trim_start();
        let between = if qualifiers.is_empty() { "" } else { " " };
        Some(format!("{qualifiers}{between}param#{number}{levels}"))
    }

    fn fold_expression(&mut self) -> Option<String> {
        self.expect("f")?;
        let kind = self.next();
        let sign = symbol(self.text.get(self.at..self.at + 2)?)?;
        self.at += 2;
        let first = self.expression()?;
        Some(match kind {
            b'l' => format!("(...{sign}{first})"),
            b'r' => format!("({first}{sign}...)"),
            _ => format!("({first}{sign}...{sign}{})", self.expression()?),
        })
    }

    /// `L type value E`, or a function or variable by its whole symbol.
    pub(super) fn literal(&mut self) -> Option<String> {
        self.expect("L")?;
        if self.take("_Z") {
            let text = self.encoding(false)?;
            self.expect("E")?;
            return Some(text);
        }
        if self.take("DnE") {
            return Some("nullptr".into());
        }
        let floating = match self.peek() {
            b'f' | b'd' => self.peek(),
            _ => 0,
        };
        let array = self.peek() == b'A';
        let of = self.type_()?.print();
        let start = self.at;
        while !self.at_end() && self.peek() != b'E' {
            self.at += 1;
        }
        let value = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        self.expect("E")?;
        let value = match floating {
            b'f' => format!("{:?}", f32::from_bits(u32::from_str_radix(value, 16).ok()?)),
            b'd' => format!("{:?}", f64::from_bits(u64::from_str_radix(value, 16).ok()?)),
            _ if array && value.is_empty() => "\"...\"".into(),
            _ => {
                let digits = value.strip_prefix('n').unwrap_or(value);
                let sign = if digits.len() < value.len() { "-" } else { "" };
                digits.bytes().all(|b| b.is_ascii_digit()).then(|| format!("{sign}{digits}"))?
            }
        };
        Some(format!("({of}){value}"))
    }
}
