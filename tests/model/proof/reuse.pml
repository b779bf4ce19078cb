/*
 * One number that stands for one file after the other.
 *
 * The program closes, with and without saying so, opens again, adds, enables,
 * deletes, in the order that makes sense; a copy of a closed file may be open
 * elsewhere, which keeps its entry in the epoll set.
 */
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef FILES
#define FILES 2
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef PAUSES
#define PAUSES true /* The program disables and enables, too. */
#endif
#ifndef CAP
#define CAP 4
#endif
#ifndef CAN_PROBE
#define CAN_PROBE true
#endif
#ifndef SAMPLED
#define SAMPLED true
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
#define CANCELS false
#define ALL_WAITERS ((1 << WAITERS) - 1)
#define NUMBERS 1
#define SETS 2
#ifndef STALE_MOST
#define STALE_MOST 2
#endif

#define file_at(n) file_now
#define number_of(file) 0
#define calling_out kicked
#define kick_passed() kicker = kicker & ~bit_of(me)
#define kicks_next ((kicker & bit_of(me)) && kicked)
#define looked_right(n) (file_looked == ghost[n].registered)

#include "kernel.pml"

unsigned file_now : 3 = NO_FILE; /* that the number stands for */
unsigned copies : 3;             /* files that are open elsewhere, too: a set */
bit set;                         /* the queue's epoll set; the other is old */

#include "slot.pml"

unsigned kicked : 3; /* sleepers from before kick_epoch grew: a set */
unsigned kicker : 3; /* who calls out the next of those: a set */
bit renewing;
unsigned file_looked : 3; /* the file that poll(2) has looked at */
unsigned stale_generation : 3;
unsigned stale_count : 2;
byte stales;

/* src/core/sleep.h: xp_waiter_left */
inline waiter_left()
{
	waiters = waiters & ~bit_of(me);
	kicker = kicker | (kicked & bit_of(me));
	kicked = kicked & ~bit_of(me)
}

/* src/core/sleep.c: xp_kick_taken */
inline xp_kick_taken()
{
	kicker = (!slept && kicked && wake_linked[my_set] -> kicker | bit_of(me) : kicker)
}

/* src/core/sleep.c: xp_kick_all */
inline xp_kick_all()
{
	kicked = waiters;
	xp_kick()
}

/* src/core/deliver.h: xp_deliver_fired: one of what was harvested */
inline deliver_next()
{
	f = (got & 1 -> 0 : (got & 2 -> 1 : 2));
	got = got & ~bit_of(f);
	deliver_entry(f)
}

/* The kernel: the token has the arming of the entry, which in an old set is not the last. */
inline harvested(file)
{
	if
	:: sleepers_entry(file).generation == slot[0].generation ->
		slot[0].before = (my_set == set -> slot[0].before & ~bit_of(me) :
			slot[0].before | bit_of(me))
	:: else
	fi
}

/* The claims: what a wait gets counts if it is of the file that the program registered;
 * what it looks at, also if the program has just enabled the number. */
inline seen(file)
{
	ghost[0].unseen = (ghost[0].registered == file -> ghost[0].unseen & ~bit_of(me) :
		ghost[0].unseen)
}

/* src/core/recheck.c: chunk_probe */
inline look_at(n)
{
	if
	:: file_now == NO_FILE -> chunk = 0; xp_entry_drop(n)
	:: else ->
		looked(n, slot[n].on);
		file_looked = file_now;
		bits[n] = ready[file_now] & slot[n].on
	fi
}

/* The program reads all there is. */
inline drain(n, filter)
{
	if
	:: file_now != NO_FILE -> ready[file_now] = 0
	:: else
	fi;
	gap = 1
}

/* src/core/deliver.c: stale */
inline stale(n, file)
{
	if
	:: my_set == set ->
		stale_count = (stale_generation == token[file] -> stale_count : 0);
		stale_generation = token[file];
		stale_count++
	:: else /* The set was renewed since. */
	fi;
	/* One waiter: a dead entry is not reported for ever. */
	stales = (WAITERS == 1 -> stales + 1 : 0);
	assert(WAITERS > 1 || stales <= FILES * STALE_MOST);
	if
	:: stale_count == STALE_MOST ->
		stale_count = 0;
		stale_generation = 0;
		/* It may fail; and the model has no third set. */
		renewing = !asleep_in[1 - set]
	:: else
	fi
}

