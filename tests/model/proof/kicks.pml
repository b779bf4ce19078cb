/*
 * Threads that sleep on epoll, and who makes them come out.
 *
 * No descriptors: a user event, a source's moment (due_ns), xpoll_wake,
 * xpoll_wake_all, xpoll_destroy.  With POLL_LEVEL all threads are in waits of the
 * poll-like level, which leave events of sources for later.  Threads wait again when a
 * wait has ended; any wait may have changes to take along (xp_has_pending), and looks
 * before it sleeps.
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
#ifndef LOOKS
#define LOOKS 1 /* waits that have changes to take along first */
#endif
#ifndef TIMES
#define TIMES 2 /* moments after the first */
#endif
#define ALL_WAITERS ((1 << WAITERS) - 1)
#define bit_of(i) (1 << (i))
#define CALLER 7 /* in the sets of threads */
#define NEVER 7
#define NOW 0

/* Sets of waiters. */
byte waiters; /* inside epoll_wait, or on their way out */
byte asleep;  /* inside epoll_wait */
byte inside;  /* in a call, without the lock */
byte kicked;  /* of an epoch before kick_epoch grew */
byte kicker;  /* who calls out the next of those */
byte called_all; /* in a call that began before wake_all grew */
byte in_call;
byte in_left; /* on the condition `thread_left` */
byte roused;   /* of these: it was signalled */

bit locked;
bit wake_linked;
bit kick_due; /* the write is left to whoever releases the lock */
bit activated;
bit recheck_wanted;
bit wake_pending;
bit dying;
bit closing; /* the program: nobody enters any more */
bit busy;
unsigned clock : 3 = 1;
unsigned due : 3 = NEVER;
unsigned kept : 3 = NEVER;
unsigned timer_waiter : 3 = NEVER; /* whose deadline is cut */
byte expiries = EXPIRIES;
byte looks = LOOKS;

#define lock() !locked -> locked = 1
#define is_in(set) ((set) & bit_of(me))
#define leave(set) set = set & ~bit_of(me)
#define enter(set) set = set | bit_of(me)
#define poll_level POLL_LEVEL
#define must_look (wake_pending || is_in(called_all) || past)

/* src/core/timer_waiter.h: xp_timer_waiter_missing */
#define xp_timer_waiter_missing (due < kept)

/* src/core/sleep.c: left_for_sleepers */
#define left_for_sleepers ((activated && !poll_level) || xp_timer_waiter_missing)

#define broadcast() roused = in_left

/* src/core/sleep.c: kick_one */
inline xp_kick()
{
	kick_due = kick_due || waiters
}

/* src/core/sleep.c: xp_kick_due */
inline xp_kick_due()
{
	wake_linked = wake_linked || kick_due;
	kick_due = 0
}

/* src/core/sleep.c: xp_kick_all */
inline xp_kick_all()
{
	kicked = waiters;
	xp_kick()
}

/* src/core/sleep.c: call_one; src/core/timer_waiter.h: xp_timer_waiter_called */
inline call_one()
{
	xp_kick();
	if
	:: xp_timer_waiter_missing -> timer_waiter = NEVER; kept = NOW
	:: else
	fi
}

/* src/core/timer_waiter.h: xp_timer_waiter_answered */
inline xp_timer_waiter_answered()
{
	kept = (kept == NOW -> NEVER : kept)
}

/* src/core/timer_waiter.h: xp_timer_waiter_begin */
inline xp_timer_waiter_begin()
{
	if
	:: xp_timer_waiter_missing -> timer_waiter = me; kept = due
	:: else
	fi
}

/* src/core/timer_waiter.h: xp_timer_waiter_end */
inline xp_timer_waiter_end()
{
	if
	:: timer_waiter == me -> timer_waiter = NEVER; kept = NEVER
	:: else
	fi
}

/* src/core/sleep.h: xp_waiter_left */
inline waiter_left()
{
	leave(waiters);
	xp_timer_waiter_answered();
	kicker = kicker | (kicked & bit_of(me));
	if
	:: kicked == bit_of(me) -> broadcast()
	:: else
	fi;
	leave(kicked)
}

