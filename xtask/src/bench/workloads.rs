//! The workloads: what they link, in which sizes, and what is asked of them.

use super::maker::{Archive, Maker};
use super::sources;
use super::template::{Template, name};
use crate::Result;
use solder_arch::Arch;
use solder_fatbin::{Builder, Kind, NewMember, Packing};

/// A program that can be made in any size.
pub struct Workload {
    pub name: &'static str,
    /// The workload whose inputs these are.
    pub inputs: &'static str,
    pub about: &'static str,
    /// What the size counts.
    pub unit: &'static str,
    /// Linked by both.
    pub sizes: &'static [usize],
    /// Linked by solder alone: nvlink would take minutes to years.
    pub alone: &'static [usize],
    /// How many times faster than nvlink solder must be at a size.
    pub goals: &'static [(usize, f64)],
    /// Whether solder's cache of compilations is filled before.
    pub warm_cache: bool,
    /// Whether the first link only fills that cache, before every run, and the second is timed.
    pub is_edited: bool,
    /// Whether it is linked through libnvJitLink, from memory to memory, and not by the command.
    pub in_library: bool,
    /// Makes the inputs.
    pub make: fn(&mut Maker<'_>, usize) -> Result<()>,
}

const ARCH: &str = "sm_90";
const LTO: [&str; 3] = ["-dc", "-dlto", "-arch=sm_90"];
const OPTIONS: [&str; 3] = ["-arch=sm_90", "-o", "{out}/out.cubin"];

const fn workload(
    name: &'static str,
    about: &'static str,
    unit: &'static str,
    sizes: &'static [usize],
    make: fn(&mut Maker<'_>, usize) -> Result<()>,
) -> Workload {
    let (inputs, alone, goals) = (name, &[], &[]);
    let (warm_cache, is_edited, in_library) = (false, false, false);
    Workload { name, inputs, about, unit, sizes, alone, goals, warm_cache, is_edited, in_library, make }
}

impl Workload {
    const fn goals(mut self, goals: &'static [(usize, f64)]) -> Self {
        self.goals = goals;
        self
    }

    const fn alone(mut self, sizes: &'static [usize]) -> Self {
        self.alone = sizes;
        self
    }

    /// The inputs of another workload, but through libnvJitLink.
    const fn in_library(mut self, inputs: &'static str) -> Self {
        self.inputs = inputs;
        self.in_library = true;
        self
    }

    /// The inputs of another workload, but with a warm cache.
    const fn with_warm_cache(mut self, inputs: &'static str) -> Self {
        self.inputs = inputs;
        self.warm_cache = true;
        self
    }

    /// With a cache that was filled before an input changed.
    const fn edited(mut self) -> Self {
        self.warm_cache = true;
        self.is_edited = true;
        self
    }
}

#[rustfmt::skip]
pub const WORKLOADS: &[Workload] = &[
    workload("small", "A few cubins of 11 functions", "cubins", &[2, 4, 8], cubins).goals(&[(2, 1.0)]),
    workload("devrt", "A few cubins and libcudadevrt", "cubins", &[2, 4, 8], with_runtime).goals(&[(2, 1.0)]),
    workload("cubins", "Cubins of 11 functions", "cubins", &[1000, 2000, 4000], cubins)
        .goals(&[(1000, 10.0), (4000, 30.0)]),
    workload("objects", "Objects of nvcc that share 8 weak functions", "objects", &[500, 1000, 2000], objects)
        .goals(&[(2000, 50.0)]),
    workload("archive", "An archive of which 5 objects are needed", "objects", &[1500, 3000, 6000], archive)
        .goals(&[(6000, 50.0)]),
    workload("weak", "Cubins with the same 500 weak functions", "cubins", &[100, 200, 400], weak)
        .goals(&[(400, 30.0)]),
    workload("chain", "A chain of calls, entered by a kernel for every tenth", "functions", &[1000, 2500, 5000], chain)
        .goals(&[(2500, 50.0)]),
    workload("indirect", "Functions called through tables by a tenth as many kernels", "functions",
        &[1000, 2500, 5000], indirect).goals(&[(2500, 50.0)]).alone(&[40_000]),
    workload("layers", "Layers of 2 functions that both call both of the next", "layers", &[20, 24, 28], layers)
        .goals(&[(28, 50.0)]).alone(&[60]),
    workload("recursion", "Such layers, of which the last calls the first", "layers", &[8, 10, 12], recursion)
        .alone(&[60]),
    workload("mercury", "Cubins of 11 functions for sm_100", "cubins", &[125, 250, 500], mercury)
        .goals(&[(500, 30.0)]),
    workload("whole-archive", "An archive of host objects without device code to link", "MB", &[125, 250, 500], whole)
        .goals(&[(500, 30.0)]),
    workload("globals", "Global variables", "variables", &[25_000, 50_000, 100_000], globals).goals(&[(100_000, 5.0)]),
    workload("fan", "One kernel that calls every function", "functions", &[2500, 5000, 10_000], fan),
    workload("shared", "Shared variables", "variables", &[2500, 5000, 10_000], shared).goals(&[(10_000, 5.0)]),
    workload("fatbins-zstd", "Fat binaries of 8 architectures, compressed", "files", &[50, 100, 200], fatbins_zstd)
        .goals(&[(200, 5.0)]),
    workload("fatbins-plain", "Fat binaries of 8 architectures", "files", &[50, 100, 200], fatbins_plain)
        .goals(&[(200, 5.0)]),
    workload("lineinfo", "Cubins with line information", "cubins", &[125, 250, 500], lineinfo).goals(&[(500, 5.0)]),
    workload("debug", "Cubins with debug information, linked with -g", "cubins", &[50, 100, 200], debug)
        .goals(&[(200, 5.0)]),
    workload("relocatable", "A relocatable link, and the link of what it gave", "cubins", &[250, 500, 1000], relocatable),
    workload("ptx", "PTX", "files", &[50, 100, 200], ptx).goals(&[(200, 1.1)]),
    workload("lto", "Link-time optimization", "modules", &[12, 25, 50], lto).goals(&[(50, 0.95)]),
    workload("lto-warm", "The same with solder's cache filled", "modules", &[12, 25, 50], lto).goals(&[(50, 10.0)])
        .with_warm_cache("lto"),
    workload("lto-edited", "One of the modules changed since the cache was filled", "modules", &[12, 25, 50], lto_edited)
        .edited(),
    workload("lto-kernels", "Ten modules with larger kernels", "kernels", &[50, 100, 200], lto_kernels),
    workload("jit", "Cubins through libnvJitLink, from Create to Destroy", "cubins", &[2, 500, 1000], cubins)
        .goals(&[(2, 5.0), (500, 20.0)]).in_library("cubins"),
    workload("jit-sm_100", "The same for sm_100", "cubins", &[2, 250, 500], mercury).in_library("mercury"),
];

fn cubins(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::module(), ARCH)?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn with_runtime(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::module(), ARCH)?)?;
    maker.modules(&template, count, "cubin")?;
    let libraries = maker.toolkit().join("lib64");
    let folder = format!("-L{}", libraries.display());
    maker.link(&[&OPTIONS[..], &[&folder, "-lcudadevrt"]].concat());
    maker.also_reads(&libraries.join("libcudadevrt.a"));
    Ok(())
}

