/*
 * Threads that take turns on poll and select: the leader, which sleeps on the
 * array; followers, which sleep until the turn is passed on; changers, which have
 * to get the leader off the array.  A wait that begins may leave a candidate (batch_return),
 * which the leader checks.
 *
 * With POLL_LEVEL all threads are in waits of the poll-like level, which leave events of
 * sources for later.
 */
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef POLL_LEVEL
#define POLL_LEVEL false
#endif
#ifndef EXPIRIES
#define EXPIRIES 1 /* timeouts that are 0 or pass, signals */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef BATCHES
#define BATCHES 0 /* waits that leave a candidate */
#endif
#define bit_of(i) (1 << (i))
#define CALLER 7 /* in the sets of threads */
#define OWN 1    /* the groups of followers: one that a passed turn wakes, ... */
#define OTHERS 2 /* ... and all others */

/* Sets of threads. */
byte in_call;
byte inside;     /* in a call, without the lock */
byte waiters;    /* inside poll(2), or on their way out */
byte followers;  /* asleep for their turn, or on their way out */
byte alone;      /* of these, in the first group: one at a time */
byte kicked;     /* of the waiters, from before kick.sequence grew */
byte called;     /* of the followers, the same */
byte called_all; /* in a call that began before wake.all grew */
byte in_left;    /* on the condition `thread_returned` */
byte roused;     /* of these: it was signalled */
byte asleep;     /* inside poll(2) */
byte taken;      /* with an event that the program has not acted on yet */

bit locked;
bit leader;
bit kick_pending; /* the write is left to whoever releases the lock */
bit kick_wanted;
bit wake_fd; /* is readable */
bit in_array;
bit ready;
bit candidate;
bit activated;
bit wake_pending;
bit dying;
bit closing; /* the program: nobody enters any more */
bit writer;  /* in xpoll_wake */
/* Sets of groups. */
unsigned signalled : 2;
unsigned due : 2;
unsigned readable : 2;
unsigned changers : 3;
byte expiries = EXPIRIES;
byte cancels = CANCELS;
byte batches = BATCHES;

#define lock() !locked -> locked = 1
#define is_in(set) ((set) & bit_of(me))
#define leave(set) set = set & ~bit_of(me)
#define enter(set) set = set | bit_of(me)
#define takes(condition) taken = ((condition) -> taken | bit_of(me) : taken & ~bit_of(me))
#define poll_level POLL_LEVEL
#define broadcast() roused = in_left

#define group_of_me (is_in(alone) -> OWN : OTHERS)
#define occupied ((alone -> OWN : 0) | ((followers & ~alone) -> OTHERS : 0))

/* src/core/sleep.c: must_wake_sleeper */
#define left_for_sleepers (candidate || (activated && !poll_level) || wake_pending)

/* src/core/threads.c: xp_kick_one */
inline xp_kick_one()
{
	kick_pending = kick_pending || waiters
}

/* src/core/threads.c: followers_signal: the first group that has any */
inline signal_one()
{
	if
	:: !signalled -> signalled = (alone -> OWN : occupied); due = signalled
	:: else
	fi
}

/* src/core/threads.c: followers_signal: all */
inline signal_all()
{
	due = due | (occupied & ~signalled);
	signalled = signalled | occupied
}

/* src/core/threads.c: groups_clear */
inline groups_clear()
{
	readable = readable & ~(signalled & ~due);
	signalled = 0;
	due = 0
}

/* src/core/threads.c: wake_pending_now, wake_threads */
inline xp_kick_due()
{
	wake_fd = wake_fd || kick_pending;
	kick_pending = 0;
	readable = readable | due;
	due = 0
}

/* src/core/threads.c: xp_kick_all */
inline xp_kick_all()
{
	kicked = waiters;
	called = followers;
	xp_kick_one();
	signal_all()
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
	if
	:: changers > 0 || is_in(kicked) -> broadcast()
	:: else
	fi;
	leave(kicked);
	assert(!kicked); /* There is one leader. */
	note_relock()
}

/* src/core/threads.c: follower_leave */
inline follower_leave()
{
	leave(followers);
	leave(alone);
	if
	:: is_in(called) ->
		leave(called);
		if
		:: !called -> broadcast()
		:: else
		fi
	:: else
	fi;
	if
	:: !called -> groups_clear()
	:: else
	fi;
	note_relock()
}

/* src/core/threads.c: turn_pass */
inline xp_turn_pass()
{
	leader = 0;
	signal_one()
}

