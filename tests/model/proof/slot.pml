/*
 * One descriptor with one filter, several threads that wait, and one that changes it.
 *
 * A thread fetches a report without the lock, so what it returns with may be of an arming
 * before the last one, from before the last mark, or of a registration that has ended.  A late
 * change is made without the lock.  The program may close the descriptor and open another
 * file under its number, without saying so.
 *
 * An arming and a sequence number are only compared with others, so the model has the results:
 * a set of those who have an older token (`older`), and one of those whose token is of an
 * ended registration (`stale`).  Numbers that only say how soon (the 64th report, fruitless
 * reports, checks in vain, threads.shared) are left open: both ways are tried.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 1 /* waits that do not sleep, or whose timeout passes */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef CLOSES
#define CLOSES 1
#endif
#ifndef CAN_PROBE
#define CAN_PROBE true
#endif
#ifndef CLEAR
#define CLEAR false
#endif
#ifndef ONESHOT
#define ONESHOT false
#endif
#ifndef DISPATCH
#define DISPATCH false
#endif
#define reports_once (DISPATCH || ONESHOT)
#define bit_of(i) (1 << (i))

/* The modes of the kernel's entry. */
#define LEVEL 0
#define EDGE  1
#define ONCE  2

/* The kernel's. */
bit ready;   /* there is something to read */
bit there;   /* the entry of the file that the number stands for */
unsigned k_mode : 2;
bit k_armed; /* the filter is in its mask */
bit linked;  /* it is in the list of those that may be ready */
bit wake_linked;
byte asleep; /* inside epoll_wait: a set of threads */

/* Who has a token: a thread with a report, the kernel's entry, a thread with a late change. */
#define REPORT (1 << me)
#define KERNEL 8
#define CHANGE (16 << me)
#define CHANGER 3
byte used, older, stale;

/* The slot's, and the queue's. */
bit locked;
bit present, armed, marked;
bit on; /* enabled, which is a word of Promela's */
bit check, recheck; /* it is a candidate if one of these is set */
unsigned mode : 2;
byte late;    /* threads that make a late change */
byte unmade;  /* of these, whose change the kernel has not got yet */
byte waiters; /* inside epoll_wait, or on their way out */
byte noted;   /* waits that have noted the sequence, and not yet compared it */
byte later;   /* of these, before the slot was marked */

byte expiries = EXPIRIES;
byte cancels = CANCELS;
byte in_call; /* waits, except of those whose program does something else */
byte busy;    /* a set of threads in other calls */

/* What the program knows, for the claims. */
bit wanted;   /* it has enabled the filter, and not got it since */
bit held;     /* it was ready since it was enabled last */
bit news;     /* CLEAR: there was activity that was not delivered */
byte handed;  /* threads that have got it and have not acted */

#define lock() !locked -> locked = 1
#define candidate (check || recheck)
#define is_silent (mode == ONCE && !armed)

/* The claims: a token is made. */
inline token_new(to)
{
	used = used | (to);
	older = older & ~(to);
	stale = stale & ~(to)
}

/* The claims: a token is copied. */
inline token_copy(from, to)
{
	used = used | (to);
	older = (older & (from) -> older | (to) : older & ~(to));
	stale = (stale & (from) -> stale | (to) : stale & ~(to))
}

/* The claims: a token is forgotten. */
inline token_end(who)
{
	used = used & ~(who);
	older = older & ~(who);
	stale = stale & ~(who)
}

/* The kernel: a change of an entry checks the state. */
inline kernel_change(how, mask)
{
	k_mode = how;
	k_armed = mask;
	linked = (mask) && ready
}

/* The kernel: the entry ends, with its file or without. */
inline kernel_end()
{
	there = 0;
	k_mode = LEVEL;
	k_armed = 0;
	linked = 0;
	token_end(KERNEL)
}

/* src/core/slot.h: xp_late_await: with the lock, which a late change does not need */
#define xp_late_await() late == 0

/* src/core/entry.c: slot_clear; src/core/slot.h: xp_slot_invalidate_tokens */
inline slot_clear()
{
	xp_late_await();
	older = used;
	stale = used;
	present = 0; on = 0; armed = 0; marked = 0;
	check = 0; recheck = 0;
	mode = LEVEL;
	wanted = 0
}

/* src/core/entry.c: entry_step_arming, entry_record_armed */
inline entry_armed(how, mask)
{
	older = used;
	mode = how;
	armed = mask;
	marked = 0;
	later = 0
}

