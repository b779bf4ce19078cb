# shellcheck shell=sh
# For a script that is at the top of the tree by now: with -h or --help its help,
# which is the comment at its head, and nothing else.
case ${1:-} in
-h | --help)
	sed -n '2,/^[^#]/{ s/^#$//p; s/^# //p; }' "scripts/${0##*/}"
	exit 0
	;;
esac
