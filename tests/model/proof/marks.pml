/*
 * Low-water marks: a filter of one descriptor that is ready from MARK bytes on.
 *
 * The kernel knows only "some": it reports by edges, and each report is counted.
 * With EDGES each byte that arrives makes an edge, as for reading; without, none
 * does, as for room that grows in what is writable already: then a filter that
 * was found below its mark is checked again at a later time.
 * The descriptor has a second filter, of the same mask, whose edges arrive as well.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef BYTES
#define BYTES 4 /* that arrive, in all */
#endif
#ifndef EXPIRIES
#define EXPIRIES 1 /* waits whose timeout passes */
#endif
#ifndef EDGES
#define EDGES true
#endif
#define MARK 2
#define NOBODY 7
#define bit_of(i) (1 << (i))

byte amount;  /* bytes to read, or room */
bit linked;   /* the entry's edge */
bit kicked;   /* the wake counter's */
byte asleep;  /* inside epoll_wait */
byte waiters; /* the same, or on their way out */
byte handed;  /* they were handed it, and have not waited again since */
byte in_wait; /* in a wait: others may never come back */
byte expiries = EXPIRIES;
bit locked;
bit wanted = 1;
bit candidate;
bit unmet;    /* ready, but for the mark */
bit due;      /* a time is set */
byte timer_waiter = NOBODY; /* the thread that sleeps no longer than until then */

#define lock() !locked -> locked = 1
#define wake_up() asleep = asleep & ~bit_of(me)
#define enough (amount >= MARK)

/* src/core/entry.c: xp_entry_hand_to_kernel: the kernel checks the state */
inline xp_entry_hand_to_kernel()
{
	linked = linked || amount > 0
}

/* src/core/count.c: xp_lowat_mask_events, enough_to_read, room_or_check_later */
inline xp_lowat_mask_events()
{
	if
	:: !wanted
	:: wanted && enough ->
		unmet = 0;
		handed = handed | bit_of(me);
		/* src/core/report.h: xp_recheck_after_delivery */
		candidate = 1
	:: wanted && !enough ->
		if
		:: !EDGES && amount -> unmet = 1; due = 1
		:: else
		fi
	fi
}

/* src/core/count.c: xp_lowat_due */
inline xp_lowat_due()
{
	due = 0;
	candidate = candidate || (unmet && wanted);
	unmet = 0
}

/* src/core/sleep.c: leave_to_sleepers; src/core/check.c: xp_candidates_to_kernel */
inline leave_to_sleepers()
{
	if
	:: waiters && candidate -> candidate = 0; xp_entry_hand_to_kernel()
	:: else
	fi;
	if
	:: waiters && due && timer_waiter == NOBODY -> kicked = 1
	:: else
	fi
}

proctype waiter(byte me)
{
	bit look, over;

	do
	:: atomic { lock(); /* src/core/wait.c: xp_wait_call */
		handed = handed & ~bit_of(me); over = 0; in_wait = in_wait | bit_of(me) }
		do
		:: atomic { candidate -> /* src/core/check.c: candidate_take */
			candidate = 0;
			look = amount > 0 }
			/* src/core/check.c: candidate_handle_bits */
			atomic {
				if
				:: look -> xp_lowat_mask_events()
				:: else
				fi;
				look = 0 }
		:: atomic { !candidate && due -> xp_lowat_due() } /* the time has come */
		:: atomic { (handed & bit_of(me)) || (over && !candidate) -> break } /* src/core/wait.c: wait_is_over */
		:: atomic { !candidate && !(handed & bit_of(me)) && !over -> /* src/core/sleep.c: xp_sleep_shared */
			waiters = waiters | bit_of(me);
			asleep = asleep | bit_of(me);
			if
			:: timer_waiter == NOBODY -> timer_waiter = me
			:: else
			fi;
			locked = 0 }
end_asleep: /* src/linux/epoll.c: epoll_await */
			if
			:: atomic { linked -> linked = 0; look = 1; wake_up() }
			:: atomic { kicked -> kicked = 0; wake_up() }
			:: atomic { due && timer_waiter == me -> wake_up() } /* its deadline is cut */
			:: atomic { expiries > 0 -> expiries--; over = 1; wake_up() }
			fi;
			atomic { lock(); /* src/core/threads.c: xp_sleeper_leave */
				waiters = waiters & ~bit_of(me);
				if
				:: timer_waiter == me -> timer_waiter = NOBODY
				:: else
				fi }
			atomic { /* src/core/report.c: xp_deliver */
				if
				:: look -> xp_lowat_mask_events()
				:: else
				fi;
				look = 0 }
		od;
		atomic { leave_to_sleepers(); in_wait = in_wait & ~bit_of(me); locked = 0 }
		/* The program takes some of it, or all, or is in no hurry. */
		if
		:: atomic { amount > 0 -> amount-- }
		:: amount = 0
		:: true
		fi
	od
}

proctype changer()
{
	byte left = CHANGES;

	do
	:: left > 0 ->
		left--;
		if
		:: atomic { lock(); /* src/core/changes.c: xp_change_disable */
			wanted = 0;
			candidate = 0;
			locked = 0 }
		:: atomic { lock(); /* src/core/changes.c: xp_change_enable */
			wanted = 1;
			if
			:: waiters -> xp_entry_hand_to_kernel()
			:: else -> candidate = 1
			fi;
			locked = 0 }
		:: atomic { linked = 1 } /* The kernel: an edge of the other filter. */
		fi
	:: else -> break
	od
}

proctype world()
{
	byte left = BYTES;

	do
	:: atomic { left > 0 ->
		left--;
		/* The first makes an edge in any case: there was nothing. */
		linked = linked || EDGES || amount == 0;
		amount++ }
	:: else -> break
	od
}

/* Nothing is lost: if all that wait sleep, one of them will come out. */
proctype watch()
{
end:	do
	:: atomic { asleep && asleep == in_wait && !linked && !kicked &&
		!(due && timer_waiter != NOBODY) ->
		assert(!(wanted && enough)) }
	od
}

init
{
	byte n;

	atomic {
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> break
		od;
		run changer();
		run world();
		run watch()
	}
}

#ifdef PROGRESS
/* The claim of progress: what has reached its mark is delivered, with any scheduler. */
never
{
	do
	:: true
	:: wanted && enough && !handed -> break
	od;
accept:
	do
	:: wanted && enough && !handed
	od
}
#endif
