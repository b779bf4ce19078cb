/*
 * The library's half: a slot, its candidacy, and what is handed out.
 *
 * An inline has the name of the function that it models, and the comment says
 * where that is.  Those that run in one go under the lock are in one atomic
 * step, which the including model makes, as far as they ask the kernel once.
 *
 * All filters are of one kind: CLEAR is XPOLL_CLEAR, ONCE XPOLL_ONESHOT, DISPATCH
 * XPOLL_DISPATCH; two filters are used with DISPATCH only.  Numbers that only say how soon (quiet
 * checks, fruitless reports, the sample) are left open: both ways are tried.
 *
 * A sequence, an arming or a wait epoch is only ever compared with an earlier one, so the
 * models store the result instead: `later` is the set of waits that noted theirs before the
 * slot's last change, `before` that of waits whose report is from before the entry's last
 * change, `wait_epoch` the wait that reported it last, + 1.
 */
typedef Slot {
	unsigned present : FILTERS;
	unsigned on : FILTERS; /* enabled, which is a word of Promela's */
	unsigned armed : FILTERS;
	unsigned recheck_enabled : FILTERS;
	unsigned recheck_level : FILTERS;
	unsigned deferred : FILTERS;
	bit queued; /* in the queue of candidates */
	bit flips;  /* more than 0 */
	unsigned mode : 3;
	unsigned generation : 3;
	unsigned later : 3;
	unsigned before : 3;
	bit arming_last; /* the last of these changes was one of the entry */
	unsigned wait_epoch : 2;
#if FILTERS > 1
	unsigned delivered : FILTERS; /* in that wait */
	bit first;                    /* the filter that found no room */
#endif
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
	unsigned wanted : FILTERS; /* enabled, as far as the kernel knows */
	unsigned unseen : THREAD_BITS; /* waits that have not looked at a filter since */
	bit deferred_unseen;      /* of the deferred bits, the same */
	unsigned held : THREAD_BITS; /* threads that were handed a filter and have not acted yet */
	bit news                 /* CLEAR: activity that was not handed out yet */
};
Ghost ghost[NUMBERS];
#define holds(n, filters) (ghost[n].held & bits_of(filters))
#define looked(n, filters) ghost[n].unseen = ghost[n].unseen & ~bits_of(filters)
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
inline wanted_from_now(n, filters)
{
	ghost[n].wanted = ghost[n].wanted | (filters);
	ghost[n].unseen = ghost[n].unseen | of_threads(filters) * ALL_WAITERS;
	ghost[n].deferred_unseen = !CAN_PROBE;
	ghost[n].news = CLEAR
}

/* src/core/entry.h: xp_entry_set_mode: m and a were given to the kernel. */
inline xp_entry_set_mode(n)
{
	slot[n].mode = m;
	slot[n].armed = a;
	slot[n].later = noted;
	slot[n].before = noted;
	slot[n].arming_last = noted != 0
}

/* src/core/queue.h: xp_slot_marked */
inline xp_slot_marked(n)
{
	slot[n].later = noted;
	slot[n].arming_last = 0
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
#if FILTERS > 1
	slot[n].delivered = 0;
	slot[n].first = 0;
#endif
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
	   (CLEAR || DISPATCH || slot[n].on != slot[n].present || slot[n].flips) ->
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
		a = slot[n].on;
		m = (CLEAR -> BY_EDGE : (wants_oneshot(n) -> ONESHOT : LEVEL))
	:: else
	fi
}

/* src/core/candidate.h: xp_recheck_enabled */
inline xp_recheck_enabled(n, filters)
{
	slot[n].recheck_enabled = slot[n].recheck_enabled | (filters);
	xp_slot_marked(n);
	slot[n].queued = 1
}

/* src/core/candidate.h: xp_recheck_level */
inline xp_recheck_level(n, filters)
{
	slot[n].recheck_level = slot[n].recheck_level | (filters);
	slot[n].queued = 1
}

/* src/core/candidate.c: xp_candidate_defer */
inline xp_candidate_defer(n, filters)
{
	if
	:: CAN_PROBE -> xp_recheck_level(n, filters)
	:: else ->
		slot[n].deferred = slot[n].deferred | (filters);
		slot[n].queued = 1;
		ghost[n].deferred_unseen = 0
	fi
}

#define candidacy(n) (slot[n].recheck_enabled | slot[n].recheck_level | slot[n].deferred)

/* src/core/interest.h: xp_interest_free_disable;
 * src/core/candidate.h: xp_candidate_cancel */