/* src/core/threads.c: turn_decline */
inline turn_refuse()
{
	if
	:: !leader -> xp_turn_pass()
	:: else
	fi
}

/* src/core/threads.c: xp_await_thread_return, xp_quiesce; src/base/mutex.c: xp_mutex_wait */
inline begin_left()
{
	xp_kick_due();
	enter(inside);
	enter(in_left);
	leave(roused);
	locked = 0
}

/* src/core/threads.c: xp_await_thread_return, xp_quiesce: it was signalled */
inline end_left()
{
	lock();
	leave(roused);
	leave(in_left);
	note_relock()
}

/* src/core/sleep.c: leave_to_sleepers */
inline leave_to_sleepers()
{
	if
	:: (kick_wanted || candidate) && waiters && left_for_sleepers -> xp_kick_one()
	:: else
	fi;
	kick_wanted = 0
}

/* src/core/threads.c: xp_wake_pending: before the unlock */
inline unlock_begin()
{
	kicks = kick_pending;
	kick_pending = 0;
	writes = due;
	due = 0;
	if
	:: kicks || writes -> enter(inside)
	:: else -> leave(in_call); leave(called_all)
	fi;
	locked = 0
}

/* src/core/threads.c: xp_wake_pending: without the lock, and with it once more */
inline unlock_end()
{
	if
	:: is_in(inside) ->
		atomic { wake_fd = wake_fd || kicks;
			readable = readable | writes }
		atomic { lock();
			readable = readable & ~(writes & ~signalled);
			writes = 0;
			kicks = 0;
			note_relock();
			leave(in_call);
			leave(called_all);
			locked = 0 }
	:: else
	fi
}

proctype waiter(byte me)
{
	bit now, past, interrupted, cancelled, kicks;
	unsigned writes : 2;

call:	/* src/core/wait.c: xp_wait_call, batch_put_back */
	atomic {
		if
		:: closing -> goto gone
		:: !closing && !locked -> locked = 1
		fi;
		enter(in_call);
		leave(called_all);
		if
		:: expiries > 0 -> expiries--; now = 1
		:: true
		fi;
		if
		:: batches > 0 -> batches--; candidate = 1
		:: true
		fi
	}
turn_take: /* src/core/threads.c: xp_turn_take */
	atomic {
		if
		:: !leader -> leader = 1; goto loop
		:: leader && (dying || now || past || is_in(called_all)) -> goto leave
		:: else
		fi;
		if
		:: called -> begin_left()
		:: else -> goto turn_await
		fi
	}
	atomic { is_in(roused) -> end_left(); goto turn_take }

turn_await: /* src/core/threads.c: turn_await */
	atomic {
		if
		:: candidate -> xp_kick_one()
		:: else
		fi;
		xp_kick_due();
		if
		:: !alone -> enter(alone)
		:: else
		fi;
		enter(followers);
		enter(inside);
		locked = 0
	}
end_follower: /* src/core/threads.c: turn_await */
	atomic {
		if
		:: readable & group_of_me
		:: expiries > 0 -> expiries--; past = 1
		:: expiries > 0 -> expiries--; interrupted = 1
		:: cancels > 0 -> cancels--; cancelled = 1
		fi
	}
	atomic { /* src/core/threads.c: turn_await, follower_cancelled */
		lock();
		follower_leave();
		if
		:: cancelled -> turn_refuse(); unlock_begin(); goto left
		:: !cancelled && interrupted -> turn_refuse(); goto leave
		:: else -> goto turn_take
		fi
	}

loop:	atomic { /* src/core/wait.c: wait_loop, wait_prepare */
		if
		:: changers > 0 -> begin_left()
		:: changers == 0 && dying -> goto pass
		:: else -> goto ask
		fi
	}
	atomic { is_in(roused) -> end_left(); goto loop }

ask:	atomic { /* src/core/wait.c: deliver_found, sleep_deadline */
		if
		:: activated && !poll_level -> activated = 0; goto pass
		:: else
		fi;
		candidate = 0; /* The leader has checked it; it was not ready. */
		if
		:: wake_pending || is_in(called_all) || now -> /* src/core/wait.c: poll_kernel */
			wake_fd = 0; /* src/posix/array.c: xp_array_report_wake */
			takes(in_array && ready);
			goto asked
		:: else -> /* src/core/sleep.c: xp_sleep_shared */
			assert(!waiters && !kick_pending && !due);
			enter(waiters);
			kick_wanted = 0;
			enter(asleep);
			enter(inside);
			locked = 0
		fi
	}
end_asleep: /* src/posix/poll.c: poll_await */
	atomic {
		if
		:: past /* The deadline has passed before. */
		:: wake_fd || (in_array && ready) -> wake_fd = 0; takes(in_array && ready)
		:: expiries > 0 -> expiries--; past = 1
		:: expiries > 0 -> expiries--; interrupted = 1
		:: cancels > 0 -> cancels--; cancelled = 1
		fi;
		leave(asleep)
	}
	/* src/core/sleep.c: sleeper_awake, sleep_cancelled */
	atomic { lock(); xp_sleeper_leave() }
asked:	atomic { /* src/core/wait.c: deliver_after_harvest, may_have_more */
		if
		:: is_in(taken) || interrupted || cancelled -> goto pass
		:: !is_in(taken) && !interrupted && !cancelled &&
		   ((activated && !poll_level) || candidate) -> goto loop
		:: else
		fi;
		if /* src/core/wait.c: wait_is_over */
		:: is_in(called_all)
		:: !is_in(called_all) && wake_pending -> wake_pending = 0
		:: !is_in(called_all) && !wake_pending && (past || now)
		:: else -> goto loop
		fi
	}
pass:	atomic { xp_turn_pass(); goto leave }

leave:	atomic { /* src/core/wait.c: xp_wait_call; src/core/sleep.c: xp_leave_to_others */
		now = 0;
		past = 0;
		interrupted = 0;
		kick_wanted = waiters != 0;
		leave_to_sleepers();
		unlock_begin()
	}
left:	unlock_end();
	atomic { /* The program reads, or not. */
		if
		:: cancelled -> goto gone
		:: else
		fi;
		if
		:: is_in(taken) -> ready = 0
		:: true
		fi;
		leave(taken);
		goto call
	}
gone:	skip
}

