/*
 * The library's half: a slot, its candidacy, and what is handed out.
 *
 * An inline has the name of the function that it models, and the comment says
 * where that is.  Those that run in one go under the lock are in one atomic
 * step, which the including model makes, as far as they ask the kernel once.
 *
 * One filter, READ, of one kind for all: CLEAR is XPOLL_CLEAR, ONCE
 * XPOLL_ONESHOT, DISPATCH XPOLL_DISPATCH.  Numbers that only say how soon (quiet
 * checks, fruitless reports, the sample) are left open: both ways are tried.
 *
 * A sequence or batch number is only ever compared with one noted before, so
 * the answer is kept instead: `later` is the set of waits that noted theirs
 * before the slot's last change, `wait_epoch` the wait that reported it last, + 1.
 */
typedef Slot {
	bit present;
	bit on; /* enabled, which is a word of Promela's */
	bit armed;
	bit recheck_enabled;
	bit recheck_level;
	bit deferred;
	bit queued; /* in the queue of candidates */
	bit flips;  /* more than 0 */
	unsigned mode : 3;
	unsigned generation : 3;
	unsigned later : 3;
	unsigned wait_epoch : 2
};

Slot slot[NUMBERS];
bit locked;
bit several;
unsigned waiters : 3; /* inside epoll_wait, or on their way out: a set */
unsigned noted : 3; /* waits that have a sequence number they will compare */
bit activated;      /* a user event is in the list of active ones */
bit recheck_wanted;
bit wake_pending;

/* What the program knows, for the claims; the library does not look at it. */
typedef Ghost {
	unsigned registered : 3; /* the file that it registered, or NO_FILE */
	bit wanted;              /* enabled, as far as the kernel knows */
	unsigned unseen : 3;     /* waits that have not looked at it since */
	bit deferred_unseen;      /* of the carried bits, the same */
	bit news                 /* CLEAR: activity that was not handed out yet */
};
Ghost ghost[NUMBERS];
bit gap = 1; /* one waiter: it was not ready and enabled all the time */

#define candidates (slot[0].queued || slot[NUMBERS - 1].queued)
#define is_full (taken + (hot & 1) + (hot >> 1) >= CAP)

/* src/core/sleep.c: kick_one; kicks.pml has the time between the unlock and the write. */
inline xp_kick()
{
	if
	:: waiters -> epoll_wake()
	:: else
	fi
}

/* The claims: what is handed out from now on has to be looked at anew. */
inline wanted_from_now(n)
{
	ghost[n].wanted = 1;
	ghost[n].unseen = ALL_WAITERS;
	ghost[n].deferred_unseen = !CAN_PROBE;
	ghost[n].news = CLEAR
}

/* src/core/entry.h: xp_entry_set_mode: m and a were given to the kernel. */
inline xp_entry_set_mode(n)
{
	slot[n].mode = m;
	slot[n].armed = a;
	slot[n].later = noted
}

/* src/core/entry.c: xp_entry_drop */
inline xp_entry_drop(n)
{
	slot[n].present = 0;
	slot[n].on = 0;
	slot[n].recheck_enabled = 0;
	slot[n].recheck_level = 0;
	slot[n].mode = NONE;
	slot[n].armed = 0;
	slot[n].deferred = 0;
	slot[n].flips = 0;
	slot[n].generation = slot[n].generation + 1
}

/* src/core/entry.c: xp_entry_push; if m is not NONE. */
inline xp_entry_push(n)
{
	rc = OK;
	if
	:: m != NONE ->
		epoll_control(n, slot[n].mode == NONE);
		if
		:: rc == OK -> xp_entry_set_mode(n)
		:: else -> xp_entry_drop(n)
		fi;
		m = NONE;
		a = 0
	:: else
	fi
}

/* src/core/arm.c: wants_oneshot */
#define wants_oneshot(n) (several && slot[n].on && (DISPATCH || ONCE))

