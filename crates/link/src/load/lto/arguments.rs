//! The options of a compilation, in the compiler library's words and nvlink's order.

use super::consensus::Agreed;
use super::options::LtoOptions;
use super::plan::Plan;
use crate::roots::{HostReferences, REFERENCE_KINDS};

/// The list of host references of each kind, in the order of [`REFERENCE_KINDS`].
const HOST_REFERENCES: [&str; REFERENCE_KINDS.len()] =
    ["-host-ref-ek=", "-host-ref-ik=", "-host-ref-ec=", "-host-ref-ic=", "-host-ref-eg=", "-host-ref-ig="];

/// What goes with `-Xnvvm`, with the value that holds if no module says it.
const FLOATING_POINT: [(&str, i32); 4] = [("-ftz=", 0), ("-prec-div=", 1), (SQUARE_ROOT, 1), ("-fma=", 1)];
/// `-Xnvvm` may say the others itself. The compiler refuses this one if it is there twice (lto/square-roots).
const SQUARE_ROOT: &str = "-prec-sqrt=";

/// Words of `-Xnvvm` that are left out where the link asks for the same: the compiler refuses to be told twice
/// (lto/options-said-twice).
const AGREEING: [&[u8]; 2] = [b"-g", b"-generate-line-info"];

/// `-split-compile-extended`, where it asks for anything.
pub fn extended_split(options: &LtoOptions<'_>) -> Option<i32> {
    options.split_compile_extended.filter(|threads| *threads != 1)
}

/// The number of threads that the modules ask for, or else the link; one is as good as none.
pub fn split(options: &LtoOptions<'_>, agreed: &Agreed) -> Option<i32> {
    agreed.split_compile.or(options.split_compile).filter(|threads| *threads != 1)
}

/// All options.
pub fn arguments(
    options: &LtoOptions<'_>,
    plan: Plan,
    agreed: &Agreed,
    references: &HostReferences<'_>,
) -> Vec<Vec<u8>> {
    let mut list = fixed(options, plan, agreed);
    let own = options.xnvvm.iter().flat_map(|element| words(element));
    let own: Vec<Vec<u8>> =
        own.filter(|word| !(AGREEING.contains(&&word[..]) && list.contains(word))).collect();
    if !options.xnvvm.is_empty() {
        let values = [agreed.ftz, agreed.prec_div, agreed.prec_sqrt, agreed.fma];
        list.extend(own.iter().cloned());
        for ((option, default), value) in FLOATING_POINT.into_iter().zip(values) {
            let is_said = own.iter().any(|word| word.starts_with(option.as_bytes()));
            if !is_said || option == SQUARE_ROOT {
                list.push(format!("{option}{}", value.unwrap_or(default)).into_bytes());
            }
        }
    }
    if !plan.partial {
        let lists = host_references(options, references);
        for (option, names) in HOST_REFERENCES.iter().zip(lists).filter(|(_, names)| !names.is_empty()) {
            list.push([option.as_bytes(), &names.join(&b',')].concat());
        }
    }
    list
}

/// What comes before `-Xnvvm`.
fn fixed(options: &LtoOptions<'_>, plan: Plan, agreed: &Agreed) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let mut push = |text: String| list.push(text.into_bytes());
    push(format!("-arch=compute_{}", options.release.compiled_arch(options.target.arch)));
    push("-link-lto".into());
    if let Some(threads) = extended_split(options) {
        push(format!("-split-compile-extended={threads}"));
    } else if let Some(threads) = split(options, agreed) {
        push(format!("-split-compile={threads}"));
    }
    if let Some(level) = options.fast_compile {
        push(format!("-Ofast-compile={level}"));
    }
    if let Some(count) = agreed.registers {
        push(format!("-maxreg={count}"));
    }
    let flags = [
        (agreed.line_info, "-generate-line-info"),
        (agreed.inline_info, "-inline-info"),
        (plan.device_c, "--device-c"),
        (plan.partial, "--force-device-c"),
        (options.debug, "-g"),
        (!plan.partial && has_host_information(options), "-has-global-host-info"),
    ];
    flags.into_iter().filter(|(on, _)| *on).for_each(|(_, flag)| push(flag.into()));
    list
}

