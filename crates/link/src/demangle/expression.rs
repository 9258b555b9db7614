//! Expressions in template arguments, array bounds and `decltype`.

use super::name::symbol;
use super::parser::{Parser, Text, cat, decimal};

/// Operators of one operand, written before it.
const PREFIX: [[u8; 2]; 6] = [*b"ps", *b"ng", *b"ad", *b"de", *b"co", *b"nt"];

const CASTS: &[(&str, &str)] =
    &[("sc", "static_cast"), ("dc", "dynamic_cast"), ("rc", "reinterpret_cast"), ("cc", "const_cast")];

/// Functions of a type and of an expression.
const OF_TYPE: &[(&str, &str)] = &[("st", "sizeof"), ("at", "alignof"), ("ti", "typeid")];
const OF_VALUE: &[(&str, &str)] =
    &[("sz", "sizeof"), ("az", "alignof"), ("te", "typeid"), ("nx", "noexcept")];

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Option<Text> {
        self.deeper(Self::expression_here)
    }

    fn expression_here(&mut self) -> Option<Text> {
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
                let to = self.type_()?.print()?;
                return Some(cat![word, "<", to, ">(", self.expression()?, ")"]);
            }
        }
        for (code, word) in OF_TYPE {
            if self.take(code) {
                return Some(cat![word, "(", self.type_()?.print()?, ")"]);
            }
        }
        for (code, word) in OF_VALUE {
            if self.take(code) {
                return Some(cat![word, "(", self.expression()?, ")"]);
            }
        }
        self.call_like()
    }

    fn call_like(&mut self) -> Option<Text> {
        if self.take("cl") {
            let function = self.expression()?;
            return Some(cat![function, "(", self.expressions()?, ")"]);
        }
        if self.take("cv") {
            let to = self.type_()?.print()?;
            if self.take("_") {
                return Some(cat![to, "(", self.expressions()?, ")"]);
            }
            return Some(cat!["(", to, ")", self.expression()?]);
        }
        if self.take("tl") {
            let of = self.type_()?.print()?;
            return Some(cat![of, "{", self.expressions()?, "}"]);
        }
        if self.take("il") {
            return Some(cat!["{", self.expressions()?, "}"]);
        }
        if self.take("sr") {
            return self.scoped_name();
        }
        if self.take("sZ") {
            let pack = if self.peek() == b'T' { self.template_parameter()? } else { self.expression()? };
            return Some(cat!["sizeof...(", pack, ")"]);
        }
        if self.take("sp") {
            return Some(cat![self.expression()?, "..."]);
        }
        if self.take("gs") {
            return Some(cat!["::", self.expression()?]);
        }
        if self.take("tr") {
            return Some("throw".into());
        }
        if self.take("nw_") {
            let of = self.type_()?.print()?;
            self.expect("E")?;
            return Some(cat!["new ", of]);
        }
        for (code, word) in [("dl", "delete"), ("da", "delete[]")] {
            if self.take(code) {
                return Some(cat![word, " ", self.expression()?]);
            }
        }
        if self.take("ds") {
            let object = self.expression()?;
            return Some(cat![object, ".*", self.expression()?]);
        }
        if self.take("tw") {
            return Some(cat!["throw ", self.expression()?]);
        }
        for (code, sign) in [("dt", "."), ("pt", "->")] {
            if self.take(code) {
                let object = self.expression()?;
                return Some(cat!["(", object, sign, self.unresolved_name()?, ")"]);
            }
        }
        if self.take("ix") {
            let object = self.expression()?;
            return Some(cat![object, "[", self.expression()?, "]"]);
        }
        if self.take("qu") {
            let (condition, yes) = (self.expression()?, self.expression()?);
            return Some(cat![condition, "?", yes, ":", self.expression()?]);
        }
        self.operation()
    }

    fn operation(&mut self) -> Option<Text> {
        let code = [self.peek(), self.peek_at(1)];
        let Some(sign) = symbol(code) else { return self.unresolved_name() };
        self.skip(2);
        if PREFIX.contains(&code) {
            return Some(cat![sign, self.expression()?]);
        }
        if matches!(&code, b"pp" | b"mm") {
            let prefix = self.take("_");
            let operand = self.expression()?;
            return Some(if prefix { cat![sign, operand] } else { cat![operand, sign] });
        }
        Some(cat![self.expression()?, sign, self.expression()?])
    }

    fn expressions(&mut self) -> Option<Text> {
        let mut list = Vec::new();
        while !self.take("E") {
            list.push(self.expression()?);
        }
        Some(list.join(&b", "[..]))
    }

    /// A member of something that depends on a parameter.
    pub(super) fn scoped_name(&mut self) -> Option<Text> {
        if self.take("N") {
            let of = self.type_()?.print()?;
            return self.members(of);
        }
        if self.peek().is_ascii_digit() {
            // Names that nothing refers to, up to the last one.
            let of = self.unresolved_name()?;
            return self.members(of);
        }
        Some(cat![self.type_()?.print()?, "::", self.unresolved_name()?])
    }

    /// Members of members, `E`, and the last of them.
    fn members(&mut self, mut text: Text) -> Option<Text> {
        loop {
            let is_last = self.take("E");
            text.extend_from_slice(b"::");
            text.extend(self.unresolved_name()?);
            if is_last {
                return Some(text);
            }
        }
    }

    fn at_fold(&self) -> bool {
        self.peek_at(1) == b'L' && symbol([self.peek_at(2), self.peek_at(3)]).is_some()
    }

    /// A parameter of the function.
    fn parameter(&mut self) -> Option<Text> {
        let levels = if self.take("fL") {
            let level = self.digits()?;
            self.expect("p")?;
            let level = decimal(level.checked_add(1)?);
            cat!["[up ", level, if level == b"1" { " level]" } else { " levels]" }]
        } else {
            self.expect("fp")?;
            Text::new()
        };
        if self.take("T") {
            return Some("this".into());
        }
        let qualifiers = self.qualifiers().trailing();
        let number = self.ordinal()?;
        let qualifiers = qualifiers.trim_ascii_start();
        let between = if qualifiers.is_empty() { "" } else { " " };
        Some(cat![qualifiers, between, "param#", decimal(number), levels])
    }

    fn fold_expression(&mut self) -> Option<Text> {
        self.expect("f")?;
        let kind = self.next();
        let sign = symbol([self.next(), self.next()])?;
        let first = self.expression()?;
        Some(match kind {
            b'l' => cat!["(...", sign, first, ")"],
            b'r' => cat!["(", first, sign, "...)"],
            _ => cat!["(", first, sign, "...", sign, self.expression()?, ")"],
        })
    }

    /// `L type value E`, or a function or variable by its whole symbol.
    pub(super) fn literal(&mut self) -> Option<Text> {
        self.expect("L")?;
        if self.take("_Z") {
            let text = self.encoding(false)?;
            self.expect("E")?;
            return Some(text);
        }
        if self.take("DnE") {
            return Some("nullptr".into());
        }
        let kind = self.peek();
        let of = self.type_()?.print()?;
        let value = self.take_while(|byte| byte != b'E');
        self.expect("E")?;
        let value = match kind {
            b'f' | b'd' | b'e' => floating(kind == b'f', value)?.into_bytes(),
            _ if value.is_empty() => b"\"...\"".to_vec(),
            _ => {
                let digits = value.strip_prefix(b"n").unwrap_or(value);
                let sign = if digits.len() < value.len() { "-" } else { "" };
                let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                is_number.then(|| cat![sign, digits])?
            }
        };
        Some(cat!["(", of, ")", value])
    }
}

