//! The programs of the workloads, as PTX and CUDA C++ with holes for the names of modules.

use std::fmt::Write;

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

fn call(callee: &str) -> String {
    format!("{{ .param .b32 y; st.param.b32 [y], %r1; call {callee}, (y); }} ")
}

/// A function or kernel with an argument in `%r1`.
fn function(kind: &str, name: &str, body: &str) -> String {
    format!(
        "{kind} {name}(.param .b32 x) {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.b32 %r1, [x]; {body}ret; }}\n"
    )
}

fn declaration(kind: &str, name: &str) -> String {
    format!("{kind} {name}(.param .b32 x);\n")
}

/// Ten functions that call one another in turn, a kernel that enters them here and in another module, and data.
pub fn module() -> String {
    let mut text = format!(
        "{HEAD}.visible .global .u32 g_MODXXXX[16];\n.visible .const .u32 c_MODXXXX[4] = {{1, 2, 3, 4}};\n"
    );
    text += &declaration(".extern .func", "f_NXTXXXX_0");
    let name = |i: usize| format!("f_MODXXXX_{i}");
    (0..10).for_each(|i| text += &declaration(".visible .func", &name(i)));
    for i in 0..10 {
        let mut body = format!(
            "st.global.u32 [g_MODXXXX+{}], %r1; ld.const.u32 %r2, [c_MODXXXX+4]; st.global.u32 [g_MODXXXX], %r2; ",
            4 * i
        );
        if i < 9 {
            body += &call(&name(i + 1));
        }
        text += &function(".visible .func", &name(i), &body);
    }
    text + &function(".visible .entry", "k_MODXXXX", &(call("f_MODXXXX_0") + &call("f_NXTXXXX_0")))
}

/// `count` weak functions that call one another as a tree of eight branches, and a kernel at its root.
pub fn weak(count: usize) -> String {
    let name = |i: usize| format!("w_{i:04}");
    let mut text = HEAD.to_string();
    (0..count).for_each(|i| text += &declaration(".weak .func", &name(i)));
    text += ".visible .global .u32 g_MODXXXX;\n";
    for i in 0..count {
        let callees = (8 * i + 1..8 * i + 9).filter(|callee| *callee < count);
        let body: String = callees.map(|callee| call(&name(callee))).collect();
        text += &function(".weak .func", &name(i), &body);
    }
    text + &function(".visible .entry", "k_MODXXXX", &(call(&name(0)) + "st.global.u32 [g_MODXXXX], %r1; "))
}

/// `count` functions of a chain that goes on in another module, and `kernels` that enter it at various places.
pub fn chain(count: usize, kernels: usize, last: bool) -> String {
    let name = |i: usize| if i == count { "f_NXTXXXX_000".to_string() } else { format!("f_MODXXXX_{i:03}") };
    let mut text = HEAD.to_string();
    (0..count).for_each(|i| text += &declaration(".visible .func", &name(i)));
    if !last {
        text += &declaration(".extern .func", &name(count));
    }
    for i in 0..count {
        let body = if last && i + 1 == count { String::new() } else { call(&name(i + 1)) };
        text += &function(".visible .func", &name(i), &body);
    }
    for kernel in 0..kernels {
        let entered = name(kernel * count / kernels);
        text += &function(".visible .entry", &format!("k_MODXXXX_{kernel:02}"), &call(&entered));
    }
    text
}

/// `count` functions in a table, and `kernels` that call through it.
pub fn indirect(count: usize, kernels: usize) -> String {
    let name = |i: usize| format!("f_MODXXXX_{i:03}");
    let mut text = HEAD.to_string();
    for i in 0..count {
        text += &function(".visible .func", &name(i), "");
    }
    let names: Vec<_> = (0..count).map(name).collect();
    let _ = writeln!(text, ".visible .global .u64 t_MODXXXX[{count}] = {{{}}};", names.join(", "));
    let body = "ld.global.u64 %rd1, [t_MODXXXX+8]; \
                { .param .b32 y; st.param.b32 [y], %r1; p: .callprototype _ (.param .b32 _); call %rd1, (y), p; } ";
    for kernel in 0..kernels {
        text += &function(".visible .entry", &format!("k_MODXXXX_{kernel:02}"), body);
    }
    text
}

/// Two functions that both call the two of another module; the last layer calls nothing.
pub fn layer(last: bool) -> String {
    let (own, next) = (["f_MODXXXX_0", "f_MODXXXX_1"], ["f_NXTXXXX_0", "f_NXTXXXX_1"]);
    let mut text = HEAD.to_string();
    if !last {
        for name in next {
            text += &declaration(".extern .func", name);
        }
    }
    let body = if last { String::new() } else { next.map(call).concat() };
    for name in own {
        text += &function(".visible .func", name, &body);
    }
    text
}

/// A kernel that calls these functions, defined elsewhere.
pub fn kernel(name: &str, callees: &[String]) -> String {
    let mut text = HEAD.to_string();
    for callee in callees {
        text += &declaration(".extern .func", callee);
    }
    let body: String = callees.iter().map(|callee| call(callee)).collect();
    text + &function(".visible .entry", name, &body)
}

