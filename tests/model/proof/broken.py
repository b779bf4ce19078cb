"""The runs of the models, and how copies of them are broken."""
from typing import NamedTuple


class Run(NamedTuple):
    """A model with its parameters; the others have their defaults."""

    name: str
    model: str
    flags: str
    progress: bool = False  # check the claims of progress as well


class Broken(NamedTuple):
    """Edits (file, old text, new text) of a run's model; what spin then reports."""

    name: str
    run: str
    flags: str
    edits: list
    notices: str


RUNS = [
    # Lazy interest.
    Run("level", "waits", "WAITERS=2 CHANGES=2 WRITES=1 EXPIRIES=0"),
    Run("level-timeouts", "waits", "WAITERS=2 CHANGES=1 EXPIRIES=1"),
    Run("level-cancel", "waits", "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0 CANCELS=true"),
    Run("clear", "waits", "WAITERS=2 CHANGES=2 WRITES=1 EXPIRIES=0 CLEAR=true"),
    Run("two-numbers", "waits", "WAITERS=2 NUMBERS=2 CAP=1 CHANGES=0 EXPIRIES=0"),
    Run("small-array", "waits", "WAITERS=1 NUMBERS=2 CAP=1 CHANGES=1"),
    Run("small-array-dispatch", "waits", "WAITERS=1 NUMBERS=2 CAP=1 CHANGES=1 DISPATCH=true"),
    Run("not-can_probe", "waits", "WAITERS=1 NUMBERS=2 CAP=1 CHANGES=1 CAN_PROBE=false"),
    # DISPATCH and ONESHOT among several waiters.
    Run("dispatch", "waits", "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0 DISPATCH=true"),
    Run("dispatch-two-writes", "waits", "WAITERS=2 CHANGES=0 EXPIRIES=0 DISPATCH=true"),
    Run("dispatch-three", "waits", "WAITERS=3 CHANGES=0 EXPIRIES=0 DISPATCH=true WRITES=1"),
    Run("dispatch-clear", "waits", "WAITERS=2 CHANGES=1 EXPIRIES=0 DISPATCH=true CLEAR=true"),
    Run("dispatch-cancel", "waits",
        "WAITERS=2 CHANGES=0 WRITES=1 EXPIRIES=0 DISPATCH=true CANCELS=true"),
    Run("oneshot", "waits", "WAITERS=2 CHANGES=1 EXPIRIES=0 ONCE=true"),
    # READ and WRITE of one descriptor.
    Run("read-write", "waits", "WAITERS=2 FILTERS=2 CHANGES=0 WRITES=1 EXPIRIES=0 DISPATCH=true",
        True),
    # Progress.
    Run("progress-level", "waits", "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0", True),
    Run("progress-clear", "waits", "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0 CLEAR=true", True),
    Run("progress-two-numbers", "waits",
        "WAITERS=2 NUMBERS=2 CAP=1 CHANGES=0 WRITES=1 EXPIRIES=0", True),
    Run("progress-two-numbers-dispatch", "waits",
        "WAITERS=2 NUMBERS=2 CAP=1 CHANGES=0 WRITES=1 EXPIRIES=0 DISPATCH=true", True),
    Run("progress-dispatch", "waits", "WAITERS=2 CHANGES=0 WRITES=1 EXPIRIES=0 DISPATCH=true",
        True),
    Run("progress-dispatch-three", "waits",
        "WAITERS=3 CHANGES=0 WRITES=1 EXPIRIES=0 DISPATCH=true", True),
    Run("progress-dispatch-changes", "waits",
        "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0 DISPATCH=true", True),
    Run("progress-oneshot", "waits", "WAITERS=2 CHANGES=1 WRITES=1 EXPIRIES=0 ONCE=true", True),
    Run("progress-reuse", "reuse",
        "WAITERS=2 WRITES=0 EXPIRIES=0 SAMPLED=false PAUSES=false", True),
    Run("progress-reuse-dispatch", "reuse",
        "WAITERS=2 FILES=1 WRITES=1 EXPIRIES=0 SAMPLED=false PAUSES=false COPIES=0 "
        "DISPATCH=true", True),
    # Numbers that are used again.
    Run("reuse", "reuse", "WAITERS=1 WRITES=2 EXPIRIES=0"),
    Run("reuse-timeouts", "reuse", "WAITERS=1"),
    Run("reuse-clear", "reuse", "WAITERS=1 WRITES=2 EXPIRIES=0 CLEAR=true"),
    Run("reuse-three-files", "reuse",
        "WAITERS=1 FILES=3 WRITES=2 EXPIRIES=0 SAMPLED=false PAUSES=false"),
    Run("reuse-two-waiters", "reuse", "WAITERS=2 EXPIRIES=0 SAMPLED=false PAUSES=false"),
    Run("reuse-renewed-at-once", "reuse",
        "WAITERS=2 EXPIRIES=0 SAMPLED=false PAUSES=false STALE_MOST=1"),
    Run("reuse-dispatch", "reuse",
        "WAITERS=2 EXPIRIES=0 SAMPLED=false PAUSES=false COPIES=0 DISPATCH=true"),
    Run("progress-marks", "marks", "TOLD=true", True),
    # Low-water marks, of what the kernel reports and of what it does not.
    Run("marks-told", "marks", "TOLD=true"),
    Run("marks-untold", "marks", "TOLD=false"),
    # Sleeping and waking, without descriptors.
    Run("kicks-two", "kicks", "WAITERS=2 TIMES=1"),
    Run("kicks-three", "kicks", "WAITERS=3 CALLS=1 TIMES=1"),
    Run("kicks-poll-level", "kicks", "WAITERS=3 CALLS=2 EXPIRIES=0 TIMES=0 POLL_LEVEL=true"),
    Run("progress-kicks", "kicks", "WAITERS=2 CALLS=1 TIMES=1", True),
    Run("progress-kicks-poll-level", "kicks",
        "WAITERS=2 CALLS=1 EXPIRIES=0 TIMES=0 POLL_LEVEL=true", True),
    # Turns on poll and select.
    Run("turns-two", "turns", "WAITERS=2"),
    Run("turns-poll-level", "turns", "WAITERS=2 POLL_LEVEL=true"),
    Run("turns-three", "turns", "WAITERS=3 CALLS=1 WRITES=0"),
    Run("progress-turns", "turns", "WAITERS=3 CALLS=1 WRITES=0 EXPIRIES=0", True),
    Run("turns-cancel", "turns", "WAITERS=3 CALLS=1 WRITES=0 EXPIRIES=0 CANCELS=1"),
]