/*
 * src/core/renew.c: xp_renew; src/backend/epoll.c: epoll_renew;
 * src/core/renew.c: xp_renew_attach_all
 */
inline xp_renew()
{
	/* For what the queue's set reported, not an old one. */
	assert(my_set == set);
	set = 1 - set;
	f = 0;
	do
	:: f < FILES -> entry_end(entry_of(f)); f++
	:: else -> f = 0; break
	od;
	if
	:: wake_linked[set] = 1 /* wake_fd is readable since the first kick. */
	:: wake_linked[set] = 0
	fi;
	if
	:: slot[0].mode != NONE ->
		xp_interest_choose(0);
		slot[0].mode = NONE;
		xp_entry_push(0)
	:: else
	fi
}

#define holds_dead(f) (entry_of(f).in && entry_of(f).generation != slot[0].generation)
#define renewed_holds_dead (holds_dead(0) || holds_dead(FILES - 1))

/*
 * src/core/renew.c: renew_confirm; src/backend/epoll.c: epoll_renew_knows,
 * epoll_renew_end
 */
inline renew_confirm()
{
	renewing = 0;
	if
	:: slot[0].mode != NONE && (file_now == NO_FILE ||
	   !entry[(1 - set) * FILES + file_now].in) ->
		epoll_delete(0);
		xp_entry_drop(0)
	:: else
	fi;
	/* Dead entries are not in the new set. */
	assert(!copies || !renewed_holds_dead);
	xp_kick_all()
}

/* What holds, is enabled, and is of the file that was registered. */
#define lost(n) (at_hand(n) && (!CLEAR || ghost[n].news))

#include "wait.pml"

/* The kernel: the last reference to a file ends, or one of several. */
inline close_file(file)
{
	if
	:: file != file_now && !(copies & bit_of(file)) ->
		ready[file] = 0;
		entry_end(entry[file]);
		entry_end(entry[FILES + file])
	:: else
	fi
}

/* The program: close(2), of which nobody hears. */
inline close_number()
{
	f = file_now;
	file_now = NO_FILE;
	gap = 1;
	close_file(f);
	f = 0
}

proctype program()
{
	byte n, f, m, a, rc, next;

	do
	:: next < FILES ->
		atomic { file_now = next; next++ };
		if
		:: atomic { lock(); xp_change_add(0); locked = 0 }
		:: true /* It is not for this queue. */
		fi;
		if
		:: next <= COPIES -> copies = copies | bit_of(file_now)
		:: true
		fi;
		if
		:: atomic { PAUSES && ghost[0].registered == file_now ->
			lock(); xp_change_disable(0, 1); locked = 0 };
		   atomic { lock(); xp_change_enable(0, 1); locked = 0 }
		:: true
		fi;
		if
		:: atomic { /* Or src/core/close.c: forget, xpoll_close_fd */
			lock();
			xp_change_delete(0);
			locked = 0 };
		   atomic { close_number() }
		:: atomic { close_number() }
		:: break
		fi
	:: else -> break
	od;
	atomic {
		if
		:: copies & 1 -> copies = copies & ~1; close_file(0)
		:: true
		fi
	}
}

proctype world()
{
	byte left = WRITES;

	do
	:: atomic { left > 0 && file_now != NO_FILE ->
		left--;
		activity(file_now, 1);
		ghost[0].news = (file_now == ghost[0].registered -> CLEAR : ghost[0].news) }
	:: atomic { left > 0 && (copies & 1) ->
		left--;
		activity(0, 1);
		ghost[0].news = (ghost[0].registered == 0 -> CLEAR : ghost[0].news) }
	:: break
	od
}

init
{
	byte n;

	atomic {
		ghost[0].registered = NO_FILE;
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> n = 0; break
		od;
		run program();
		run world()
	}
}