/// A floating-point number from its bits in hexadecimal digits. nvlink prints it as C's `%g` does, a `float` with 6 digits
/// and all others with 15, and marks whole numbers with `.0` (core/report-callgraph-odd-names).
fn floating(is_float: bool, bits: &[u8]) -> Option<String> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if bits.len() != (if is_float { 8 } else { 16 }) || !bits.iter().all(is_digit) {
        return None;
    }
    let bits = u64::from_str_radix(std::str::from_utf8(bits).ok()?, 16).ok()?;
    let value = if is_float { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return Some(format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" }));
    }
    let digits = if is_float { 6 } else { 15 };
    let scientific = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let without_zeros = |number: &str| number.trim_end_matches('0').trim_end_matches('.').to_owned();
    if exponent < -4 || exponent >= digits as i32 {
        let (direction, size) = (if exponent < 0 { '-' } else { '+' }, exponent.abs());
        return Some(format!("{sign}{}e{direction}{size:02}", without_zeros(mantissa)));
    }
    let places = usize::try_from(digits as i32 - 1 - exponent).ok()?;
    let number = format!("{:.*}", places, value.abs());
    let number = if places > 0 { without_zeros(&number) } else { number };
    let whole = if number.contains('.') { "" } else { ".0" };
    Some(format!("{sign}{number}{whole}"))
}
