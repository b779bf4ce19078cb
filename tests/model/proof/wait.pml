/*
 * A thread that waits again and again, on epoll; and what is claimed of it.
 *
 * A go under the lock is divided where the kernel is asked: between two system
 * calls others can write, close, wake and be woken.
 */

/* The queue's lock; src/core/enter.h: xp_enter, xp_leave */
#define lock() !locked -> locked = 1

byte in_call; /* waits, but for those whose program is doing something else */
bool busy;    /* somebody is in the middle of a call, without the lock */
#ifdef EXPIRIES
byte expiries = EXPIRIES; /* deadlines and signals still to come */
#define may_expire expiries > 0 -> expiries--
#else
#define may_expire true
#endif

/* src/core/deliver.c: xp_deliver_active */
inline xp_deliver_active()
{
	if
	:: activated && !is_full -> activated = 0; taken++
	:: else
	fi
}

/* The filters that are enabled and ready. */
#define at_hand(n) (file_at(n) != NO_FILE && file_at(n) == ghost[n].registered -> \
	ghost[n].wanted & ready[file_at(n)] : 0)

/* src/core/sleep.c: xp_sleep_cancelled */
inline forget_harvest()
{
	got = 0;
	noted = noted & ~bit_of(me);
	xp_candidates_all()
}

proctype waiter(byte me)
{
	byte n, f, m, a, rc;                  /* of one step */
	byte filter;
	byte chunk, confirm, got, hot, taken, crowded;
	byte room, count;
	byte token[FILES], fired[FILES], bits[NUMBERS];
	bool past, interrupted, cancelled, asked_kernel, slept, more;
#if SETS > 1
	byte my_set;
#endif

call:	atomic { /* src/core/wait.h: xp_wait_run, xp_wait_loop */
		lock();
		in_call = in_call | bit_of(me);
		if
		:: may_expire -> past = 1
		:: true
		fi;
		gap = 1;
		do
		:: n < NUMBERS ->
			slot[n].wait_epoch = (slot[n].wait_epoch == me + 1 -> 0 : slot[n].wait_epoch);
			gap = (lost(n) && WAITERS == 1 -> 0 : gap);
			n++
		:: else -> n = 0; break
		od
	}
gather:	atomic { /* src/core/gather.c: xp_gather; src/core/wait.h: xp_wait_check */
		asked_kernel = 0;
		if
		:: xp_deliver_active()
		:: true /* The other order. */
		fi;
		/* src/core/recheck.c: xp_candidates_check, chunk_probe */
		do
		:: n < NUMBERS && !is_full && candidates ->
			if
			:: slot[n].queued -> candidate_take(n)
			:: else
			fi;
			n++
		:: else -> n = 0; break
		od;
		do
		:: n < NUMBERS ->
			if
			:: chunk & bit_of(n) -> look_at(n)
			:: else
			fi;
			n++
		:: else -> n = 0; break
		od
	}
	atomic {
		do
		:: n < NUMBERS ->
			if
			:: (chunk & bit_of(n)) && !is_full -> candidate_found(n)
			:: (chunk & bit_of(n)) && is_full -> candidate_return(n)
			:: else
			fi;
			n++
		:: else -> n = 0; break
		od;
		chunk = 0;
		confirm = 0;
		goto deliver
	}
ask:	atomic { /* src/core/wait.h: xp_ask_kernel */
		noted = noted | bit_of(me);
		do
		:: n < NUMBERS ->
			slot[n].later = slot[n].later & ~bit_of(me);
			slot[n].before = slot[n].before & ~bit_of(me);
			slot[n].arming_last = slot[n].arming_last && slot[n].later;
			n++
		:: else -> n = 0; break
		od;
#if SETS > 1
		my_set = set;
#endif
		asked_kernel = 1;
		if
		:: taken > 0 || wake_pending || past -> goto harvest
		:: taken == 0 && !wake_pending && !past && calling_out ->
			goto until_left
		:: else -> /* src/core/sleep.h: xp_sleep_in_kernel */
			several = several || waiters;
			waiters = waiters | bit_of(me);
			asleep_in[set] = asleep_in[set] | bit_of(me);
			slept = 1;
			recheck_wanted = 0;
			locked = 0
		fi
	}
end_asleep:
	atomic {
		if
		:: linked_in(my_set)
		:: may_expire -> past = 1
		:: may_expire -> interrupted = 1
		:: CANCELS -> cancelled = 1
		fi;
harvest:	if
		:: interrupted || (cancelled && !linked_in(my_set))
		:: else ->
			xp_kick_taken();
			room = (taken > 0 -> FILES + 1 : CAP);
			epoll_harvest();
			more = count == room;
			room = 0;
			if
			:: slept && count == 0 && !past && !cancelled -> goto end_asleep
			:: else -> count = 0
			fi
		fi;
		asleep_in[my_set] = asleep_in[my_set] & ~bit_of(me)
	}
	atomic {
		if
		:: slept -> lock(); slept = 0; waiter_left()
		:: else
		fi
	}
	atomic { /* src/core/deliver.h: xp_deliver_fired */
		if
		:: cancelled -> forget_harvest(); goto leave
		:: else
		fi;
entries:	do
		:: got ->
			deliver_next();
#if SETS > 1
			if
			:: renewing -> goto renew
			:: else
			fi
#endif
		:: else -> n = 0; break
		od;
		noted = noted & ~bit_of(me);
deliver:	do
		:: hot ->
			n = (hot & 1 -> 0 : NUMBERS - 1);
			hot = hot & ~bit_of(n);
			xp_deliver_slot(n)
		:: else -> n = 0; break
		od;
		/* src/core/wait.h: xp_wait_loop; src/core/ask.h: xp_ask_wanted */
		if
		:: taken > 0 -> goto leave
		:: taken > 0 && !asked_kernel -> goto ask
		:: taken == 0 && !asked_kernel -> xp_deliver_active();
			if
			:: interrupted -> goto leave
			:: else -> goto ask
			fi
		:: else
		fi;
		if
		:: interrupted && !activated -> goto leave
		:: interrupted && activated -> goto gather
		:: !interrupted && (candidates || more || activated) ->
			more = 0;
			goto gather
		:: else
		fi;
		if /* src/core/wait.h: xp_wait_over; src/core/wait.c: xp_wake_taken */
		:: wake_pending -> wake_pending = 0
		:: !wake_pending && past
		:: else -> goto gather
		fi
	}
leave:	atomic { /* src/core/sleep.c: xp_pass_on */
		more = 0;
		asked_kernel = 0;
		recheck_wanted = 0;
		if
		:: waiters -> xp_candidates_publish()
		:: else
		fi
	}
	atomic {
		if
		:: waiters && (kicks_next || candidates || activated || wake_pending) ->
			xp_kick()
		:: else
		fi;
		kick_passed();
		/* Who asks without sleeping gets what held all the time. */
		assert(WAITERS > 1 || taken > 0 || interrupted || cancelled ||
		       gap);
		past = 0;
		interrupted = 0;
		taken = 0;
		in_call = in_call & ~bit_of(me);
		locked = 0;
		if
		:: cancelled -> goto gone
		:: else
		fi
	}
	do /* The program reads, or not, and enables what DISPATCH silenced. */
	:: atomic { holds(0, ALL_FILTERS) || holds(NUMBERS - 1, ALL_FILTERS) ->
		n = (holds(0, ALL_FILTERS) -> 0 : NUMBERS - 1);
		filter = (holds(n, 1) -> 1 : 2);
		ghost[n].held = ghost[n].held & ~bits_of(filter);
		if
		:: drain(n, filter)
		:: true
		fi }
		if
		:: atomic { DISPATCH ->
			lock();
			if /* What it has been handed out for. */
			:: ghost[n].registered == file_at(n) -> xp_change_enable(n, filter)
			:: else
			fi;
			n = 0;
			filter = 0;
			locked = 0 }
		:: else -> n = 0; filter = 0
		fi
	:: else -> break
	od;
	goto call;

#if SETS > 1
renew:	atomic { xp_renew() }
	atomic { renew_confirm(); goto entries }
#endif
until_left: /* src/core/sleep.c: xp_sleep_until_thread_left */
	atomic { /* Of two waiters there is no third whom this one has to call out. */
		assert(!kicks_next);
		noted = noted & ~bit_of(me);
		locked = 0
	}
	/* src/core/sleep.c: xp_sleep_until_thread_left: it was signalled */
	atomic { !calling_out -> lock(); goto gather }
gone:	skip
}