/* A thread that changes, wakes, destroys. */
proctype caller()
{
	byte me = CALLER, left = CALLS;
	bit kicks;
	unsigned writes : 2;

next:	do
	:: left > 0 ->
		left--;
		if
		:: atomic { lock(); /* src/core/threads.c: xp_quiesce */
			if
			:: waiters -> changers++
			:: else -> goto change
			fi };
			goto quiesce
		:: atomic { !wake_pending -> /* src/core/api_other.c: xpoll_wake */
			wake_pending = 1;
			writer = 1 };
		   atomic { wake_fd = 1; writer = 0 }
		:: atomic { /* src/core/api_other.c: xpoll_wake_all */
			lock();
			called_all = in_call;
			xp_kick_all();
			leave_to_sleepers();
			unlock_begin() };
		   unlock_end()
		fi
	:: break
	od;
	goto finish;

	/* src/core/threads.c: xp_quiesce */
quiesce: atomic {
		if
		:: waiters -> xp_kick_one(); begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 || dying -> broadcast()
			:: else
			fi;
			goto change
		fi
	}
	atomic { is_in(roused) -> end_left(); goto quiesce }
change:	atomic { /* src/posix/array.c: xp_array_change; src/core/sources.c: registration_update_list */
		assert(!asleep); /* Nobody sleeps on what is written now. */
		if
		:: in_array = !in_array
		:: activated = 1; kick_wanted = waiters != 0
		fi;
		leave_to_sleepers();
		unlock_begin()
	}
	unlock_end();
	goto next;

finish:	if
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

proctype world()
{
	byte left = WRITES;

	do
	:: left > 0 -> left--; ready = 1
	:: break
	od
}

/* When all that wait sleep, and nothing will make one come out. */
#define at_rest (!locked && !writer && in_call && (asleep | followers) == in_call && \
	!in_left && !(inside & bit_of(CALLER)) && !(readable & occupied) && !wake_fd && \
	!(asleep && in_array && ready))

active proctype claims()
{
end:	atomic { at_rest ->
		/* Nobody waits for a turn that nobody has. */
		assert(asleep);
		assert(!dying && !called_all && !wake_pending);
		/* Nobody would come out of a group again and again. */
		assert(!readable);
		assert(!candidate);
		assert(!activated || poll_level)
	}
}

init
{
	byte n;

	atomic {
		in_array = 1;
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> break
		od;
		run caller();
		run world()
	}
}

#ifdef PROGRESS
/*
 * The claim of progress: with any scheduler, an execution without an end delivers the
 * descriptor again and again, which the program does not read.
 */
never
{
	do
	:: true
	:: !taken -> break
	od;
accept:
	do
	:: !taken
	od
}
#endif
