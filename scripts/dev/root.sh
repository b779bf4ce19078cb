# Debian's mirror and fresh roots of it, for scripts/fresh.sh and its like, which have say
# and die.

# Debian's mirror, as this machine's apt has it: the first source of its main archive.
mirror_here() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -1
}

# Sets $folder, where they are.
begin_roots() {
	folder=${XPOLL_FRESH:-$PWD/build/fresh}
	[ "$(id -u)" -eq 0 ] || die "only root can make a root"
	command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
	mkdir -p "$folder"
}

# make_base SUITE
make_base() {
	[ ! -f "$folder/$1.made" ] || return 0
	say "$1: debootstrap"
	rm -rf "${folder:?}/$1"
	debootstrap --variant=minbase "$1" "$folder/$1" "$(mirror_here)" \
		>"$folder/$1.log" 2>&1 || { tail -3 "$folder/$1.log" >&2; return 1; }
	# A newcomer's machine has as a rule no lists of packages that are of today.
	rm -rf "$folder/$1"/var/lib/apt/lists/* "$folder/$1"/var/cache/apt/archives/*.deb
	touch "$folder/$1.made"
}

# copy_base SUITE: into $root; with the checkout, and how this machine reaches the
# package indexes.
copy_base() {
	root=$folder/run-$$
	rm -rf "$root"
	cp -a "$folder/$1" "$root"
	for file in /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates \
		/etc/ssl/certs/ca-certificates.crt; do
		[ -e "$file" ] || continue
		mkdir -p "$root${file%/*}"
		cp -aL "$file" "$root${file%/*}/"
	done
	chroot "$root" useradd -m newcomer
	git clone -q --no-hardlinks . "$root/home/newcomer/xpoll"
	chroot "$root" chown -R newcomer: /home/newcomer/xpoll
}

# inside COMMAND: a shell of root's in $root.
inside() {
	unshare --mount --pid --fork --kill-child sh -c '
		root=$0
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=755 dev "$root/dev"
		for name in null zero full random urandom tty; do
			touch "$root/dev/$name"
			mount --bind "/dev/$name" "$root/dev/$name"
		done
		mkdir "$root/dev/pts" "$root/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
		ln -s pts/ptmx "$root/dev/ptmx"
		ln -s /proc/self/fd "$root/dev/fd"
		mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
		exec env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER -u JAVA_HOME \
			HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -c "$1"
	' "$root" "$1" </dev/null
}
