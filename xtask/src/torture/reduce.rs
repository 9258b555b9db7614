//! Makes a failing program smaller while it goes on failing.

use super::program::{Init, Linkage, Program};

/// Tries every way to leave one thing out, again and again, until none of them keeps `failing` true.
pub fn reduce(mut program: Program, mut failing: impl FnMut(&Program) -> bool) -> Program {
    loop {
        let mut smaller = false;
        for step in STEPS {
            // From the end: what comes last is most often what nothing else depends on.
            let mut index = step.count(&program);
            while index > 0 {
                index -= 1;
                let mut candidate = program.clone();
                if step.remove(&mut candidate, index) && failing(&candidate) {
                    program = candidate;
                    smaller = true;
                    index = index.min(step.count(&program));
                }
            }
        }
        if !smaller {
            return program;
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    Module,
    Func,
    Var,
    Image,
    Alias,
    Declared,
    Op,
    Bound,
    Option,
    Initialiser,
    Attribute,
    Extra,
}

const STEPS: &[Step] = &[
    Step::Module,
    Step::Func,
    Step::Var,
    Step::Image,
    Step::Alias,
    Step::Declared,
    Step::Op,
    Step::Bound,
    Step::Option,
    Step::Initialiser,
    Step::Attribute,
    Step::Extra,
];

impl Step {
    fn count(self, program: &Program) -> usize {
        let modules = program.modules.iter();
        match self {
            Step::Module => program.modules.len(),
            Step::Func | Step::Extra => modules.map(|m| m.funcs.len()).sum(),
            Step::Var | Step::Attribute => modules.map(|m| m.vars.len()).sum(),
            Step::Image => modules.map(|m| m.images.len()).sum(),
            Step::Alias => modules.map(|m| m.aliases.len()).sum(),
            Step::Declared => modules.map(|m| m.declared.len()).sum(),
            Step::Op => modules.flat_map(|m| &m.funcs).map(|f| f.body.len()).sum(),
            Step::Bound => modules.flat_map(|m| &m.funcs).map(|f| f.bounds.len()).sum(),
            Step::Option => program.options.len(),
            Step::Initialiser => modules.flat_map(|m| &m.vars).map(|v| v.init.len()).sum(),
        }
    }

    /// Leaves the `index`th thing out; false when there is nothing to leave out there.
    fn remove(self, program: &mut Program, index: usize) -> bool {
        let modules = &mut program.modules;
        match self {
            Step::Module => remove_at(std::iter::once(modules), index),
            Step::Option => remove_at(std::iter::once(&mut program.options), index),
            Step::Func => remove_at(modules.iter_mut().map(|m| &mut m.funcs), index),
            Step::Var => remove_at(modules.iter_mut().map(|m| &mut m.vars), index),
            Step::Image => remove_at(modules.iter_mut().map(|m| &mut m.images), index),
            Step::Alias => remove_at(modules.iter_mut().map(|m| &mut m.aliases), index),
            Step::Declared => remove_at(modules.iter_mut().map(|m| &mut m.declared), index),
            Step::Op => {
                let funcs = modules.iter_mut().flat_map(|m| &mut m.funcs);
                remove_at(funcs.map(|f| &mut f.body), index)
            }
            Step::Bound => {
                let funcs = modules.iter_mut().flat_map(|m| &mut m.funcs);
                remove_at(funcs.map(|f| &mut f.bounds), index)
            }
            Step::Initialiser => {
                let vars = modules.iter_mut().flat_map(|m| &mut m.vars);
                vars.flat_map(|v| &mut v.init).nth(index).is_some_and(|init| {
                    let plain = matches!(init, Init::Value(0));
                    *init = Init::Value(0);
                    !plain
                })
            }
            Step::Attribute => {
                let var = modules.iter_mut().flat_map(|m| &mut m.vars).nth(index);
                var.is_some_and(|var| {
                    let plain = (var.width, var.count, var.align) == (4, 1, 4);
                    if !plain && var.init.iter().all(|i| matches!(i, Init::Value(0))) {
                        (var.width, var.count, var.align) = (4, 1, 4);
                        var.init.truncate(1);
                        return true;
                    }
                    let managed = var.managed;
                    var.managed = false;
                    managed
                })
            }
            Step::Extra => {
                let func = modules.iter_mut().flat_map(|m| &mut m.funcs).nth(index);
                func.is_some_and(|func| {
                    let plain = func.extra_params == 0 && func.signature == 1;
                    func.extra_params = 0;
                    if func.linkage != Linkage::Common {
                        func.signature = 1;
                    }
                    !plain
                })
            }
        }
    }
}

fn remove_at<'a, T: 'a>(lists: impl Iterator<Item = &'a mut Vec<T>>, mut index: usize) -> bool {
    for list in lists {
        if index < list.len() {
            list.remove(index);
            return true;
        }
        index -= list.len();
    }
    false
}