fn objects(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = host_object(maker, &sources::cuda_module(), "-dc")?;
    maker.modules(&template, count, "o")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn host_object(maker: &mut Maker<'_>, text: &str, mode: &str) -> Result<Template> {
    let arch = format!("-arch={ARCH}");
    Template::new(maker.nvcc(text, &[mode, &arch, "-Xfatbin", "-compress-mode=none"])?)
}

fn archive(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let needed: Vec<_> = (0..5).map(|_| format!("f_{}", name(maker.random.below(count)))).collect();
    let arch = format!("-arch={ARCH}");
    let main = maker.nvcc(&sources::cuda_main(&needed), &["-dc", &arch])?;
    let template = host_object(maker, &sources::cuda_library_module(), "-dc")?;
    let mut library = Archive::new();
    (0..count)
        .for_each(|module| library.push(&format!("{}.o", name(module)), &template.fill(module, module)));
    maker.add("main.o", &main)?;
    maker.add("library.a", library.bytes())?;
    maker.link(&OPTIONS);
    Ok(())
}

fn weak(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::weak(500), ARCH)?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

/// Functions of one module where a workload counts functions.
const BLOCK: usize = 100;

fn chain(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::chain(BLOCK, BLOCK / 10, false), ARCH)?)?;
    let last = Template::new(maker.ptxas(&sources::chain(BLOCK, BLOCK / 10, true), ARCH)?)?;
    maker.row(&template, &last, count / BLOCK)?;
    maker.link(&OPTIONS);
    Ok(())
}

