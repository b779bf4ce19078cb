/*
 * Threads that sleep on epoll, and who makes them come out.
 *
 * No descriptors: a user event, the time at which a source wants to run (due_ns), xpoll_wake,
 * xpoll_wake_all, cancellation, xpoll_destroy.  With POLL_LEVEL all threads are in waits of the
 * poll-like level, which leave events of sources for later.  Threads wait again when a
 * wait has ended.  Any wait may look before it sleeps: it has delivered something, or the back
 * end has changes to pass on.
 */
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef POLL_LEVEL
#define POLL_LEVEL false
#endif
#ifndef EXPIRIES
#define EXPIRIES 1 /* waits that do not sleep, or whose timeout passes */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef LOOKS
#define LOOKS 1 /* waits that have changes to pass on first */
#endif
#ifndef TIMES
#define TIMES 2 /* moments after the first */
#endif
#define ALL_WAITERS ((1 << WAITERS) - 1)
#define bit_of(i) (1 << (i))
#define CALLER 7 /* in the sets of threads */
#define NEVER 7
#define NOW 0

/* Sets of waiters, or of threads. */
byte waiters; /* inside epoll_wait, or on their way out */
byte asleep;  /* inside epoll_wait */
byte expired; /* their deadline has passed */
byte inside;  /* in a call, without the lock */
byte kicked;  /* of an epoch before kick.sequence grew */
byte kicker;  /* who calls out the next of those */
byte called_all; /* in a call that began before wake.all grew */
byte in_call;
byte in_left; /* on the condition `thread_returned` */
byte roused;   /* of these: it was signalled */

bit locked;
bit wake_linked;
bit kick_pending; /* the write is left to whoever releases the lock */
bit kick_wanted;
bit activated;
bit wake_pending;
bit dying;
bit closing; /* the program: nobody enters any more */
bit writer;  /* in xpoll_wake */
unsigned clock : 3 = 1;
unsigned due : 3 = NEVER;
unsigned until : 3 = NEVER;
unsigned timer_waiter : 3 = NEVER; /* whose deadline is cut */
byte expiries = EXPIRIES;
byte cancels = CANCELS;
byte looks = LOOKS;

#define lock() !locked -> locked = 1
#define is_in(set) ((set) & bit_of(me))
#define leave(set) set = set & ~bit_of(me)
#define enter(set) set = set | bit_of(me)
#define poll_level POLL_LEVEL

/* src/core/due.h: xp_timer_waiter_missing */
#define xp_timer_waiter_missing (due < until)

/* src/core/sleep.c: must_wake_sleeper */
#define left_for_sleepers ((activated && !poll_level) || xp_timer_waiter_missing || wake_pending)

/* src/core/wait.c: sleep_deadline, has_unflushed_changes */
#define may_sleep (!wake_pending && !is_in(called_all) && !now)

#define broadcast() roused = in_left

/* src/core/marks.h: xp_kick_request */
inline xp_kick_request()
{
	kick_wanted = waiters != 0
}

/* src/core/threads.c: xp_kick_one */
inline xp_kick_one()
{
	kick_pending = kick_pending || waiters
}

/* src/core/threads.c: wake_pending_now, wake_threads */
inline xp_kick_due()
{
	wake_linked = wake_linked || kick_pending;
	kick_pending = 0
}

/* src/core/threads.c: xp_kick_all */
inline xp_kick_all()
{
	kicked = waiters;
	xp_kick_one()
}

/* src/core/threads.c: kick_next */
inline xp_kick_next()
{
	if
	:: is_in(kicker) && kicked -> xp_kick_one()
	:: else
	fi;
	leave(kicker)
}

/* src/core/due.c: xp_timer_wakeup_clear */
inline xp_timer_wakeup_clear()
{
	until = (until == NOW -> NEVER : until)
}

/* src/core/due.c: xp_timer_waiter_begin */
inline xp_timer_waiter_begin()
{
	if
	:: xp_timer_waiter_missing -> timer_waiter = me; until = due
	:: else
	fi
}

/* src/core/due.c: xp_timer_waiter_end */
inline xp_timer_waiter_end()
{
	if
	:: timer_waiter == me -> timer_waiter = NEVER; until = NEVER
	:: else
	fi
}