/* src/core/entry.c: xp_entry_arm, xp_entry_drop */
inline xp_entry_arm(how, mask)
{
	xp_late_await();
	if
	:: !there -> slot_clear()
	:: else -> entry_armed(how, mask); kernel_change(how, mask); token_new(KERNEL)
	fi
}

/* src/core/entry.c: xp_entry_arm_wanted, xp_entry_wanted_mode: while the filter is enabled */
inline xp_entry_arm_wanted()
{
	if
	:: CLEAR -> xp_entry_arm(EDGE, 1)
	:: else -> xp_entry_arm(LEVEL, 1)
	fi
}

/* src/core/entry.c: xp_entry_arm_late: move() makes the change */
inline xp_entry_arm_late(how)
{
	/* No late change overtakes another. */
	assert(unmade == 0);
	entry_armed(how, 1);
	token_new(CHANGE);
	late_mode = how;
	unmade++;
	late++
}

/* src/core/candidates.h: xp_slot_outdate_reports */
inline xp_slot_outdate_reports()
{
	marked = 1;
	later = noted
}

/* src/core/entry.c: xp_entry_hand_to_kernel */
inline xp_entry_hand_to_kernel()
{
	if
	:: mode == ONCE -> xp_entry_arm(ONCE, 1)
	:: mode == EDGE -> xp_entry_arm_wanted()
	:: else
	fi
}

/* src/core/sleep.c: leave_to_sleepers; src/core/check.c: xp_candidates_to_kernel */
inline leave_to_sleepers()
{
	if
	:: waiters && candidate && on && check && !CAN_PROBE -> wake_linked = 1
	:: waiters && candidate && !(on && check && !CAN_PROBE) ->
		check = 0;
		recheck = 0;
		if
		:: on -> xp_entry_hand_to_kernel()
		:: else
		fi
	:: else
	fi
}

/* src/core/entry.c: xp_entry_fruitless */
inline xp_entry_fruitless()
{
	if
	:: mode == LEVEL && reports_once && CAN_PROBE -> xp_entry_arm(ONCE, 0)
	:: mode == LEVEL -> xp_entry_arm(EDGE, 1)
	:: mode == EDGE -> xp_entry_arm(EDGE, 0)
	:: mode != LEVEL
	fi
}

/* src/core/entry.c: xp_entry_end */
inline xp_entry_end(silent)
{
	if
	:: (silent) && is_silent -> slot_clear() /* slot.has_leftover_entry: the kernel keeps the entry */
	:: else -> xp_late_await(); kernel_end(); slot_clear()
	fi
}

/* src/core/report.c: xp_deliver; src/core/report.h: xp_finish_delivery; src/core/changes.c: xp_change_delivered */
inline xp_deliver()
{
	if
	:: on ->
		/* What is delivered was enabled, and was ready since. */
		assert(wanted && held);
		got = 1;
		handed = handed | bit_of(me);
		news = 0;
		if
		:: ONESHOT -> xp_entry_end(true)
		:: !ONESHOT && DISPATCH -> on = 0; check = 0; recheck = 0; wanted = 0
		:: !ONESHOT && !DISPATCH && !CLEAR && mode == EDGE -> recheck = 1
		:: else
		fi
	:: else -> xp_entry_fruitless()
	fi
}

/* src/core/report.c: xp_report, report_check_superseded, report_outdated */
inline xp_report()
{
	if
	:: !present || (stale & REPORT) /* report_without_registration */
	:: present && !(stale & REPORT) && (older & REPORT) -> more = 1
	:: else ->
		armed = armed && mode != ONCE;
		if
		:: marked && (later & bit_of(me)) ->
			more = 1;
			recheck = recheck || (on && mode != LEVEL)
		:: !(marked && (later & bit_of(me))) && !there -> /* the 64th */
			slot_clear()
		:: !(marked && (later & bit_of(me))) -> xp_deliver()
		fi
	fi;
	token_end(REPORT);
	noted = noted & ~bit_of(me);
	later = later & ~bit_of(me)
}

/* src/core/check.c: candidate_not_ready */
inline candidate_not_ready()
{
	if
	:: is_silent && on -> xp_entry_arm(ONCE, 1)
	:: else
	fi;
	if
	:: present && !named && mode == EDGE && !CLEAR && on -> xp_entry_arm(LEVEL, 1)
	:: true
	fi
}

/* src/core/check.c: is_same_file; src/core/entry.c: xp_entry_verify_or_drop */
inline is_same_file()
{
	if
	:: mode == EDGE && on && !CLEAR -> xp_entry_arm(LEVEL, 1)
	:: !(mode == EDGE && on && !CLEAR) && !there -> slot_clear()
	:: else
	fi
}

