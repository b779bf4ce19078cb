# bash completion for xpoll(1).  Works with and without the bash-completion package.

_xpoll_watch() {
	local cur=$1 prev=$2
	case $prev in
	--file) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null ;;
	--dir) COMPREPLY=($(compgen -d -- "$cur")); compopt -o filenames 2>/dev/null ;;
	--pid) COMPREPLY=($(compgen -W "$(cd /proc 2>/dev/null && echo [1-9]*)" -- "$cur")) ;;
	--signal)
		COMPREPLY=($(compgen -W "HUP INT QUIT USR1 USR2 ALRM TERM CHLD CONT TSTP
			TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO RTMIN" -- "$cur"))
		;;
	--timer | --timeout) COMPREPLY=($(compgen -W '100ms 500ms 1s 10s 1m' -- "$cur")) ;;
	--fd) COMPREPLY=($(compgen -W '0 3' -- "$cur")) ;;
	--events)
		# Complete the last word of a list; the words before it stay.
		local before=
		[[ $cur != *,* ]] || before=${cur%,*},
		COMPREPLY=($(compgen -P "$before" -W "create delete rename write extend
			truncate attrib link revoke open read close close-write" -- "${cur##*,}"))
		compopt -o nospace 2>/dev/null
		;;
	--run) COMPREPLY=($(compgen -c -- "$cur")) ;;
	--listen | --exclude | --count) ;;
	*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "--file --dir --pid --exec --signal --timer --fd
				--listen -r --events --exclude --run --count --timeout --json -q
				-h --help --version" -- "$cur"))
		else
			COMPREPLY=($(compgen -f -- "$cur"))
			compopt -o filenames 2>/dev/null
		fi
		;;
	esac
}

_xpoll_bench() {
	local cur=$1 prev=$2
	case $prev in
	--backend) COMPREPLY=($(compgen -W 'epoll poll select' -- "$cur")) ;;
	--peers) COMPREPLY=($(compgen -W 'none raw all' -- "$cur")) ;;
	--json) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null ;;
	-n | -t | --rounds | --operations | --pin) ;;
	*)
		if ((COMP_CWORD == 2)); then
			COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" bench --help 2>/dev/null |
				sed -n '/^workloads:/,$s/^  \([a-z-]*\) .*/\1/p') --help --version" -- "$cur"))
		else
			COMPREPLY=($(compgen -W "-n -t --rounds --operations --pin --backend --peers
				--json -h --help --version" -- "$cur"))
		fi
		;;
	esac
}

# Another command with its own arguments begins at this word.
_xpoll_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		COMPREPLY=($(compgen -c -- "$2"))
	else
		COMPREPLY=($(compgen -f -- "$2"))
	fi
}

_xpoll() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W 'info watch bench run selftest help version --help --version' -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	watch)
		# Behind --exec is another command with its own arguments.
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == --exec ]] || continue
			_xpoll_command $((i + 1)) "$cur"
			return
		done
		_xpoll_watch "$cur" "$prev"
		;;
	bench) _xpoll_bench "$cur" "$prev" ;;
	run)
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -* && ${COMP_WORDS[i]} != -- ]] || break
		done
		[[ ${COMP_WORDS[i]} != -- ]] || ((i++))
		if ((i < COMP_CWORD)) || { ((i == COMP_CWORD)) && [[ $cur != -* ]]; }; then
			_xpoll_command $i "$cur"
		else
			COMPREPLY=($(compgen -W '--poll --stats -h --help --version' -- "$cur"))
		fi
		;;
	info) COMPREPLY=($(compgen -W '--json -h --help --version' -- "$cur")) ;;
	selftest)
		case $prev in
		--backend) COMPREPLY=($(compgen -W 'epoll poll select' -- "$cur")) ;;
		*) COMPREPLY=($(compgen -W '--backend --verbose -h --help --version' -- "$cur")) ;;
		esac
		;;
	help) COMPREPLY=($(compgen -W 'info watch bench run selftest' -- "$cur")) ;;
	esac
}

complete -F _xpoll xpoll
