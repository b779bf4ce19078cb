/*
 * Threads that take turns on poll and select: the leader, who sleeps on the
 * array; followers, who sleep until the turn is passed on; changers, who have
 * to get the leader off the array.
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
#define bit_of(i) (1 << (i))
#define CALLER 7 /* in the sets of threads */
#define OWN 1
#define SHARED 2

/* Sets of threads. */
byte in_call;
byte inside;     /* in a call, without the lock */
byte waiters;    /* inside poll(2), or on their way out */
byte followers;  /* asleep for their turn, or on their way out */
byte seated;     /* of these, in a place of its own: one at a time */
byte kicked;     /* of the waiters, from before kick_epoch grew */
byte called;     /* of the followers, the same */
byte called_all; /* in a call that began before wake_all grew */
byte in_left;   /* on the condition `thread_left` */
byte roused;     /* of these: it was signalled */
byte asleep;     /* inside poll(2) */
byte taken;      /* with an event that the program has not acted on yet */

bit locked;
bit leader;
bit kick_due; /* the write is left to whoever releases the lock */
bit wake_fd; /* is readable */
bit in_array;
bit ready;
bit activated;
bit wake_pending;
bit dying;
bit closing; /* the program: nobody enters any more */
bit busy;
/* Sets of places: OWN, where one follower sleeps, and SHARED. */
unsigned signalled : 2;
unsigned due : 2;
unsigned readable : 2;
unsigned changers : 3;
byte expiries = EXPIRIES;
byte cancels = CANCELS;

#define lock() !locked -> locked = 1
#define is_in(set) ((set) & bit_of(me))
#define leave(set) set = set & ~bit_of(me)
#define enter(set) set = set | bit_of(me)
#define takes(condition) taken = ((condition) -> taken | bit_of(me) : taken & ~bit_of(me))
#define poll_level POLL_LEVEL
#define broadcast() roused = in_left

/* src/core/sleep.c: kick_one; src/backend/array.c: xp_array_wake */
inline xp_kick()
{
	kick_due = kick_due || waiters
}

#define place_of_me (is_in(seated) -> OWN : SHARED)
#define occupied ((seated -> OWN : 0) | ((followers & ~seated) -> SHARED : 0))

/* src/core/places.c: xp_places_take */
inline take_place()
{
	if
	:: !seated -> enter(seated)
	:: else
	fi
}

/* src/core/places.c: xp_places_signal_one */
inline signal_one()
{
	if
	:: !signalled -> signalled = (seated -> OWN : occupied); due = signalled
	:: else
	fi
}

/* src/core/places.c: xp_places_signal_all */
inline signal_all()
{
	due = due | (occupied & ~signalled);
	signalled = signalled | occupied
}

/* src/core/places.c: xp_places_clear */
inline places_clear()
{
	readable = readable & ~(signalled & ~due);
	signalled = 0;
	due = 0
}

/* src/core/sleep.c: xp_kick_due; src/core/places.c: xp_places_write */
inline xp_kick_due()
{
	wake_fd = wake_fd || kick_due;
	kick_due = 0;
	readable = readable | due;
	due = 0
}

/* src/core/sleep.c: kick_unlocked: before the unlock */
inline kick_begin()
{
	kicks = kick_due;
	kick_due = 0;
	writes = due;
	due = 0
}

/* src/core/sleep.c: kick_unlocked: without the lock */
inline kick_write()
{
	wake_fd = wake_fd || kicks;
	readable = readable | writes
}

/* src/core/sleep.c: kick_unlocked: with the lock; src/core/places.c: xp_places_written */
inline kick_end()
{
	readable = readable & ~(writes & ~signalled);
	writes = 0;
	kicks = 0
}

/* src/core/sleep.c: xp_kick_all */
inline xp_kick_all()
{
	kicked = waiters;
	called = followers;
	xp_kick();
	signal_all()
}

/* src/core/sleep.h: xp_waiter_left */
inline waiter_left()
{
	leave(waiters);
	leave(kicked);
	assert(!kicked); /* There is one leader. */
	if
	:: changers > 0 -> broadcast()
	:: else
	fi
}

/* src/core/sleep.c: follower_left */
inline follower_left()
{
	leave(followers);
	leave(seated);
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
	:: !called -> places_clear()
	:: else
	fi
}

