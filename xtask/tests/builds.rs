//! Programs built by nvcc, make and CMake through the shadow toolkit.

#[test]
fn builds_through_the_shadow_toolkit() {
    assert_eq!(xtask::run(&["builds".to_string()]), 0);
}