/* src/core/threads.c: note_relock */
inline note_relock()
{
	leave(inside);
	if
	:: dying -> broadcast()
	:: else
	fi
}

/* src/core/threads.c: xp_sleeper_leave */
inline xp_sleeper_leave()
{
	leave(waiters);
	kicker = kicker | (kicked & bit_of(me));
	if
	:: is_in(kicked) -> broadcast()
	:: else
	fi;
	leave(kicked);
	note_relock()
}

/* src/core/sleep.c: leave_to_sleepers; src/core/due.c: xp_timer_wakeup_sent */
inline leave_to_sleepers()
{
	if
	:: kick_wanted && waiters && left_for_sleepers ->
		xp_kick_one();
		if
		:: xp_timer_waiter_missing -> timer_waiter = NEVER; until = NOW
		:: else
		fi
	:: else
	fi;
	kick_wanted = 0
}

/* src/core/sleep.c: xp_leave_to_others; src/core/threads.h: xp_unlock */
inline xp_leave()
{
	leave_to_sleepers();
	if
	:: kick_pending -> kick_pending = 0; enter(inside)
	:: else -> leave(in_call); leave(called_all)
	fi;
	locked = 0
}

/* src/core/threads.h: xp_unlock: what is left of xp_leave() */
inline xp_unlock()
{
	if
	:: is_in(inside) ->
		atomic { wake_linked = 1 }
		atomic { lock(); note_relock(); leave(in_call); leave(called_all); locked = 0 }
	:: else
	fi
}

/* src/core/due.c: xp_due_set */
inline xp_due_set(moment)
{
	due = moment;
	if
	:: xp_timer_waiter_missing -> xp_kick_request()
	:: else
	fi
}

/* src/core/sources.c: registration_update_list */
inline registration_update_list()
{
	if
	:: !activated -> activated = 1; xp_kick_request()
	:: else
	fi
}

/* src/core/sources.c: xp_sources_run_due */
inline xp_sources_run_due()
{
	if
	:: due <= clock -> registration_update_list(); xp_due_set(NEVER)
	:: else
	fi
}

proctype waiter(byte me)
{
	bit now, taken, cancelled;

call:	atomic { /* src/core/wait.c: xp_wait_call */
		if
		:: closing -> goto gone
		:: !closing && !locked -> locked = 1
		fi;
		enter(in_call);
		leave(called_all);
		if
		:: expiries > 0 -> expiries--; now = 1
		:: true
		fi
	}
loop:	atomic { /* src/core/wait.c: wait_prepare, deliver_found; src/core/sources.c: xp_sources_deliver */
		if
		:: dying -> goto leave
		:: else
		fi;
		xp_sources_run_due();
		if
		:: activated && !poll_level -> activated = 0; taken = 1;
			if
			:: goto look
			:: goto leave
			fi
		:: else
		fi;
		if /* src/core/wait.c: sleep_deadline */
		:: !may_sleep -> goto look
		:: looks > 0 -> looks--; goto look
		:: may_sleep && kicked -> goto await_left
		:: may_sleep && !kicked -> /* src/core/sleep.c: xp_sleep_shared */
			/* Else a kick could wake this thread, again and again. */
			assert(!kick_pending);
			xp_timer_waiter_begin();
			enter(waiters);
			kick_wanted = 0;
			enter(asleep);
			enter(inside);
			locked = 0
		fi
	}
	goto end_asleep;
look:	atomic { /* src/core/wait.c: poll_kernel */
		kicker = (wake_linked && kicked -> kicker | bit_of(me) : kicker);
		wake_linked = 0;
		xp_timer_wakeup_clear();
		goto harvested
	}
end_asleep: /* src/linux/epoll.c: epoll_await */
	atomic {
		if
		:: wake_linked -> wake_linked = 0
		:: timer_waiter == me && until <= clock
		:: is_in(expired)
		:: looks > 0 -> looks-- /* src/core/sleep.c: xp_sleep_prepare: it only looks */
		:: expiries > 0 -> expiries--; enter(expired)
		:: expiries > 0 -> expiries--; taken = 1 /* A descriptor. */
		:: cancels > 0 -> cancels--; cancelled = 1; wake_linked = 0
		:: cancels > 0 -> cancels--; cancelled = 1
		fi;
		leave(asleep)
	}
	atomic { /* src/core/sleep.c: sleeper_awake, sleep_cancelled */
		lock();
		xp_timer_wakeup_clear();
		xp_timer_waiter_end();
		xp_sleeper_leave();
		if
		:: cancelled -> goto leave
		:: else
		fi
	}
harvested: atomic { /* src/core/wait.c: deliver_after_harvest, may_have_more, wait_is_over */
		if
		:: activated && !poll_level -> activated = 0; taken = 1
		:: else
		fi;
		if
		:: taken -> goto leave
		:: !taken && due <= clock -> goto loop
		:: !taken && due > clock && is_in(called_all)
		:: !taken && due > clock && !is_in(called_all) && wake_pending -> wake_pending = 0
		:: !taken && due > clock && !is_in(called_all) && !wake_pending &&
		   (now || is_in(expired))
		:: else -> goto loop
		fi
	}
leave:	atomic { /* src/core/threads.c: xp_wait_dismiss */
		xp_kick_next();
		xp_kick_request();
		now = 0;
		taken = 0;
		leave(expired);
		xp_leave()
	}
	xp_unlock();
	if
	:: cancelled -> goto gone
	:: else -> goto call
	fi;
await_left: /* src/core/threads.c: xp_await_thread_return */
	atomic { xp_kick_next(); xp_kick_due();
		enter(inside); enter(in_left); leave(roused); locked = 0 }
	atomic { is_in(roused) -> lock(); leave(roused); leave(in_left); note_relock() }
	goto loop;
gone:	skip
}