# What an assertion says when it fails.
LOST = "ghost[0].wanted&ready"  # something could be delivered, and everybody sleeps
AGAIN = "held&"             # handed out twice in one wait
UNSEEN = ".unseen&"         # handed out without having looked since
UNWANTED = ".registered!=7" # handed out though deleted or disabled
LATE = "gap"                # a wait returned nothing though it held all the time
STUCK = "invalid end state"

CYCLE = "acceptance cycle"  # threads work for ever, and do not deliver what is ready

BELOW = "wanted&&(amount>="  # enough for the mark, and everybody sleeps

# Reports without an arming, as they were before: the thread that holds the only report of a
# fired entry takes it for outdated and arms the entry again instead of checking it.
HANDED_ON = [
    ("slot.pml", """		:: !CAN_PROBE -> xp_interest_publish(n)
		:: CAN_PROBE ->
""", """		:: !CAN_PROBE || slot[n].mode == FIRED -> xp_interest_publish(n)
		:: CAN_PROBE && slot[n].mode != FIRED ->
"""),
    ("slot.pml", "slot[n].generation == token[file] && is_before(n) ->", "false ->"),
    ("slot.pml", """!is_before(n) &&
	   (slot[n].later & bit_of(me)) && !slot[n].arming_last ->""", """
	   (slot[n].later & bit_of(me)) ->"""),
    ("slot.pml", """	:: slot[n].mode == FIRED && slot[n].on -> xp_recheck_level(n, slot[n].on)
	:: else
	fi
}

#if""", """	:: slot[n].mode == FIRED && (slot[n].on & ~candidacy(n)) ->
		m = ONESHOT;
		a = slot[n].on
	:: else
	fi
}

#if"""),
]