/// `count` global variables.
pub fn globals(count: usize) -> String {
    let mut text = HEAD.to_string();
    for i in 0..count {
        let start = if i % 4 == 0 { format!(" = {}", i + 1) } else { String::new() };
        let _ = writeln!(text, ".visible .global .u32 g_MODXXXX_{i:04}{start};");
    }
    text + &function(".visible .entry", "k_MODXXXX", "st.global.u32 [g_MODXXXX_0001], %r1; ")
}

/// `count` small functions.
pub fn leaves(count: usize) -> String {
    let body = "mov.u32 %r2, %clock; st.shared.u32 [%r1], %r2; ";
    (0..count).fold(HEAD.to_string(), |text, i| {
        text + &function(".visible .func", &format!("f_MODXXXX_{i:03}"), body)
    })
}

/// `count` shared variables, and a kernel that uses them.
pub fn shared(count: usize) -> String {
    let mut text = HEAD.to_string();
    let mut body = String::new();
    for i in 0..count {
        let _ = writeln!(text, ".visible .shared .align 4 .u32 s_MODXXXX_{i:03};");
        let _ = write!(body, "st.shared.u32 [s_MODXXXX_{i:03}], %r1; ");
    }
    text += &function(".visible .func", "f_MODXXXX", &body);
    text + &function(".visible .entry", "k_MODXXXX", &call("f_MODXXXX"))
}

/// A module of nvcc's: functions of its own, eight that every such module has, a kernel and its host code.
pub fn cuda_module() -> String {
    let mut text = "\
template <int N> __device__ __noinline__ int everywhere(int x) { return x * N + clock(); }
extern \"C\" __device__ int f_NXTXXXX(int x);
__device__ int g_MODXXXX[16];
"
    .to_string();
    let terms: Vec<_> = (1..=8).map(|i| format!("everywhere<{i}>(x)")).collect();
    let _ = writeln!(
        text,
        "extern \"C\" __device__ __noinline__ int f_MODXXXX(int x) {{ return g_MODXXXX[x & 15] + {}; }}",
        terms.join(" + ")
    );
    text + "extern \"C\" __global__ void k_MODXXXX(int *p) { *p = f_MODXXXX(*p) + f_NXTXXXX(*p); }
void launch_MODXXXX(int *p) { k_MODXXXX<<<1, 1>>>(p); }
"
}

/// A module with kernels that keep an assembler busy, each another one.
pub fn cuda_kernels(module: usize, count: usize) -> String {
    let mut text = "extern \"C\" __device__ int shared_by_all(int x) { return x * 3 + 1; }\n"
        .repeat(usize::from(module == 0));
    if module > 0 {
        text += "extern \"C\" __device__ int shared_by_all(int x);\n";
    }
    for kernel in 0..count {
        let seed = module * count + kernel + 3;
        let _ = writeln!(
            text,
            "extern \"C\" __global__ void k_{module}_{kernel}(float *p, int n) {{
    float a[16];
    for (int i = 0; i < 16; i++) a[i] = p[i * {seed} + threadIdx.x];
    for (int r = 0; r < n; r++) {{
#pragma unroll
        for (int i = 0; i < 16; i++) a[i] = __sinf(a[i] * {seed}.5f) + sqrtf(a[(i + {rest}) % 16] + r) / (a[(i + 1) % 16] + {seed});
    }}
    for (int i = 0; i < 16; i++) p[i * 32 + threadIdx.x] = a[i] + shared_by_all(n);
}}",
            rest = seed % 13 + 1
        );
    }
    text + "void launch() {}\n"
}

/// A module of a library: functions only.
pub fn cuda_library_module() -> String {
    "\
__device__ int g_MODXXXX = 1;
extern \"C\" __device__ __noinline__ int h_MODXXXX(int x) { return x * 3 + g_MODXXXX; }
extern \"C\" __device__ __noinline__ int f_MODXXXX(int x) { return h_MODXXXX(x + 1) + clock(); }
"
    .into()
}

/// A program that calls these functions of a library.
pub fn cuda_main(callees: &[String]) -> String {
    let mut text = String::new();
    for callee in callees {
        let _ = writeln!(text, "extern \"C\" __device__ int {callee}(int x);");
    }
    let terms: Vec<_> = callees.iter().map(|callee| format!("{callee}(*p)")).collect();
    let _ = writeln!(text, "extern \"C\" __global__ void k(int *p) {{ *p = {}; }}", terms.join(" + "));
    text + "void launch(int *p) { k<<<1, 1>>>(p); }\n"
}

/// Device code that is whole in itself, with `bytes` of data.
pub fn cuda_whole(bytes: usize) -> String {
    format!(
        "__device__ int table_MODXXXX[{}] = {{1, 2, 3}};\n\
         __global__ void k_MODXXXX(int *p) {{ *p = table_MODXXXX[*p]; }}\n\
         void launch_MODXXXX(int *p) {{ k_MODXXXX<<<1, 1>>>(p); }}\n",
        bytes / 4
    )
}
