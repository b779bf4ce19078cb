# Debian's mirror, as this machine's apt has it: the first source of its main archive.
mirror_here() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -1
}