/* src/core/interest.c: xp_interest_choose: into m and a. */
inline xp_interest_choose(n)
{
	a = slot[n].on;
	if
	:: !CLEAR && wants_oneshot(n) -> m = ONESHOT
	:: (CLEAR || !wants_oneshot(n)) &&
	   (CLEAR || DISPATCH || !slot[n].on || slot[n].flips) ->
		m = BY_EDGE;
		a = slot[n].present
	:: else -> m = LEVEL
	fi
}

/* src/core/interest.c: xp_interest_publish: into m and a. */
inline xp_interest_publish(n)
{
	if
	:: slot[n].on ->
		a = 1;
		m = (CLEAR -> BY_EDGE : (wants_oneshot(n) -> ONESHOT : LEVEL))
	:: else
	fi
}

/* src/core/candidate.h: xp_recheck_enabled */
inline xp_recheck_enabled(n)
{
	slot[n].recheck_enabled = 1;
	slot[n].later = noted;
	slot[n].queued = 1
}

/* src/core/candidate.h: xp_recheck_level */
inline xp_recheck_level(n)
{
	slot[n].recheck_level = 1;
	slot[n].queued = 1
}

/* src/core/candidate.c: xp_candidate_defer */
inline xp_candidate_defer(n)
{
	if
	:: CAN_PROBE -> xp_recheck_level(n)
	:: else ->
		slot[n].deferred = 1;
		slot[n].queued = 1;
		ghost[n].deferred_unseen = 0
	fi
}

/* src/core/interest.h: xp_interest_free_disable;
 * src/core/candidate.h: xp_candidate_cancel */
inline xp_interest_silenced(n)
{
	slot[n].on = 0;
	slot[n].recheck_enabled = 0;
	slot[n].recheck_level = 0;
	slot[n].deferred = 0;
	slot[n].queued = slot[n].queued && NUMBERS > 1 && slot[NUMBERS - 1 - n].queued
}

/* src/core/entry.c: xp_entry_forget */
inline xp_entry_forget(n)
{
	ghost[n].registered = NO_FILE;
	ghost[n].wanted = 0;
	gap = 1;
	if
	:: slot[n].mode != NONE -> epoll_delete(n)
	:: else
	fi;
	xp_entry_drop(n)
}

/* src/core/deliver.c: emit; src/core/interest.c: xp_interest_handed */
inline emit(n)
{
	/* What is handed out is registered and enabled, not a second time, and
	 * this wait has found it ready since it was enabled. */
	assert(ghost[n].registered != NO_FILE && ghost[n].wanted);
	assert(!(handed & bit_of(n)));
	assert(!(ghost[n].unseen & bit_of(me)));
	ghost[n].wanted = !DISPATCH;
	ghost[n].news = 0;
	taken++;
	handed = handed | bit_of(n);
	if
	:: ONCE -> xp_entry_forget(n)
	:: !ONCE && DISPATCH -> xp_interest_silenced(n)
	:: else ->
		if
		:: !CLEAR && slot[n].mode == BY_EDGE -> xp_recheck_level(n)
		:: else
		fi
	fi
}

/* src/core/interest.c: xp_interest_fruitless: into m and a. */
inline xp_interest_fruitless(n)
{
	if
	:: slot[n].mode == LEVEL -> slot[n].flips = 1; m = BY_EDGE; a = slot[n].present
	:: slot[n].mode == BY_EDGE && !slot[n].on -> /* what no mask keeps out */
		if
		:: m = ONESHOT; a = 0
		:: true
		fi
	:: slot[n].mode == BY_EDGE && slot[n].on && slot[n].armed != slot[n].on ->
		if
		:: m = BY_EDGE; a = slot[n].on
		:: true
		fi
	:: else
	fi
}

/* src/core/candidate.c: xp_candidate_outdated */
inline xp_candidate_outdated(n)
{
	if
	:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED
	:: else
	fi;
	if
	:: slot[n].on && (slot[n].mode == BY_EDGE || slot[n].mode == FIRED) ->
		xp_recheck_level(n)
	:: else
	fi
}