/* src/core/sleep.c: xp_kick_next */
inline xp_kick_next()
{
	if
	:: is_in(kicker) && kicked -> xp_kick()
	:: else
	fi;
	leave(kicker)
}

/* src/core/sleep.h: xp_inside_leave */
inline inside_leave()
{
	leave(inside);
	if
	:: dying -> broadcast()
	:: else
	fi
}

/* src/core/sleep.c: xp_settle */
inline xp_settle()
{
	if
	:: recheck_wanted && waiters && left_for_sleepers -> call_one()
	:: else
	fi;
	recheck_wanted = 0
}

/* src/core/host.c: xp_source_set_due */
inline xp_source_set_due(moment)
{
	due = moment;
	recheck_wanted = (xp_timer_waiter_missing -> waiters != 0 : recheck_wanted)
}

/* src/core/sources.c: xp_sources_run_due; src/core/registration.c: xp_registration_activate */
inline xp_sources_run_due()
{
	if
	:: due <= clock ->
		recheck_wanted = recheck_wanted || (waiters && !activated);
		activated = 1;
		xp_source_set_due(NEVER)
	:: else
	fi
}

#define due_passed (due <= clock)

proctype waiter(byte me)
{
	bit past, taken, again;

call:	atomic { /* src/core/wait.h: xp_wait_run */
		if
		:: closing -> goto gone
		:: !closing && !locked -> locked = 1
		fi;
		enter(in_call);
		leave(called_all);
		if
		:: expiries > 0 -> expiries--; past = 1
		:: true
		fi
	}
	/* src/core/wait.h: xp_wait_loop; src/core/gather.c: xp_gather, changers_first */
loop:	atomic {
		again = 0;
		xp_sources_run_due();
		if
		:: dying -> goto leave
		:: else
		fi
	}
gather:	atomic { /* src/core/gather.c: xp_gather; src/core/deliver.c: xp_deliver_active */
		if
		:: activated && !poll_level -> activated = 0; goto leave
		:: else
		fi;
		/* src/core/wait.h: xp_ask_kernel */
		if
		:: must_look -> goto look
		:: looks > 0 -> looks--; goto look /* src/core/queue.h: xp_has_pending */
		:: !must_look && kicked -> goto until_left
		:: !must_look && !kicked -> /* src/core/sleep.h: xp_sleep_in_kernel */
			enter(waiters);
			enter(asleep);
			/* Else a kick could wake this one, again and again. */
			assert(!kicked && !kick_due);
			xp_timer_waiter_begin();
			recheck_wanted = 0;
			enter(inside);
			locked = 0
		fi
	}
	goto end_asleep;
look:	atomic { /* src/core/sleep.c: xp_kick_taken */
		again = wake_linked;
		kicker = (wake_linked && kicked -> kicker | bit_of(me) : kicker);
		wake_linked = 0;
		xp_timer_waiter_answered();
		goto asked
	}
end_asleep: /* src/backend/epoll.c: epoll_await */
	atomic {
		if
		:: wake_linked -> wake_linked = 0; again = 1
		:: timer_waiter == me && kept <= clock
		:: expiries > 0 -> expiries--; past = 1
		:: expiries > 0 -> expiries--; taken = 1 /* A descriptor. */
		fi;
		leave(asleep)
	}
	atomic { lock(); waiter_left(); xp_timer_waiter_end(); inside_leave() }
asked:	atomic {
		if
		:: taken -> goto leave
		:: !taken && again -> goto loop /* The kick filled the array. */
		:: !taken && ((activated && !poll_level) || due_passed) -> goto loop
		:: else
		fi;
		if /* src/core/wait.h: xp_wait_over */
		:: is_in(called_all)
		:: !is_in(called_all) && wake_pending -> wake_pending = 0
		:: !is_in(called_all) && !wake_pending && past
		:: else -> goto loop
		fi
	}
leave:	atomic { /* src/core/sleep.c: xp_pass_on */
		xp_kick_next();
		recheck_wanted = 0;
		if
		:: waiters && (left_for_sleepers || wake_pending) ->
			call_one()
		:: else
		fi;
		past = 0;
		taken = 0;
		again = 0;
		if /* src/core/sleep.c: xp_leave_late */
		:: kick_due -> kick_due = 0; enter(inside); locked = 0
		:: else -> goto left
		fi
	}
	atomic { wake_linked = 1 } /* src/core/sleep.c: kick_unlocked */
	atomic { lock(); inside_leave() }
left:	atomic { /* src/core/sleep.c: xp_leave_late */
		leave(in_call);
		leave(called_all);
		locked = 0
	}
	goto call;

until_left: /* src/core/sleep.c: xp_sleep_until_thread_left */
	atomic { xp_kick_next() }
sleep_until_left:
	atomic { xp_kick_due(); enter(inside); enter(in_left); leave(roused); locked = 0 }
	atomic { is_in(roused) -> lock(); leave(roused); leave(in_left); inside_leave() }
	goto loop;
gone:	skip
}