inline xp_interest_silenced(n, filters)
{
	slot[n].on = slot[n].on & ~(filters);
	slot[n].recheck_enabled = slot[n].recheck_enabled & ~(filters);
	slot[n].recheck_level = slot[n].recheck_level & ~(filters);
	slot[n].deferred = slot[n].deferred & ~(filters);
	slot[n].queued = slot[n].queued && (candidacy(n) ||
		(NUMBERS > 1 && slot[NUMBERS - 1 - n].queued))
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
inline emit(n, filter)
{
	/* What is handed out is registered and enabled, not a second time, and
	 * this wait has found it ready since it was enabled. */
	assert(ghost[n].registered != NO_FILE && (ghost[n].wanted & (filter)));
	assert(!holds(n, filter));
	assert(!(ghost[n].unseen & bits_of(filter)));
	ghost[n].wanted = (DISPATCH || ONCE -> ghost[n].wanted & ~(filter) : ghost[n].wanted);
	ghost[n].news = 0;
	taken++;
	ghost[n].held = ghost[n].held | bits_of(filter);
#if FILTERS > 1
	slot[n].delivered = slot[n].delivered | (filter);
#endif
	if
	:: ONCE -> xp_entry_forget(n)
	:: !ONCE && DISPATCH -> xp_interest_silenced(n, filter)
	:: else ->
		if
		:: !CLEAR && slot[n].mode == BY_EDGE -> xp_recheck_level(n, filter)
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
#if FILTERS > 1
	:: slot[n].mode == FIRED && slot[n].on -> m = BY_EDGE; a = slot[n].on
#endif
	:: else
	fi
}

/* src/core/candidate.c: xp_candidate_outdated */
inline xp_candidate_outdated(n, filters)
{
	if
	:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED
	:: else
	fi;
	if
	:: slot[n].mode == BY_EDGE && (slot[n].on & (filters)) ->
		xp_recheck_level(n, slot[n].on & (filters))
	:: slot[n].mode == FIRED && slot[n].on -> xp_recheck_level(n, slot[n].on)
	:: else
	fi
}

/* src/core/deliver.c: deliver_filters: one of them */
inline deliver_filter(n, filter)
{
	if
	:: !(bits[n] & slot[n].on & (filter))
	:: (bits[n] & slot[n].on & (filter)) && taken >= CAP ->
		xp_candidate_defer(n, filter);
		crowded = crowded | (filter)
	:: else -> emit(n, filter)
	fi
}

/* src/core/deliver.c: deliver_events; src/core/interest.c: xp_interest_fired_rest */
inline deliver_events(n)
{
#if FILTERS == 1
	deliver_filter(n, 1);
	crowded = 0;
#else
	if
	:: slot[n].first -> deliver_filter(n, 2); deliver_filter(n, 1)
	:: else -> deliver_filter(n, 1); deliver_filter(n, 2)
	fi;
	slot[n].first = crowded == 2 || (crowded == 3 && slot[n].first);
	crowded = 0;
#endif
	if
	:: slot[n].mode == FIRED && slot[n].on -> xp_recheck_level(n, slot[n].on)
	:: else
	fi
}

#if FILTERS == 1
#define fresh_of(n) 0
#define delivers_anew(n) skip
#else
#define fresh_of(n) (bits[n] & ~slot[n].delivered)
#define delivers_anew(n) slot[n].delivered = 0
#endif

/* src/core/deliver.c: xp_deliver_event, deliver_more */
inline xp_deliver_slot(n)
{
	bits[n] = bits[n] & slot[n].on;
	if
	:: !bits[n] -> xp_interest_fruitless(n)
	:: bits[n] && slot[n].wait_epoch == me + 1 && !fresh_of(n) ->
		if /* The program is yet to see its event. */
		:: CLEAR && slot[n].mode == BY_EDGE -> assert(holds(n, 1)); ghost[n].news = 0
		:: else -> xp_candidate_outdated(n, bits[n])
		fi
	:: else ->
		if
		:: slot[n].wait_epoch == me + 1 && fresh_of(n) -> bits[n] = fresh_of(n)
		:: slot[n].wait_epoch != me + 1 && taken < CAP ->
			slot[n].wait_epoch = me + 1;
			delivers_anew(n)
		:: slot[n].wait_epoch != me + 1 && taken >= CAP
		fi;
		deliver_events(n)
	fi;
	bits[n] = 0;
	xp_entry_push(n)
}

/* src/core/deliver.h: xp_fired_is_before */
#define is_before(n) (slot[n].before & bit_of(me))

/* src/core/deliver.c: xp_deliver_rare, is_of_last_change, confirmed */
inline deliver_entry(file)
{
	n = number_of(file);
	rc = OK;
	if
	:: !slot[n].present || slot[n].generation != token[file] ->
		stale(n, file);
		rc = ENOENT
	:: slot[n].present && slot[n].generation == token[file] && is_before(n) ->
		more = 1; /* Not exhausted: what holds is reported anew. */
		rc = ENOENT
	:: slot[n].present && slot[n].generation == token[file] && !is_before(n) &&
	   (slot[n].later & bit_of(me)) && !slot[n].arming_last ->
		more = 1;
		xp_candidate_outdated(n, fired[file]);
		rc = ENOENT
	:: else ->
		bits[n] = fired[file];
		if
		:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED
		:: SAMPLED && (slot[n].mode == LEVEL || slot[n].mode == BY_EDGE) ->
			m = slot[n].mode;
			a = slot[n].armed
		:: slot[n].mode != ONESHOT
		fi
	fi;
	fired[file] = 0;
	token[file] = 0;
	if /* This may be f, which a change uses. */
	:: rc == OK ->
		xp_entry_push(n);
		hot = (rc == OK -> hot | bit_of(n) : hot);
		bits[n] = (rc == OK -> bits[n] : 0)
	:: else
	fi
}

/* src/core/recheck.c: candidate_take; src/core/recheck.h: xp_candidate_check_single */
inline candidate_take(n)
{
	slot[n].queued = 0;
	if
	:: slot[n].deferred ->
		slot[n].deferred = 0;
		hot = hot | bit_of(n);
		bits[n] = 1; /* Of one filter: there are not two where no check is possible. */
		ghost[n].unseen = (ghost[n].deferred_unseen -> ghost[n].unseen :
			ghost[n].unseen & ~bit_of(me))
	:: !slot[n].deferred && (slot[n].on & candidacy(n)) ->
		if
		:: !CAN_PROBE -> xp_interest_publish(n)
		:: CAN_PROBE ->
			chunk = chunk | bit_of(n);
			confirm = (slot[n].on & slot[n].recheck_enabled -> confirm : confirm | bit_of(n))
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
	:: bits[n] && (confirm & bit_of(n)) && slot[n].mode != LEVEL ->
		if
		:: CLEAR || slot[n].mode == FIRED -> xp_entry_same_file(n)
		:: else -> xp_interest_publish(n)
		fi
	:: !bits[n] && (confirm & bit_of(n)) && slot[n].mode == BY_EDGE &&
	   !CLEAR ->
		xp_interest_publish(n)
	:: !bits[n] && slot[n].mode == FIRED -> xp_interest_publish(n)
	:: !bits[n] && slot[n].mode != FIRED
	:: else
	fi;
	if
	:: rc == OK -> xp_entry_push(n)
	:: else -> xp_entry_drop(n)
	fi;
	/* What nobody has named since is still the file that was registered. */
	assert(rc != OK || !(bits[n] && (confirm & bit_of(n))) || looked_right(n));
	if
	:: rc == OK && bits[n] -> hot = hot | bit_of(n)
	:: else -> bits[n] = 0
	fi
}

/* src/core/recheck.c: candidate_return */
inline candidate_return(n)
{
	bits[n] = 0;
	if
	:: slot[n].queued || !slot[n].on
	:: else ->
		slot[n].recheck_level = slot[n].recheck_level |
			(confirm & bit_of(n) -> slot[n].on : 0);
		slot[n].recheck_enabled = slot[n].recheck_enabled |
			(confirm & bit_of(n) -> 0 : slot[n].on);
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
			:: (slot[n].on & candidacy(n)) && slot[n].mode != LEVEL ->
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
			xp_recheck_enabled(n, slot[n].on)
		:: else
		fi;
		n++
	:: else -> n = 0; break
	od
}

/* src/core/interest.c: xp_interest_wanted; src/core/arm.c: enabled */
inline xp_interest_wanted(n, filters)
{
	if
	:: slot[n].mode == LEVEL && !((filters) & ~slot[n].armed) -> xp_slot_marked(n)
	:: (slot[n].mode != LEVEL || ((filters) & ~slot[n].armed)) &&
	   !waiters && (!((filters) & ~slot[n].armed) || slot[n].mode == FIRED) ->
		xp_recheck_enabled(n, filters)
	:: else ->
		m = (wants_oneshot(n) -> ONESHOT : BY_EDGE);
		a = (wants_oneshot(n) -> slot[n].on : slot[n].present);
		xp_entry_push(n)
	fi
}

/* src/core/change.c: xp_change_enable */
inline xp_change_enable(n, filters)
{
	if
	:: ghost[n].registered == file_at(n) && !(ghost[n].wanted & (filters)) ->
		wanted_from_now(n, filters)
	:: else
	fi;
	if
	:: slot[n].present ->
		slot[n].on = slot[n].on | (filters);
		xp_interest_wanted(n, filters)
	:: else
	fi
}

/* src/core/change.c: xp_change_disable */
inline xp_change_disable(n, filters)
{
	ghost[n].wanted = ghost[n].wanted & ~(filters);
	gap = 1;
	if
	:: slot[n].present -> xp_interest_silenced(n, filters)
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
		wanted_from_now(n, ALL_FILTERS)
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
		slot[n].present = ALL_FILTERS;
		slot[n].on = ALL_FILTERS;
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