/* src/core/deliver.c: xp_deliver_event, deliver_events; src/core/interest.c: xp_interest_fired_rest */
inline xp_deliver_slot(n)
{
	if
	:: !slot[n].on -> xp_interest_fruitless(n)
	:: slot[n].on && slot[n].wait_epoch == me + 1 ->
		if /* deliver_more, of one filter: the program is yet to see its event */
		:: slot[n].mode == BY_EDGE ->
			assert(handed & bit_of(n));
			ghost[n].news = 0
		:: else -> xp_candidate_outdated(n)
		fi
	:: else ->
		if
		:: taken >= CAP -> xp_candidate_defer(n)
		:: else -> slot[n].wait_epoch = me + 1; emit(n)
		fi;
		if
		:: slot[n].mode == FIRED && slot[n].on && !slot[n].recheck_enabled &&
		   !slot[n].recheck_level && !slot[n].deferred -> m = ONESHOT; a = 1
		:: else
		fi
	fi;
	xp_entry_push(n)
}

/* src/core/deliver.c: xp_deliver_rare, confirmed */
inline deliver_entry(file)
{
	n = number_of(file);
	rc = OK;
	if
	:: !slot[n].present || slot[n].generation != token[file] ->
		stale(n, file);
		rc = ENOENT
	:: slot[n].present && slot[n].generation == token[file] &&
	   (slot[n].later & bit_of(me)) ->
		more = 1; /* Not exhausted: what holds is reported anew. */
		xp_candidate_outdated(n);
		rc = ENOENT
	:: else ->
		if
		:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED
		:: SAMPLED && (slot[n].mode == LEVEL || slot[n].mode == BY_EDGE) ->
			m = slot[n].mode;
			a = slot[n].armed
		:: slot[n].mode != ONESHOT
		fi;
		xp_entry_push(n)
	fi;
	hot = (rc == OK -> hot | bit_of(n) : hot);
	token[file] = 0
}

/* src/core/recheck.c: candidate_take; src/core/recheck.h: xp_candidate_check_single */
inline candidate_take(n)
{
	slot[n].queued = 0;
	if
	:: slot[n].deferred ->
		slot[n].deferred = 0;
		hot = hot | bit_of(n);
		ghost[n].unseen = (ghost[n].deferred_unseen -> ghost[n].unseen :
			ghost[n].unseen & ~bit_of(me))
	:: !slot[n].deferred && slot[n].on && (slot[n].recheck_enabled || slot[n].recheck_level) ->
		if
		:: slot[n].mode == FIRED || !CAN_PROBE -> xp_interest_publish(n)
		:: CAN_PROBE -> /* also what has fired, if others are looked at as well */
			chunk = chunk | bit_of(n);
			confirm = (slot[n].recheck_enabled -> confirm : confirm | bit_of(n))
		fi
	:: else
	fi;
	slot[n].recheck_enabled = 0;
	slot[n].recheck_level = 0;
	xp_entry_push(n)
}

/* src/core/entry.c: xp_entry_same_file: into rc. */
inline xp_entry_same_file(n)
{
	f = file_at(n);
	if
	:: f == NO_FILE -> rc = EBADF
	:: else -> rc = (entry_of(f).in -> OK : ENOENT)
	fi;
	f = 0
}

/* src/core/recheck.c: candidate_found; src/core/interest.c: xp_interest_quiet; src/core/recheck.c: candidate_confirmed */
inline candidate_found(n)
{
	rc = OK;
	if
	:: (found & bit_of(n)) && (confirm & bit_of(n)) && slot[n].mode != LEVEL ->
		if
		:: CLEAR || slot[n].mode == FIRED -> xp_entry_same_file(n)
		:: else -> xp_interest_publish(n)
		fi
	:: !(found & bit_of(n)) && (confirm & bit_of(n)) && slot[n].mode == BY_EDGE &&
	   !CLEAR ->
		xp_interest_publish(n)
	:: !(found & bit_of(n)) && slot[n].mode == FIRED -> xp_interest_publish(n)
	:: !(found & bit_of(n)) && slot[n].mode != FIRED
	:: else
	fi;
	if
	:: rc == OK -> xp_entry_push(n)
	:: else -> xp_entry_drop(n)
	fi;
	/* What nobody has named since is still the file that was registered. */
	assert(rc != OK || !(found & confirm & bit_of(n)) || looked_right(n));
	hot = (rc == OK && (found & bit_of(n)) -> hot | bit_of(n) : hot)
}

