//! The package for pip, built, installed into an environment that has nothing else, and used there.

#[test]
fn the_package_works_where_it_is_installed() {
    let words = ["wheel", "--profile", "dev", "--check"].map(String::from);
    assert_eq!(xtask::run(&words), 0);
}
