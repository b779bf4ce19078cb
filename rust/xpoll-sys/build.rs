//! Finds the system's libxpoll by pkg-config or, with the feature `vendored`, compiles it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let include = found();
    // For tests/layout.rs, and as DEP_XPOLL_INCLUDE for crates that compile C.
    println!("cargo:rustc-env=XPOLL_SYS_INCLUDE={include}");
    println!("cargo:include={include}");
}

#[cfg(not(feature = "vendored"))]
fn found() -> String {
    let part = |name| std::env::var(name).unwrap().parse::<u32>().unwrap();
    let (major, minor) = (part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
    let (least, below) = (format!("{major}.{minor}"), (major + 1).to_string());
    let library = pkg_config::Config::new()
        .range_version(least.as_str()..below.as_str())
        .probe("xpoll")
        .unwrap_or_else(|error| {
            panic!(
                "{error}\nInstall libxpoll, name the folder of its xpoll.pc in \
                    PKG_CONFIG_PATH, or enable the feature `vendored` of xpoll-sys"
            )
        });
    // pkg-config names no folder if the compiler searches it anyway.
    let folder = library.include_paths.first();
    folder.map_or(String::new(), |path| path.display().to_string())
}

#[cfg(feature = "vendored")]
fn found() -> String {
    use std::path::{Path, PathBuf};

    if std::env::var("CARGO_CFG_TARGET_OS").unwrap() != "linux" {
        panic!("the feature `vendored` of xpoll-sys is for Linux; install libxpoll");
    }
    let crate_root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    let mut folder = crate_root.join("vendor");
    if !folder.exists() {
        // In a checkout of the library there is no vendor folder: make one.
        folder = Path::new(&std::env::var("OUT_DIR").unwrap()).join("vendor");
        let top = crate_root.join("../..");
        let status = std::process::Command::new("python3")
            .arg(top.join("scripts/amalgamate.py"))
            .arg(&folder)
            .status();
        assert!(status.is_ok_and(|code| code.success()), "scripts/amalgamate.py failed");
        for part in ["src", "tree", "include"] {
            println!("cargo:rerun-if-changed={}", top.join(part).display());
        }
    }
    println!("cargo:rerun-if-changed={}", folder.display());
    cc::Build::new()
        .file(folder.join("xpoll.c"))
        .std("c11")
        .flag("-pthread")
        .define("XPOLL_API", "")
        .warnings(false)
        .compile("xpoll");
    println!("cargo:rustc-link-lib=pthread");
    folder.display().to_string()
}