/* src/core/recheck.c: candidate_return */
inline candidate_return(n)
{
	if
	:: slot[n].queued || !slot[n].on
	:: else ->
		slot[n].recheck_level = slot[n].recheck_level || (confirm & bit_of(n));
		slot[n].recheck_enabled = slot[n].recheck_enabled || !(confirm & bit_of(n));
		slot[n].queued = 1
	fi
}

/* src/core/recheck.c: xp_candidates_publish */
inline xp_candidates_publish()
{
	n = 0;
	do
	:: n < NUMBERS ->
		if
		:: slot[n].queued && !slot[n].deferred ->
			if
			:: (slot[n].recheck_enabled || slot[n].recheck_level) && slot[n].mode != LEVEL ->
				xp_interest_publish(n)
			:: else
			fi;
			slot[n].queued = 0;
			slot[n].recheck_enabled = 0;
			slot[n].recheck_level = 0;
			xp_entry_push(n)
		:: else
		fi;
		n++
	:: else -> n = 0; break
	od
}

/* src/core/candidate.c: xp_candidates_all */
inline xp_candidates_all()
{
	n = 0;
	do
	:: n < NUMBERS ->
		if
		:: slot[n].on && slot[n].mode != LEVEL ->
			if
			:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED
			:: else
			fi;
			xp_recheck_enabled(n)
		:: else
		fi;
		n++
	:: else -> n = 0; break
	od
}

/* src/core/interest.c: xp_interest_wanted */
inline xp_interest_wanted(n)
{
	if
	:: slot[n].mode == LEVEL && slot[n].armed -> slot[n].later = noted
	:: (slot[n].mode != LEVEL || !slot[n].armed) &&
	   !waiters && (slot[n].armed || slot[n].mode == FIRED) ->
		xp_recheck_enabled(n)
	:: else ->
		a = 1;
		m = (wants_oneshot(n) -> ONESHOT : BY_EDGE);
		xp_entry_push(n)
	fi
}

/* src/core/change.c: xp_change_enable */
inline xp_change_enable(n)
{
	if
	:: ghost[n].registered == file_at(n) && !ghost[n].wanted -> wanted_from_now(n)
	:: else
	fi;
	if
	:: slot[n].present -> slot[n].on = 1; xp_interest_wanted(n)
	:: else
	fi
}

/* src/core/change.c: xp_change_disable */
inline xp_change_disable(n)
{
	ghost[n].wanted = 0;
	gap = 1;
	if
	:: slot[n].present -> xp_interest_silenced(n)
	:: else
	fi
}

/*
 * src/core/change.c: xp_change_add, add_merge, add_to_known, add_fresh.
 * What is registered keeps its state, but not if the number is another file.
 */
inline xp_change_add(n)
{
	if
	:: ghost[n].registered != file_at(n) ->
		ghost[n].registered = file_at(n);
		wanted_from_now(n)
	:: else
	fi;
	rc = ENOENT;
	if
	:: slot[n].present ->
		xp_interest_choose(n);
		xp_entry_push(n) /* The slot ends if it is another file. */
	:: else
	fi;
	if
	:: rc != OK ->
		slot[n].present = 1;
		slot[n].on = 1;
		xp_interest_choose(n);
		xp_entry_push(n)
	:: else
	fi
}

/* src/core/change.c: xp_change_delete; src/core/entry.h: xp_entry_end */
inline xp_change_delete(n)
{
	if
	:: slot[n].present -> xp_entry_forget(n)
	:: else
	fi
}