fn has_host_information(options: &LtoOptions<'_>) -> bool {
    let asked = [options.kernels_used, options.variables_used];
    !options.ignore_host_info || asked.into_iter().any(|list| !list.is_empty())
}

/// Whether the compiler removes what nothing refers to.
pub fn removes(options: &LtoOptions<'_>, references: &HostReferences<'_>) -> bool {
    host_references(options, references).iter().any(|names| !names.is_empty())
}

/// The patterns of each kind. What the command line asks for replaces what host code says; that applies only if all
/// host objects say it and there is a kernel among it, and the last that was read comes first.
fn host_references(
    options: &LtoOptions<'_>,
    references: &HostReferences<'_>,
) -> [Vec<Vec<u8>>; REFERENCE_KINDS.len()] {
    let kernels = options.kernels_used;
    let variables = options.variables_used;
    if !kernels.is_empty() || !variables.is_empty() {
        let stars = |list: &[Vec<u8>]| list.iter().map(|text| [b"*", &text[..], b"*"].concat()).collect();
        return REFERENCE_KINDS
            .map(|(kind, _)| if kind.is_kernel() { stars(kernels) } else { stars(variables) });
    }
    if options.ignore_host_info || references.incomplete || !references.any_kernel {
        return Default::default();
    }
    REFERENCE_KINDS.map(|(kind, _)| references.of(kind).iter().rev().map(|name| name.to_vec()).collect())
}

