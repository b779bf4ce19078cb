# Begins ./dev and each script of scripts; their folder is the top of the tree by now.
say() { printf '%s\n' "$(basename -- "$0" .sh): $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# With -h or --help a script prints the comment at its head, and does nothing else.
help_of() { sed -n '2,/^[^#]/{ s/^#$//p; s/^# //p; }' "$1"; }
case $0:${1:-} in
*.sh:-h | *.sh:--help)
	help_of "scripts/${0##*/}"
	exit 0
	;;
esac

# Debian's mirror, as this machine's apt has it: the first source of its main archive.
mirror_here() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -1
}