fn indirect(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::indirect(BLOCK, BLOCK / 10), ARCH)?)?;
    maker.modules(&template, count / BLOCK, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn layers(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    layered(maker, count, false)
}

fn recursion(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    layered(maker, count, true)
}

fn layered(maker: &mut Maker<'_>, count: usize, recursive: bool) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::layer(false), ARCH)?)?;
    if recursive {
        for module in 0..count {
            maker.add(&format!("{}.cubin", name(module)), &template.fill(module, (module + 1) % count))?;
        }
    } else {
        let last = Template::new(maker.ptxas(&sources::layer(true), ARCH)?)?;
        maker.row(&template, &last, count)?;
    }
    let kernel = maker.ptxas(&sources::kernel("k", &[format!("f_{}_0", name(0))]), ARCH)?;
    maker.add("kernel.cubin", &kernel)?;
    maker.link(&OPTIONS);
    Ok(())
}

fn mercury(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::module(), "sm_100")?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&["-arch=sm_100", "-o", "{out}/out.cubin"]);
    Ok(())
}

/// The object to be linked is a small one; the archive is what takes the time.
fn whole(maker: &mut Maker<'_>, megabytes: usize) -> Result<()> {
    const MEMBER: usize = 128 << 10;
    let main = maker.nvcc(&sources::cuda_library_module(), &["-dc", "-arch=sm_90"])?;
    let template = host_object(maker, &sources::cuda_whole(MEMBER), "-c")?;
    let mut library = Archive::new();
    for module in 0.. {
        if library.bytes().len() >= megabytes << 20 {
            break;
        }
        library.push(&format!("{}.o", name(module)), &template.fill(module, module));
    }
    maker.add("main.o", &main)?;
    maker.add("library.a", library.bytes())?;
    maker.link(&OPTIONS);
    Ok(())
}

fn globals(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    const BLOCK: usize = 1000;
    let template = Template::new(maker.ptxas(&sources::globals(BLOCK), ARCH)?)?;
    maker.modules(&template, count / BLOCK, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn fan(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::leaves(BLOCK), ARCH)?)?;
    maker.modules(&template, count / BLOCK, "cubin")?;
    let callees: Vec<_> = (0..count).map(|i| format!("f_{}_{:03}", name(i / BLOCK), i % BLOCK)).collect();
    let kernel = maker.ptxas(&sources::kernel("k", &callees), ARCH)?;
    maker.add("kernel.cubin", &kernel)?;
    maker.link(&OPTIONS);
    Ok(())
}