/* When all that wait sleep, and nothing will make one come out. */
#if SETS == 1
#define everybody_sleeps (in_call && asleep_in[0] == in_call && !linked_in(0))
#else
#define everybody_sleeps (in_call && (asleep_in[0] | asleep_in[1]) == in_call && \
	!(asleep_in[0] && linked_in(0)) && !(asleep_in[1] && linked_in(1)))
#endif
#define at_rest (!locked && !busy && everybody_sleeps)

active proctype claims()
{
end:	atomic { at_rest ->
		assert(!wake_pending);
		assert(!activated);
		assert(!lost(0) && !lost(NUMBERS - 1));
#if SETS > 1
		assert(!asleep_in[1 - set]) /* on a set that is not the queue's */
#endif
	}
}

#ifdef PROGRESS
#define in_vain(n) (!ghost[n].held)
#define starves(n, filter) ((at_hand(n) & (filter)) && (!CLEAR || ghost[n].news) && \
	!(ghost[n].held & (of_threads(filter) * ALL_WAITERS)))

/*
 * The claims of progress, for what goes on for ever, with any scheduler: threads do not work
 * for ever without a delivery; and the last filter of the last number, which the others
 * precede, is not ready, enabled and undelivered for ever while those are delivered.
 */
never
{
	do
	:: true
	:: in_vain(0) && in_vain(NUMBERS - 1) -> goto accept_vain
	:: starves(NUMBERS - 1, 1 << FILTERS - 1) -> goto accept_starves
	od;
accept_vain:
	do
	:: in_vain(0) && in_vain(NUMBERS - 1)
	od;
accept_starves:
	do
	:: starves(NUMBERS - 1, 1 << FILTERS - 1)
	od
}
#endif