/* A thread that makes others come out. */
proctype caller()
{
	byte me = CALLER, left = CALLS;

	do
	:: left > 0 ->
		left--;
		if
		:: atomic { lock(); registration_update_list(); xp_leave() }
		:: atomic { lock(); xp_due_set(clock + 1); xp_leave() }
		:: atomic { lock(); xp_due_set(clock + 2); xp_leave() }
		:: atomic { lock(); xp_due_set(NEVER); xp_leave() }
		:: atomic { !wake_pending -> /* src/core/api_other.c: xpoll_wake */
			wake_pending = 1;
			writer = 1 };
		   atomic { wake_linked = 1; writer = 0 }
		:: atomic { /* src/core/api_other.c: xpoll_wake_all */
			lock();
			called_all = in_call;
			xp_kick_all();
			xp_leave() }
		fi;
		xp_unlock()
	:: break
	od;
	if
	:: goto done
	:: true
	fi;
	atomic { /* src/core/threads.c: xp_threads_await_end */
		lock();
		closing = 1; /* Who has not entered by now does not any more. */
		dying = 1;
		xp_kick_all();
		xp_kick_due()
	}
again:	atomic { /* src/core/threads.c: xp_threads_await_end */
		if
		:: !inside -> assert(!in_call); locked = 0; goto done
		:: else -> leave(roused); enter(in_left); locked = 0
		fi
	}
	/* src/core/threads.c: xp_threads_await_end: it was signalled */
	atomic { is_in(roused) -> lock(); leave(in_left); goto again }
done:	skip
}

proctype time()
{
	byte left = TIMES;

	do
	:: left > 0 -> left--; clock++
	:: break
	od
}

/* When all that wait sleep, and nothing will make one come out. */
#define timer_waiter_comes_out (timer_waiter != NEVER && until <= clock)
#define at_rest (!locked && !writer && !(inside & bit_of(CALLER)) && in_call && \
	asleep == in_call && !(asleep & expired) && !wake_linked && !timer_waiter_comes_out)

active proctype claims()
{
end:	atomic { at_rest ->
		assert(!dying && !kicked && !called_all && !wake_pending);
		assert(!activated || !asleep || poll_level);
		/* The next moment of a source has a sleeper who minds it. */
		assert(due > clock);
		assert(due == NEVER || (timer_waiter != NEVER && until <= due))
	}
}

init
{
	byte n;

	atomic {
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> break
		od;
		run caller();
		run time()
	}
}

#ifdef PROGRESS
/* The claim of progress: with any scheduler, each execution ends, as all else does. */
never
{
accept:
	do
	:: true
	od
}
#endif
