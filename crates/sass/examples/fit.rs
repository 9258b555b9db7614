//! Says which functions of linked images for sm_103 are not fit for it, as the checker has it.

fn main() {
    let (mut total, mut bad) = (0, 0);
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let Ok(cubin) = solder_cubin::Cubin::parse(&bytes) else { continue };
        for section in cubin.sections.iter().filter(|s| s.name.starts_with(b".text.")) {
            total += 1;
            if !solder_sass::is_fit_for_103(section.data, 1) {
                bad += 1;
                println!("{path} {}", section.name);
            }
        }
    }
    println!("{bad} of {total} functions are not fit");
}
