# Part of ./dev: the site of the documentation.

# References that other tools make, where they are here: those of Java and Rust.
reference_pages() {
	pages=build/docs/pages/reference
	mkdir -p "$pages/rust"
	sh java/javadoc.sh "$pages/java" || [ $? -eq 77 ]
	# As CMake runs it for the test rust.doc.
	made=$PWD/build/release/rust
	code=0
	PKG_CONFIG_PATH=$made LD_LIBRARY_PATH=$PWD/build/release/lib \
		sh rust/cargo.sh doc "$made" || code=$?
	case $code in
	0) cp -R "$made/target/doc/." "$pages/rust" ;;
	77) say "the site has no reference of the Rust crates" ;;
	*) return 1 ;;
	esac
}

docs() {
	step="docs"
	python3 scripts/docs.py
	venv venv-docs docs/site/requirements.txt material ||
		die "no Python environment for MkDocs; build/venv-docs.log says why"
	rm -rf build/docs/pages build/docs/site
	reference_pages
	python3 scripts/site.py stage build/docs --python build/release/python
	(cd build/docs && NO_MKDOCS_2_WARNING=1 ../venv-docs/bin/mkdocs build --quiet)
	step="links of the site"
	python3 scripts/site.py check build/docs/site
	say "the site is build/docs/site/index.html"
}