/* src/core/sleep.c: xp_leave_late: of the caller */
inline xp_leave_late()
{
	busy = kick_due;
	kick_due = 0;
	locked = 0
}

/* src/core/sleep.c: kick_unlocked: of the caller, whom nobody has to wait for */
inline kick_unlocked()
{
	atomic { wake_linked = wake_linked || busy; busy = 0 }
}

/* A thread that makes others come out. */
proctype caller()
{
	byte left = CALLS;

	do
	:: left > 0 ->
		left--;
		if
		:: atomic { /* src/core/registration.c: registration_enlist */
			lock();
			recheck_wanted = waiters && !activated;
			activated = 1;
			xp_settle();
			xp_leave_late() };
		   kick_unlocked()
		:: atomic { lock(); xp_source_set_due(clock + 1); xp_settle(); xp_leave_late() };
		   kick_unlocked()
		:: atomic { lock(); xp_source_set_due(clock + 2); xp_settle(); xp_leave_late() };
		   kick_unlocked()
		:: atomic { lock(); xp_source_set_due(NEVER); xp_settle(); xp_leave_late() };
		   kick_unlocked()
		:: atomic { !wake_pending -> /* src/core/wake.c: xpoll_wake */
			wake_pending = 1;
			busy = 1 };
		   atomic { wake_linked = 1; busy = 0 }
		:: atomic { /* src/core/wake.c: xpoll_wake_all */
			lock();
			called_all = in_call;
			xp_kick_all();
			xp_settle();
			xp_leave_late() };
		   kick_unlocked()
		fi
	:: break
	od;
	if
	:: goto done
	:: true
	fi;
	atomic { /* src/core/create.c: xpoll_destroy */
		lock();
		closing = 1; /* Who has not entered by now does not any more. */
		dying = 1;
		xp_kick_all();
		xp_kick_due()
	}
again:	atomic { /* src/core/create.c: xpoll_destroy */
		if
		:: !inside -> assert(!in_call); locked = 0; goto done
		:: else ->
			roused = roused & ~bit_of(CALLER);
			in_left = in_left | bit_of(CALLER);
			locked = 0
		fi
	}
	atomic { /* src/core/create.c: xpoll_destroy: it was signalled */
		roused & bit_of(CALLER) ->
		lock();
		in_left = in_left & ~bit_of(CALLER);
		goto again
	}
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
#define timer_waiter_comes_out (timer_waiter != NEVER && kept <= clock)
#define at_rest (!locked && !busy && in_call && asleep == in_call && !wake_linked && \
	!timer_waiter_comes_out)

active proctype claims()
{
end:	atomic { at_rest ->
		assert(!dying && !kicked && !called_all && !wake_pending);
		assert(!activated || !asleep || poll_level);
		/* The next moment of a source has a sleeper who minds it. */
		assert(due > clock);
		assert(due == NEVER || (timer_waiter != NEVER && kept <= due))
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