/* src/core/candidates.c: xp_candidates_add_edges; src/core/candidates.h: xp_candidate_add_delivered */
inline xp_candidates_add_edges()
{
	if
	:: mode == ONCE -> xp_late_await(); armed = 0
	:: else
	fi;
	if
	:: mode != LEVEL && on -> xp_slot_outdate_reports(); recheck = 1
	:: else
	fi
}

/* The claims: from now on it has to be delivered if it is ready. */
inline wanted_from_now()
{
	wanted = 1;
	held = ready;
	news = 1
}

/* src/core/changes.c: xp_change_enable, arm_or_recheck */
inline xp_change_enable()
{
	if
	:: !present
	:: else ->
		on = 1;
		wanted_from_now();
		if
		:: is_silent ->
			if
			:: xp_entry_arm_late(ONCE)
			:: xp_entry_arm_late(LEVEL) /* try whether that makes calls unnecessary */
			fi
		:: !is_silent && !armed -> xp_entry_arm_wanted()
		:: armed && mode != EDGE -> xp_slot_outdate_reports()
		:: armed && mode == EDGE && waiters && CAN_PROBE && reports_once ->
			xp_entry_arm_late(ONCE)
		:: armed && mode == EDGE && waiters && CAN_PROBE && !reports_once ->
			xp_entry_arm_wanted()
		:: armed && mode == EDGE && !(waiters && CAN_PROBE) ->
			xp_slot_outdate_reports();
			check = 1
		fi
	fi
}

/* src/core/changes.c: add_new; src/core/entry.c: xp_entry_attach */
inline add_new()
{
	present = 1;
	on = 1;
	wanted_from_now();
	there = 1;
	entry_armed((ONESHOT -> ONCE : (CLEAR -> EDGE : LEVEL)), 1);
	kernel_change(mode, 1);
	token_new(KERNEL)
}

/* src/core/changes.c: change_add, add_more */
inline xp_change_add()
{
	if
	:: present ->
		xp_late_await();
		on = 1;
		wanted_from_now();
		xp_entry_arm_wanted()
	:: else
	fi;
	if
	:: !present -> add_new()
	:: else
	fi
}

/* src/core/changes.c: xp_change_delete */
inline xp_change_delete()
{
	if
	:: present -> xp_entry_end(false)
	:: else
	fi
}

/* src/core/sleep.h: xp_leave_late: with the lock */
inline xp_leave_late()
{
	leave_to_sleepers();
	locked = 0
}

/* src/core/sleep.c: late_change_make, late_change_failed: without the lock */
inline late_make()
{
	if
	:: !(used & CHANGE)
	:: atomic { (used & CHANGE) && there ->
		kernel_change(late_mode, 1);
		token_copy(CHANGE, KERNEL);
		token_end(CHANGE);
		late_mode = LEVEL;
		unmade-- }
		atomic { late-- }
	:: atomic { (used & CHANGE) && !there -> late--; unmade-- }
		atomic { lock();
			if
			:: !(older & CHANGE) -> slot_clear()
			:: else
			fi;
			token_end(CHANGE);
			late_mode = LEVEL;
			leave_to_sleepers();
			locked = 0 }
	fi
}

