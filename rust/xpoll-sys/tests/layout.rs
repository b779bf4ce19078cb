//! Are the bindings what the header says? A C program that is compiled against the header
//! prints its constants, sizes and offsets, and each name of the header must have a binding.

use std::collections::BTreeMap;
use std::mem::{size_of, MaybeUninit};
use std::path::{Path, PathBuf};
use std::process::Command;

use xpoll_sys as sys;

/// What to do about a difference.
const CURE: &str = "the top of src/bindings.rs says how it is written anew";

const BINDINGS: &str = concat!(include_str!("../src/bindings.rs"), include_str!("../src/tree.rs"));

fn include_folder() -> PathBuf {
    let folder = env!("XPOLL_SYS_INCLUDE");
    PathBuf::from(if folder.is_empty() { "/usr/include" } else { folder })
}

fn header() -> String {
    let file = |name: &str| std::fs::read_to_string(include_folder().join(name)).unwrap();
    file("xpoll.h") + &file("xpoll_tree.h")
}

/// What a C program prints whose main() has these statements, a "name number" a line.
fn ask_c(name: &str, statements: &str) -> BTreeMap<String, i64> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <xpoll_tree.h>\n\
         #define SAY(name, value) printf(\"%s %lld\\n\", name, (long long)(value));\n\
         int main(void)\n{{\n{statements}return 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-Werror", "-I"])
        .arg(include_folder())
        .arg("-o")
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(program).output().unwrap().stdout;
    let line = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_string(), value.parse().unwrap())
    };
    String::from_utf8(output).unwrap().lines().map(line).collect()
}

#[test]
fn constants_are_those_of_the_header() {
    let mut ours = BTreeMap::new();
    for line in BINDINGS.lines() {
        if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(':').unwrap();
            let value = rest.split_once("= ").unwrap().1.trim_end_matches(';');
            ours.insert(name.to_string(), value.parse::<i64>().unwrap());
        }
    }
    let names = header();
    let names = names
        .lines()
        .filter_map(|line| line.strip_prefix("#define XPOLL_"))
        .filter_map(|rest| rest.split_once([' ', '\t']))
        .filter(|(name, value)| !name.starts_with("API") && !value.trim().is_empty())
        .map(|(name, _)| format!("XPOLL_{name}"));
    let statements = names.map(|name| format!("SAY(\"{name}\", {name})\n")).collect::<String>();
    assert_eq!(ask_c("constants", &statements), ours, "{CURE}");
}

/// The name, size and offset of each field, and C's statements that say the same.
macro_rules! layout {
    ($facts:ident, $statements:ident, $name:ident: $($field:tt)*) => {
        let value = MaybeUninit::<sys::$name>::uninit();
        let base = value.as_ptr();
        let name = stringify!($name);
        $facts.insert(name.to_string(), size_of::<sys::$name>() as i64);
        $statements += &format!("SAY(\"{name}\", sizeof(struct {name}))\n");
        $(
            let field = stringify!($field);
            // The place in memory alone: nothing is read.
            let place = unsafe { std::ptr::addr_of!((*base).$field) };
            let offset = place as usize - base as usize;
            // What bindgen names in its own way.
            let field = match (field, &name[..]) {
                ("__bindgen_anon_1", "xpoll_ready") => "data",
                ("__bindgen_anon_1", _) => "udata",
                _ => field,
            };
            let field = field.trim_end_matches('_');
            $facts.insert(format!("{name}.{field}"), offset as i64);
            $statements +=
                &format!("SAY(\"{name}.{field}\", offsetof(struct {name}, {field}))\n");
        )*
    };
}

#[test]
fn structures_are_laid_out_as_in_the_header() {
    let mut facts = BTreeMap::new();
    let mut statements = String::new();
    layout!(facts, statements, xpoll_options: size backend flags size_hint busy_poll_us
            reserved);
    layout!(facts, statements,
            xpoll_event: ident filter flags fflags data __bindgen_anon_1);
    layout!(facts, statements, xpoll_ready: __bindgen_anon_1 fd events);
    layout!(facts, statements,
            xpoll_aio: size op fd buffer length offset udata result priv_);
    layout!(facts, statements,
            xpoll_stats: waits events wakes empty_returns changes changes_free change_errors
            syscalls_wait syscalls_change syscalls_check syscalls_wake stale_dropped fruitless
            rebuilds registered signals_unobserved idle_ns);
    layout!(facts, statements, xpoll_tree_options: size flags notes skip argument);
    layout!(facts, statements, xpoll_tree_change: kind error notes path to);
    assert_eq!(ask_c("layout", &statements), facts, "{CURE}");
    let structures = BINDINGS.lines().filter(|line| line.starts_with("pub struct ")).count();
    assert_eq!(structures, 9, "seven here, and the opaque ones");
}

#[test]
fn functions_are_those_of_the_header() {
    let header = header().replace('\n', " ");
    let declared: std::collections::BTreeSet<_> = header
        .split("XPOLL_API ")
        .skip(1)
        .filter_map(|rest| rest.split_once('('))
        .filter_map(|(head, _)| head.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("xpoll_"))
        .collect();
    let bound: std::collections::BTreeSet<_> = BINDINGS
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn "))
        .map(|rest| rest.split_once('(').unwrap().0)
        .collect();
    assert!(declared.len() > 25, "{declared:?}");
    assert_eq!(declared, bound, "{CURE}");
}

#[test]
fn version_is_the_library_s() {
    let number = unsafe { sys::xpoll_version() };
    assert_eq!(number, sys::XPOLL_VERSION);
    let words = format!("{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
    assert_eq!(words, env!("CARGO_PKG_VERSION"));
}
