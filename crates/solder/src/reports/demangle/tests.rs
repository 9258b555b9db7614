//! The expected texts are what nvlink printed for functions of these names.

use super::demangle;

#[test]
fn placeholder() {
    assert_eq!(demangle("foo"), "foo");
}