fn shared(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::shared(BLOCK), ARCH)?)?;
    maker.modules(&template, count / BLOCK, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn fatbins_zstd(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    fatbins(maker, count, Packing::Zstd)
}

fn fatbins_plain(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    fatbins(maker, count, Packing::None)
}

fn fatbins(maker: &mut Maker<'_>, count: usize, compression: Packing) -> Result<()> {
    const ARCHS: [u16; 8] = [75, 80, 86, 87, 88, 89, 90, 100];
    let mut templates = Vec::new();
    for number in ARCHS {
        let cubin = maker.ptxas(&sources::module(), &format!("sm_{number}"))?;
        templates.push((Arch::plain(number), Template::new(cubin)?));
    }
    for module in 0..count {
        let next = maker.random.below(count);
        let mut container = Builder::new();
        for (arch, template) in &templates {
            let content = template.fill(module, next);
            container.push(&NewMember { compression, ..NewMember::new(Kind::Elf, *arch, &content) });
        }
        maker.add(&format!("{}.fatbin", name(module)), &container.finish())?;
    }
    maker.link(&OPTIONS);
    Ok(())
}

fn lineinfo(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let options = ["-rdc=true", "-cubin", "-arch=sm_90", "-lineinfo"];
    let template = Template::new(maker.nvcc(&sources::cuda_module(), &options)?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&OPTIONS);
    Ok(())
}

fn debug(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let options = ["-rdc=true", "-cubin", "-arch=sm_90", "-G"];
    let template = Template::new(maker.nvcc(&sources::cuda_module(), &options)?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&[&["-g"], &OPTIONS[..]].concat());
    Ok(())
}

fn relocatable(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(maker.ptxas(&sources::module(), ARCH)?)?;
    maker.modules(&template, count, "cubin")?;
    maker.link(&["-arch=sm_90", "-r", "-o", "{out}/whole.cubin"]);
    maker.link_only(&["-arch=sm_90", "{out}/whole.cubin", "-o", "{out}/out.cubin"]);
    Ok(())
}

fn ptx(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(sources::module().into_bytes())?;
    for module in 0..count {
        // The assembler refuses a module that refers to itself as to another.
        let next = (module + 1 + maker.random.below(count - 1)) % count;
        maker.add(&format!("{}.ptx", name(module)), &template.fill(module, next))?;
    }
    maker.link(&OPTIONS);
    Ok(())
}

fn lto(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    lto_modules(maker, count)?;
    lto_link(maker);
    lto_reads(maker);
    Ok(())
}

/// The IR is not to be patched: each module is compiled.
fn lto_modules(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    let template = Template::new(sources::cuda_module().into_bytes())?;
    for module in 0..count {
        let next = maker.random.below(count);
        let text = String::from_utf8_lossy(&template.fill(module, next)).into_owned();
        let object = maker.nvcc(&text, &LTO)?;
        maker.add(&format!("{}.o", name(module)), &object)?;
    }
    Ok(())
}

/// The modules, linked as they were, and again after a kernel of the first has changed.
fn lto_edited(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    lto_modules(maker, count)?;
    lto_link(maker);
    let template = Template::new(sources::cuda_module().into_bytes())?;
    let text = String::from_utf8_lossy(&template.fill(0, 1)).replace("*p = f_", "*p = 5 * f_");
    let object = maker.nvcc(&text, &LTO)?;
    maker.replace(&format!("{}.o", name(0)), "edited.o", &object)?;
    lto_link(maker);
    lto_reads(maker);
    Ok(())
}

fn lto_kernels(maker: &mut Maker<'_>, count: usize) -> Result<()> {
    const MODULES: usize = 10;
    for module in 0..MODULES {
        let text = sources::cuda_kernels(module, count / MODULES);
        let object = maker.nvcc(&text, &LTO)?;
        maker.add(&format!("{}.o", name(module)), &object)?;
    }
    lto_link(maker);
    lto_reads(maker);
    Ok(())
}

fn lto_link(maker: &mut Maker<'_>) {
    let (nvvm, libraries) = (maker.toolkit().join("nvvm"), maker.toolkit().join("lib64"));
    let (nvvm, folder) = (format!("-nvvmpath={}", nvvm.display()), format!("-L{}", libraries.display()));
    maker.link(&[&["-lto", &nvvm], &OPTIONS[..], &[&folder, "-lcudadevrt"]].concat());
}

fn lto_reads(maker: &mut Maker<'_>) {
    let library = maker.toolkit().join("lib64/libcudadevrt.a");
    maker.also_reads(&library);
}