fn words(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

/// The same for nvJitLink: its documented options where there is one, the others handed through to the compiler.
///
/// Host references are handed through too: they are whole names, and `-kernels-used` and `-variables-used` of nvJitLink
/// ask for names that contain a text (lto/scrambled-host-names).
pub fn for_nvjitlink(options: &LtoOptions<'_>, arguments: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut list: Vec<Vec<u8>> =
        vec![[b"-arch=", &nvjitlink_arch(options)[..]].concat(), b"-lto".to_vec(), b"-ptx".to_vec()];
    // The first two are the architecture and the mode.
    let compiler = &arguments[2.min(arguments.len())..];
    list.extend(compiler.iter().map(|argument| match documented(argument) {
        Some(option) => option,
        None => [b"-Xnvvm=", &argument[..]].concat(),
    }));
    list
}

/// The target as nvJitLink must be told it. It takes IR for an `a` architecture only for that one.
fn nvjitlink_arch(options: &LtoOptions<'_>) -> Vec<u8> {
    format!("sm_{}", options.release.assembled_arch(options.target.arch)).into_bytes()
}

/// Up to 13.1 nvlink compiles for the architecture without its suffix, which nvJitLink cannot be asked for: the PTX says
/// what nvlink's would.
pub fn without_suffix(options: &LtoOptions<'_>, ptx: Vec<u8>) -> Vec<u8> {
    let directive = [b"\n.target ", &nvjitlink_arch(options)[..]].concat();
    let compiled = format!("\n.target sm_{}", options.release.compiled_arch(options.target.arch));
    let Some(at) = ptx.windows(directive.len()).position(|part| part == directive) else { return ptx };
    [&ptx[..at], compiled.as_bytes(), &ptx[at + directive.len()..]].concat()
}

/// Options of the compiler that nvJitLink documents under the same name.
const SAME: [&[u8]; 5] = [b"-split-compile=", b"-ftz=", b"-prec-div=", b"-prec-sqrt=", b"-fma="];

/// The option of nvJitLink's own, where it has one.
fn documented(argument: &[u8]) -> Option<Vec<u8>> {
    if let Some(count) = argument.strip_prefix(b"-maxreg=") {
        return Some([b"-maxrregcount=", count].concat());
    }
    // PTX is always one text.
    if let Some(threads) = argument.strip_prefix(b"-split-compile-extended=") {
        return Some([b"-split-compile=", threads].concat());
    }
    match argument {
        b"-generate-line-info" => Some(b"-lineinfo".to_vec()),
        b"-g" => Some(b"-g".to_vec()),
        _ => SAME.iter().any(|option| argument.starts_with(option)).then(|| argument.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solder_arch::Release;

    fn options(target: &str) -> LtoOptions<'static> {
        let release = Release::CUDA_13_0;
        LtoOptions::new(release.target(target).expect("a target"), release)
    }

    fn text(list: &[Vec<u8>]) -> String {
        String::from_utf8(list.join(&b' ')).expect("ASCII")
    }

    const WHOLE: Plan = Plan { partial: false, device_c: true };
    const PARTIAL: Plan = Plan { partial: true, device_c: true };

    fn references() -> HostReferences<'static> {
        let mut references = HostReferences { any_kernel: true, ..HostReferences::default() };
        references.patterns[0] = vec![b"_Z2k1*", b"_Z2k4*"];
        references.patterns[4] = vec![b"dv"];
        references
    }

    fn list(options: &LtoOptions<'_>, plan: Plan) -> String {
        text(&arguments(options, plan, &Agreed::default(), &references()))
    }

    #[test]
    fn host_references_come_last_and_in_reverse() {
        let expected = "-arch=compute_90 -link-lto --device-c -has-global-host-info \
                        -host-ref-ek=_Z2k4*,_Z2k1* -host-ref-eg=dv";
        assert_eq!(list(&options("sm_90a"), WHOLE), expected);
        let partial = "-arch=compute_90 -link-lto --device-c --force-device-c";
        assert_eq!(list(&options("sm_90a"), PARTIAL), partial);
        let ignored = "-arch=compute_100 -link-lto --device-c";
        assert_eq!(list(&LtoOptions { ignore_host_info: true, ..options("sm_100f") }, WHOLE), ignored);
    }

    #[test]
    fn what_the_command_line_asks_for_replaces_them() {
        let used = "-arch=compute_90 -link-lto --device-c -has-global-host-info \
                    -host-ref-ek=*a*,*b* -host-ref-ik=*a*,*b*";
        let kernels_used = &[b"a".to_vec(), b"b".to_vec()];
        let options = LtoOptions { ignore_host_info: true, kernels_used, ..options("sm_90") };
        assert_eq!(list(&options, WHOLE), used);
    }

    #[test]
    fn floating_point_follows_what_xnvvm_leaves_open() {
        let expected = "-arch=compute_90 -link-lto --device-c -opt=2 -ftz=1 -fma=0 -prec-div=1 -prec-sqrt=1";
        let xnvvm = vec![b"-opt=2 -ftz=1".to_vec(), b"-fma=0".to_vec()];
        let options = LtoOptions { ignore_host_info: true, xnvvm, ..options("sm_90") };
        assert_eq!(list(&options, WHOLE), expected);
    }

    #[test]
    fn nvjitlink_gets_its_own_options() {
        let options = LtoOptions { registers: Some(32), debug: true, ..options("sm_90a") };
        let agreed = Agreed { registers: Some(32), line_info: true, ..Agreed::default() };
        let list = arguments(&options, WHOLE, &agreed, &references());
        let expected = "-arch=sm_90a -lto -ptx -maxrregcount=32 -lineinfo -Xnvvm=--device-c -g \
                        -Xnvvm=-has-global-host-info -Xnvvm=-host-ref-ek=_Z2k4*,_Z2k1* -Xnvvm=-host-ref-eg=dv";
        assert_eq!(text(&for_nvjitlink(&options, &list)), expected);
        let ptx = |target: &str| format!(".version 9.0\n.target {target}, debug\n").into_bytes();
        assert_eq!(without_suffix(&options, ptx("sm_90a")), ptx("sm_90"));
        let later = LtoOptions { release: Release::CUDA_13_2, ..options };
        assert_eq!(without_suffix(&later, ptx("sm_90a")), ptx("sm_90a"));
    }
}
