/*
 * Lazy interest, and DISPATCH among several waiters.
 *
 * WAITERS threads wait and read, or leave it; one more enables, disables, adds,
 * deletes, triggers a user event and calls xpoll_wake, CHANGES times; WRITES
 * times something arrives.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef NUMBERS
#define NUMBERS 1
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef CAP
#define CAP 3
#endif
#ifndef CANCELS
#define CANCELS false
#endif
#ifndef CAN_PROBE
#define CAN_PROBE true
#endif
#ifndef SAMPLED
#define SAMPLED false
#endif
#ifndef CLEAR
#define CLEAR false
#endif
#ifndef ONCE
#define ONCE false
#endif
#ifndef DISPATCH
#define DISPATCH false
#endif
#define ALL_WAITERS ((1 << WAITERS) - 1)
#define FILES NUMBERS
#define SETS 1
#define file_at(n) (n)
#define number_of(file) (file)
#define looked_right(n) true

#define calling_out false
#define kick_passed() skip
#define kicks_next false
#define xp_kick_taken() skip

#include "kernel.pml"
#include "slot.pml"

/* src/core/sleep.h: xp_waiter_left */
inline waiter_left()
{
	waiters = waiters & ~bit_of(me)
}

/* src/core/deliver.h: xp_deliver_fired: one of what was harvested */
inline deliver_next()
{
	f = (got & 1 -> 0 : FILES - 1);
	got = got & ~bit_of(f);
	deliver_entry(f)
}

/* src/core/deliver.c: stale: no file ends here. */
inline stale(n, file) { skip }

/* The kernel: the token has the arming of the entry. */
inline harvested(file)
{
	slot[file].before = slot[file].before & ~bit_of(me)
}

/* The claims: it was delivered to this wait. */
inline seen(file)
{
	looked(file, fired[file])
}

/* src/core/recheck.c: chunk_probe */
inline look_at(n)
{
	looked(n, slot[n].on);
	bits[n] = ready[n] & slot[n].on
}

/* The program reads all there is. */
inline drain(n, filter)
{
	ready[n] = ready[n] & ~(filter);
	gap = 1
}

/* src/core/sleep.c: xp_settle */
inline xp_settle()
{
	if
	:: recheck_wanted && waiters && activated -> xp_kick()
	:: else
	fi;
	recheck_wanted = 0
}

/* Enabled and ready, and with CLEAR new. */
#define lost(n) (at_hand(n) && (!CLEAR || ghost[n].news))

#include "wait.pml"

proctype changer()
{
	byte n, f, m, a, rc, left = CHANGES;

	do
	:: left > 0 ->
		left--;
		if
		:: atomic { lock(); xp_change_enable(0, 1); locked = 0 }
		:: atomic { lock(); xp_change_disable(0, 1); locked = 0 }
		:: atomic { lock(); xp_change_add(0); locked = 0 }
		:: atomic { lock(); xp_change_delete(0); locked = 0 }
		:: atomic { /* src/core/registration.c: xp_registration_activate, registration_enlist */
			lock();
			recheck_wanted = waiters && !activated;
			activated = 1;
			xp_settle();
			locked = 0 }
		:: atomic { !wake_pending -> /* src/core/wake.c: xpoll_wake */
			wake_pending = 1;
			busy = 1 };
		   atomic { epoll_wake(); busy = 0 }
		fi
	:: break
	od
}

proctype world()
{
	byte left = WRITES;

	do
	:: atomic { left > 0 ->
		left--;
		if
		:: activity(0, 1); ghost[0].news = CLEAR
#if FILTERS > 1
		:: activity(0, 2)
#endif
#if NUMBERS > 1
		:: activity(1, 1); ghost[1].news = CLEAR
#endif
		fi }
	:: break
	od
}

init
{
	byte n, f, m, a, rc;

	atomic {
		ready[0] = ALL_FILTERS & 2; /* There is room to write. */
		do
		:: n < NUMBERS ->
			ghost[n].registered = NO_FILE;
			xp_change_add(n);
			n++
		:: else -> n = 0; break
		od;
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> n = 0; break
		od;
		run changer();
		run world()
	}
}