BROKEN = [
    # Marks: ready, but not enough; by level from the mark on; room that nobody reports.
    Broken("leaves-a-marked-candidate-behind", "marks-told", "", [
        ("marks.pml", ":: waiters && candidate -> candidate = 0; xp_interest_publish()",
         ":: false -> skip")], BELOW),
    Broken("forgets-what-was-below-its-mark", "marks-untold", "", [
        ("marks.pml", "unmet = 1; due = 1", "due = 1")], BELOW),
    Broken("sets-no-moment-for-it", "marks-untold", "", [
        ("marks.pml", "unmet = 1; due = 1", "unmet = 1")], BELOW),
    Broken("leaves-its-moment-to-nobody", "marks-untold", "", [
        ("marks.pml", ":: waiters && due && timer_waiter == NOBODY -> kicked = 1",
         ":: false -> skip")], BELOW),
    Broken("takes-a-marked-filter-for-told", "marks-told", "", [
        ("marks.pml", "by level from now on */\n\t\tcandidate = 1",
         "by level from now on */\n\t\tskip")], BELOW),
    Broken("enables-a-marked-filter-for-itself", "marks-told", "", [
        ("marks.pml", ":: waiters -> xp_interest_publish()\n", ":: false -> skip\n")], BELOW),
    # Hazards 3, 4 and 5: an edge wakes one thread only; ...
    Broken("leaves-candidates-behind", "level", "WRITES=2", [
        ("wait.pml", ":: waiters -> xp_candidates_publish()", ":: false -> skip"),
        ("wait.pml", "(kicks_next || candidates ||", "(kicks_next ||")], LOST),
    Broken("leaves-a-user-event-behind", "level-timeouts", "", [
        ("wait.pml", "candidates || activated || wake_pending) ->",
         "candidates || wake_pending) ->")], "activated"),
    Broken("leaves-a-wake-behind", "level-timeouts", "", [
        ("wait.pml", "candidates || activated || wake_pending) ->",
         "candidates || activated) ->")], "wake_pending"),
    # ... a mark is cleared after the look, with the lock released for it; ...
    Broken("clears-the-mark-after-the-look", "level", "", [
        ("slot.pml", """	slot[n].recheck_enabled = 0;
	slot[n].recheck_level = 0;
	xp_entry_push(n)
}

/* src/core/entry.c: xp_entry_same_file""", """	xp_entry_push(n)
}

/* src/core/entry.c: xp_entry_same_file"""),
        ("slot.pml", """inline candidate_found(n)
{
	rc = OK;
""", """inline candidate_found(n)
{
	rc = OK;
	slot[n].queued = 0;
	slot[n].recheck_enabled = 0;
	slot[n].recheck_level = 0;
"""),
        ("wait.pml", """		:: n < NUMBERS ->
			if
			:: chunk & bit_of(n) -> look_at(n)
			:: else
			fi;
			n++
		:: else -> n = 0; break
		od
	}
	atomic {
""", """		:: n < NUMBERS ->
			if
			:: chunk & bit_of(n) -> look_at(n)
			:: else
			fi;
			n++
		:: else -> n = 0; break
		od;
		locked = 0
	}
	atomic {
		lock();
""")], LOST),
    # ... two edges go to two threads.
    Broken("ignores-the-sequence", "level", "", [
        ("slot.pml", "(slot[n].later & bit_of(me)) && !slot[n].arming_last ->", "false ->")],
        UNSEEN),
    Broken("ignores-the-arming", "dispatch-two-writes", "", [
        ("slot.pml", "slot[n].generation == token[file] && is_before(n) ->", "false ->")], UNSEEN),
    Broken("forgets-the-sequence-of-a-change", "dispatch-two-writes", "", [
        ("slot.pml", "	slot[n].later = noted;\n	slot[n].before = noted;\n", "")], UNSEEN),
    Broken("hands-out-without-silencing", "dispatch-two-writes", "", [
        ("slot.pml", ":: !ONCE && DISPATCH -> xp_interest_silenced(n, filter)",
         ":: !ONCE && DISPATCH -> skip")], UNWANTED),
    # Candidates.
    Broken("enables-while-another-sleeps", "level", "CHANGES=2", [
        ("slot.pml", "!waiters && (!((filters)", "(!((filters)")], LOST),
    Broken("drops-the-rest-of-a-check", "small-array-dispatch", "", [
        ("wait.pml", "is_full -> candidate_return(n)", "is_full -> skip")], ""),
    Broken("drops-what-does-not-fit", "small-array-dispatch", "", [
        ("slot.pml", "		xp_candidate_defer(n, filter);\n", "")], ""),
    Broken("leaves-unarmed-what-a-look-did-not-find", "dispatch-two-writes", "", [
        ("slot.pml", ":: !bits[n] && slot[n].mode == FIRED -> xp_interest_publish(n)",
         ":: !bits[n] && slot[n].mode == FIRED -> skip")], LOST),
    Broken("believes-a-full-array", "small-array", "", [
        ("wait.pml", "more = count == room;", "more = 0;")], LATE),
    Broken("reports-twice-in-a-wait", "level", "", [
        ("slot.pml", ":: bits[n] && slot[n].wait_epoch == me + 1 && !fresh_of(n) ->",
         ":: bits[n] && false ->"),
        ("slot.pml", ":: slot[n].wait_epoch != me + 1 && taken < CAP ->", ":: taken < CAP ->"),
        ("slot.pml", ":: slot[n].wait_epoch != me + 1 && taken >= CAP", ":: taken >= CAP")], AGAIN),
    Broken("forgets-what-a-cancelled-thread-had", "level-cancel", "CHANGES=0 CLEAR=true", [
        ("wait.pml", "	xp_candidates_all()\n", "	skip\n")], LOST),
    Broken("leaves-a-one-shot-entry-fired", "dispatch-cancel", "", [
        ("slot.pml", "			:: slot[n].mode == ONESHOT -> slot[n].mode = FIRED\n"
         "\t\t\t:: else\n\t\t\tfi;\n\t\t\txp_recheck_enabled(n, slot[n].on)",
         "			:: slot[n].mode == ONESHOT -> skip\n"
         "			:: else\n			fi")], LOST),
    # Progress.
    *[Broken(name, run, "", HANDED_ON, CYCLE) for name, run in (
        ("hands-a-report-on", "progress-dispatch"),
        ("hands-a-report-on-oneshot", "progress-oneshot"),
        ("hands-a-report-on-three", "progress-dispatch-three"),
        ("hands-a-report-on-read-write", "read-write"))],
    # Waking.
    Broken("does-not-kick", "level", "CHANGES=1", [
        ("slot.pml", ":: waiters -> epoll_wake()", ":: false -> epoll_wake()")], "wake_pending"),
    Broken("activates-without-a-kick", "level", "CHANGES=1", [
        ("waits.pml", ":: recheck_wanted && waiters && activated -> xp_kick()",
         ":: false -> skip")], "activated"),
    Broken("wakes-without-writing", "level", "CHANGES=1", [
        ("waits.pml", "atomic { epoll_wake(); busy = 0 }",
         "atomic { busy = 0 }")], "wake_pending"),
    # Numbers that are used again.
    Broken("keeps-the-generation", "reuse", "", [
        ("slot.pml", "	slot[n].generation = slot[n].generation + 1\n", "	skip\n")], UNSEEN),
    Broken("ignores-the-generation", "reuse", "", [
        ("slot.pml", "!slot[n].present || slot[n].generation != token[file] ->",
         "!slot[n].present ->")], UNSEEN),
    Broken("deletes-in-the-kernel-only", "reuse", "", [
        ("slot.pml", "	:: else\n	fi;\n	xp_entry_drop(n)\n}",
         "	:: else\n	fi\n}")],
        UNWANTED),
    Broken("delivers-without-confirming", "reuse", "", [
        ("slot.pml", ":: bits[n] && (confirm & bit_of(n)) && slot[n].mode != LEVEL ->",
         ":: false ->")], "file_looked"),
    Broken("suffers-dead-entries", "reuse", "", [
        ("reuse.pml", "	:: stale_count == STALE_MOST ->", "	:: false ->")], "stales"),
    Broken("counts-reports-of-the-old-set", "reuse-renewed-at-once", "", [
        ("reuse.pml", "	:: my_set == set ->\n		stale_count",
         "	:: true ->\n		stale_count")],
        "my_set"),
    Broken("renews-without-confirming", "reuse-three-files", "", [
        ("reuse.pml", "	:: slot[0].mode != NONE && (file_now == NO_FILE ||",
         "	:: false && (file_now == NO_FILE ||")], UNSEEN),
    Broken("renews-without-calling-out", "reuse-two-waiters", "", [
        ("reuse.pml", "holds_dead);\n	xp_kick_all()", "holds_dead)")], "asleep_in"),
    Broken("lets-one-out-only", "kicks-three", "", [
        ("kicks.pml", "	:: is_in(kicker) && kicked -> xp_kick()",
         "	:: false -> xp_kick()")], "kicked"),
    Broken("loses-a-kick-to-a-look", "kicks-two", "", [
        ("kicks.pml", "(wake_linked && kicked -> kicker | bit_of(me) : kicker)", "kicker")],
        STUCK),
    Broken("sleeps-while-others-are-called-out", "kicks-two", "", [
        ("kicks.pml", "		:: !must_look && kicked -> goto until_left\n"
         "		:: !must_look && !kicked ->", "		:: !must_look ->")], "kicked"),
    Broken("waits-for-the-called-with-their-kick", "kicks-two", "", [
        ("kicks.pml", "	atomic { xp_kick_next() }\nsleep", "	atomic { skip }\nsleep")],
        STUCK),
    Broken("leaves-the-next-moment-unminded", "kicks-two", "CALLS=1", [
        ("kicks.pml", "((activated && !poll_level) || xp_timer_waiter_missing)",
         "(activated && !poll_level)")], "due"),
    Broken("calls-a-timer_waiter-for-good", "kicks-two", "CALLS=1", [
        ("kicks.pml", "kept = (kept == NOW -> NEVER : kept)", "skip")], "due"),
    Broken("timer_waiter-does-not-resign", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: timer_waiter == me -> timer_waiter = NEVER; kept = NEVER",
         ":: timer_waiter == me -> timer_waiter = NEVER")], "due"),
    Broken("moves-a-moment-without-a-kick", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: recheck_wanted && waiters && left_for_sleepers -> call_one()",
         ":: recheck_wanted && waiters && activated -> call_one()")], "due"),
    Broken("waits-for-others-before-its-kick", "kicks-two", "", [
        ("kicks.pml", "	atomic { xp_kick_due(); enter(inside)", "	atomic { enter(inside)")],
        STUCK),
    Broken("is-not-waited-for-while-it-kicks", "kicks-two", "CALLS=1", [
        ("kicks.pml", "kick_due = 0; enter(inside); locked = 0", "kick_due = 0; locked = 0")],
        "in_call"),
    Broken("leaves-the-call-without-a-signal", "kicks-two", "CALLS=1", [
        ("kicks.pml", "	leave(inside);\n	if\n	:: dying -> broadcast()",
         "	leave(inside);\n	if\n	:: false -> broadcast()")], STUCK),
    # Turns.
    Broken("passes-the-turn-without-a-signal", "turns-two", "", [
        ("turns.pml", "	leader = 0;\n	signal_one()", "	leader = 0")], "asleep"),
    Broken("clears-the-signal-of-the-called", "turns-three", "", [
        ("turns.pml", "	:: !called -> places_clear()", "	:: true -> places_clear()")],
        STUCK),
    Broken("passes-the-turn-to-the-shared-place-alone", "turns-three", "", [
        ("turns.pml", "(seated -> OWN : occupied)", "(occupied & SHARED)")], "asleep"),
    Broken("leaves-a-cleared-place-readable", "turns-three", "", [
        ("turns.pml",
         "	readable = readable & ~(writes & ~signalled);\n", "")],
        "readable"),
    Broken("waits-for-the-leader-before-its-kick", "turns-two", "", [
        ("turns.pml", "{\n	xp_kick_due();\n	enter(inside);", "{\n	enter(inside);")],
        STUCK),
    Broken("takes-the-turn-along-when-interrupted", "turns-three", "", [
        ("turns.pml", "			:: !leader -> xp_turn_pass()\n",
         "			:: false -> skip\n")],
        "asleep"),
    Broken("does-not-tell-a-changer", "turns-two", "", [
        ("turns.pml", "	:: changers > 0 -> broadcast()\n	:: else\n	fi\n}",
         "	:: false -> broadcast()\n	:: else\n	fi\n}")], STUCK),
    Broken("changes-without-a-kick", "turns-two", "CALLS=1 EXPIRIES=0", [
        ("turns.pml", """		:: waiters -> xp_kick(); begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 -> broadcast()""", """		:: waiters -> begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 -> broadcast()""")], STUCK),
    Broken("does-not-wait-for-the-array", "turns-two", "CALLS=1 EXPIRIES=0", [
        ("turns.pml", """		:: waiters -> xp_kick(); begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 -> broadcast()""", """		:: false -> begin_left()
		:: else ->
			changers--;
			if
			:: changers == 0 -> broadcast()""")], "asleep"),
]