/* src/core/sleep.c: xp_turn_pass */
inline xp_turn_pass()
{
	leader = 0;
	signal_one()
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

/* src/core/sleep.c: xp_sleep_until_thread_left; src/base/mutex.c: xp_mutex_wait */
inline begin_left()
{
	xp_kick_due();
	enter(inside);
	enter(in_left);
	leave(roused);
	locked = 0
}

/* src/core/sleep.c: xp_sleep_until_thread_left: it was signalled */
inline end_left()
{
	lock();
	leave(roused);
	leave(in_left);
	inside_leave()
}

proctype waiter(byte me)
{
	bit past, interrupted, cancelled, kicks;
	unsigned writes : 2;

call:	/* src/core/wait.c: wait_in_turn */
	atomic {
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
turn_take: /* src/core/sleep.c: xp_turn_take */
	atomic {
		if
		:: !leader -> leader = 1; goto loop
		:: leader && (dying || past || is_in(called_all)) -> goto leave
		:: else
		fi;
		if
		:: called -> begin_left()
		:: else -> goto sleep_for_turn
		fi
	}
	atomic { is_in(roused) -> end_left(); goto turn_take }

sleep_for_turn: /* src/core/sleep.c: sleep_for_turn */
	atomic { xp_kick_due(); take_place(); enter(followers); enter(inside); locked = 0 }
end_follower:
	atomic {
		if
		:: readable & place_of_me
		:: expiries > 0 -> expiries--; past = 1
		:: expiries > 0 -> expiries--; interrupted = 1
		:: cancels > 0 -> cancels--; cancelled = 1
		fi
	}
	atomic {
		lock();
		follower_left();
		inside_leave();
		if
		:: cancelled || interrupted -> /* src/core/sleep.c: xp_sleep_cancelled */
			if
			:: !leader -> xp_turn_pass()
			:: else
			fi;
			goto leave
		:: else -> goto turn_take
		fi
	}

loop:	atomic { /* src/core/wait.h: xp_wait_loop; src/core/gather.c: changers_first */
		if
		:: changers > 0 -> begin_left()
		:: changers == 0 && dying -> goto pass
		:: else -> goto ask
		fi
	}
	atomic { is_in(roused) -> end_left(); goto loop }

ask:	atomic { /* src/core/gather.c: xp_gather; src/core/wait.h: xp_ask_kernel */
		if
		:: activated && !poll_level -> activated = 0; goto pass
		:: else
		fi;
		if
		:: wake_pending || is_in(called_all) || past ->
			wake_fd = 0; /* src/backend/array.c: xp_array_report_wake */
			takes(in_array && ready);
			goto asked
		:: else -> /* src/core/sleep.h: xp_sleep_in_kernel */
			assert(!waiters && !kick_due && !due);
			enter(waiters);
			enter(asleep);
			enter(inside);
			locked = 0
		fi
	}
end_asleep: /* src/backend/poll.c: poll_await */
	atomic {
		if
		:: wake_fd || (in_array && ready) -> wake_fd = 0; takes(in_array && ready)
		:: expiries > 0 -> expiries--; past = 1
		:: expiries > 0 -> expiries--; interrupted = 1
		:: cancels > 0 -> cancels--; cancelled = 1
		fi;
		leave(asleep)
	}
	atomic { lock(); waiter_left(); inside_leave() }
asked:	atomic {
		if
		:: is_in(taken) || interrupted || cancelled -> goto pass
		:: !is_in(taken) && !interrupted && !cancelled && activated && !poll_level ->
			goto loop
		:: else
		fi;
		if /* src/core/wait.h: xp_wait_over */
		:: is_in(called_all)
		:: !is_in(called_all) && wake_pending -> wake_pending = 0
		:: !is_in(called_all) && !wake_pending && past
		:: else -> goto loop
		fi
	}
pass:	atomic { xp_turn_pass(); goto leave }

leave:	atomic { /* src/core/wait.c: wait_in_turn */
		past = 0;
		interrupted = 0;
		if /* src/core/sleep.c: xp_leave_late, xp_sleep_cancelled */
		:: !cancelled && due -> kick_begin(); enter(inside); locked = 0
		:: else -> xp_kick_due(); goto left
		fi
	}
	atomic { kick_write() }
	atomic { lock(); kick_end(); inside_leave() }
left:	atomic { /* src/core/sleep.c: xp_leave_late */
		leave(in_call);
		leave(called_all);
		locked = 0;
		if
		:: cancelled -> goto gone
		:: else
		fi;
		if /* The program reads, or not. */
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
		:: atomic { lock(); changers++ }; /* src/core/enter.h: xp_enter_change */
			goto quiesce
		:: atomic { !wake_pending -> /* src/core/wake.c: xpoll_wake */
			wake_pending = 1;
			busy = 1 };
		   atomic { wake_fd = 1; busy = 0 }
		:: atomic { /* src/core/wake.c: xpoll_wake_all */
			lock();
			called_all = in_call;
			xp_kick_all();
			kick_begin();
			busy = 1;
			locked = 0 };
		   atomic { kick_write() };
		   atomic { lock(); kick_end(); busy = 0; locked = 0 }
		fi
	:: break
	od;
	goto finish;

	/* src/core/enter.h: xp_enter_change; src/core/sleep.c: xp_quiesce */
quiesce: atomic {
		if
		:: waiters -> xp_kick(); begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 -> broadcast()
			:: else
			fi;
			goto change
		fi
	}
	atomic { is_in(roused) -> end_left(); goto quiesce }
change:	atomic { /* src/backend/array.c: xp_array_change; src/core/registration.c: registration_enlist */
		assert(!asleep); /* Nobody sleeps on what is written now. */
		if
		:: in_array = !in_array
		:: activated = 1
		fi;
		locked = 0;
		goto next
	}

finish:	if
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
		:: else -> leave(roused); enter(in_left); locked = 0
		fi
	}
	/* src/core/create.c: xpoll_destroy: it was signalled */
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
#define at_rest (!locked && !busy && in_call && (asleep | followers) == in_call && \
	!in_left && !(readable & occupied) && !wake_fd && !(asleep && in_array && ready))

active proctype claims()
{
end:	atomic { at_rest ->
		/* Nobody waits for a turn that nobody has. */
		assert(asleep);
		assert(!dying && !called_all && !wake_pending);
		/* Nobody would come out of a place again and again. */
		assert(!readable);
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