proctype waiter(byte me)
{
	bit past, got, more, named, found, seen_there, cancelled, slept;
	unsigned late_mode : 2;

call:	atomic { /* src/core/wait.c: xp_wait_call */
		lock();
		in_call = in_call | bit_of(me);
		if
		:: expiries > 0 -> expiries--; past = 1
		:: true
		fi
	}
loop:	atomic { /* src/core/wait.c: deliver_found; src/core/check.c: candidate_take */
		more = 0;
		if
		:: !candidate -> goto ask
		:: candidate && !on -> check = 0; recheck = 0; goto ask
		:: candidate && on && !CAN_PROBE ->
			check = 0;
			recheck = 0;
			xp_entry_hand_to_kernel();
			goto ask
		:: else -> /* src/core/check.c: chunk_check */
			named = check;
			check = 0;
			recheck = 0;
			found = ready;
			seen_there = there
		fi
	}
	atomic { /* src/core/check.c: candidate_handle_bits */
		if
		:: found && !named -> is_same_file()
		:: found && named
		:: !found -> candidate_not_ready()
		fi;
		if
		:: found && present ->
			assert(named || seen_there); /* the file that was registered */
			xp_deliver()
		:: else
		fi;
		named = 0;
		found = 0;
		seen_there = 0;
		if
		:: got -> goto leave
		:: else
		fi
	}
ask:	atomic { /* src/core/sleep.c: xp_sleep_shared; src/core/wait.c: poll_kernel */
		noted = noted | bit_of(me);
		later = later & ~bit_of(me);
		if
		:: past -> goto harvest
		:: else ->
			slept = 1;
			waiters = waiters | bit_of(me);
			asleep = asleep | bit_of(me);
			locked = 0
		fi
	}
end_asleep: /* src/linux/epoll.c: epoll_await */
	atomic {
		if
		:: wake_linked -> wake_linked = 0
		:: linked && k_armed && ready
		:: expiries > 0 -> expiries--; past = 1
		:: cancels > 0 -> cancels--; cancelled = 1
		fi;
harvest:	if
		:: linked && k_armed && ready ->
			token_copy(KERNEL, REPORT);
			linked = k_mode == LEVEL;
			k_armed = k_armed && k_mode != ONCE
		:: !(linked && k_armed && ready) || past || cancelled
		fi;
		asleep = asleep & ~bit_of(me)
	}
	atomic { /* src/core/sleep.c: sleeper_awake; src/core/threads.c: xp_sleeper_leave */
		if
		:: slept -> lock(); slept = 0; waiters = waiters & ~bit_of(me)
		:: else
		fi;
		if
		:: cancelled -> /* src/core/sleep.c: sleep_cancelled */
			token_end(REPORT);
			noted = noted & ~bit_of(me);
			later = later & ~bit_of(me);
			xp_candidates_add_edges()
		:: !cancelled && (used & REPORT) -> xp_report()
		:: else -> noted = noted & ~bit_of(me); later = later & ~bit_of(me)
		fi;
		if /* src/core/wait.c: may_have_more, wait_is_over */
		:: cancelled || got
		:: !cancelled && !got && !candidate && !more && past
		:: else -> goto loop
		fi
	}
leave:	atomic { /* src/core/wait.c: xp_wait_call */
		leave_to_sleepers();
		past = 0;
		more = 0;
		in_call = in_call & ~bit_of(me);
		locked = 0;
		if
		:: cancelled -> goto gone
		:: !cancelled && !got -> goto call
		:: else -> got = 0
		fi
	}
	atomic { /* The program reads, or not. */
		if
		:: ready = 0
		:: true
		fi;
		busy = busy | (reports_once -> bit_of(me) : 0);
		handed = handed & ~bit_of(me);
		if
		:: !reports_once -> goto call
		:: else
		fi
	}
	atomic { lock();
		if
		:: ONESHOT -> xp_change_add()
		:: else -> xp_change_enable()
		fi;
		xp_leave_late() }
	late_make();
	atomic { busy = busy & ~bit_of(me); goto call } /* The program waits again. */
gone:	skip
}

proctype changer()
{
	byte me = CHANGER, changes = CHANGES, closes = CLOSES;
	unsigned late_mode : 2;

	do
	:: changes > 0 ->
		atomic { changes--; busy = busy | bit_of(me) } /* The program calls. */
		if
		:: atomic { lock(); xp_change_enable(); xp_leave_late() }
			late_make()
		:: atomic { lock(); /* src/core/changes.c: xp_change_disable, disable_filters */
			on = 0;
			check = 0;
			recheck = 0;
			wanted = 0;
			xp_leave_late() }
		:: atomic { lock(); xp_change_add(); xp_leave_late() }
		:: atomic { lock(); xp_change_delete(); xp_leave_late() }
		:: atomic { closes > 0 -> closes--; kernel_end(); ready = 0 } /* The program. */
			atomic { lock(); xp_change_add(); xp_leave_late() }
		fi;
		atomic { busy = busy & ~bit_of(me) } /* The program's call has returned. */
	:: else -> break
	od
}

proctype world()
{
	byte writes = WRITES;

	do
	:: atomic { writes > 0 ->
		writes--;
		ready = 1;
		held = held || wanted;
		news = 1;
		linked = linked || k_armed }
	:: break
	od
}

/* Ready, enabled, of the file that is registered, and with CLEAR new. */
#define at_hand (present && there && wanted && ready && (!CLEAR || news))
#define at_rest (!locked && !busy && in_call && asleep == in_call && !wake_linked && \
	!(linked && k_armed && ready))

active proctype claims()
{
end:	atomic { at_rest -> assert(!at_hand) }
}

init
{
	byte n;

	atomic {
		add_new();
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> break
		od;
		run changer();
		run world()
	}
}

#ifdef PROGRESS
/*
 * The claim of progress, for what goes on for ever, with any scheduler: it is delivered again
 * and again.  So threads do not work in vain, and what is ready comes.
 */
never
{
	do
	:: true
	:: !handed -> break
	od;
accept:
	do
	:: !handed
	od
}
#endif
