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
    # One descriptor: armings, marks, late changes, candidates.
    Run("level", "slot", "CHANGES=3"),
    Run("clear", "slot", "CLEAR=true"),
    Run("dispatch", "slot", "DISPATCH=true"),
    Run("oneshot", "slot", "ONESHOT=true"),
    Run("dispatch-three", "slot", "DISPATCH=true WAITERS=3 CHANGES=1 WRITES=1 EXPIRIES=0 CLOSES=0"),
    Run("dispatch-clear", "slot", "DISPATCH=true CLEAR=true CHANGES=1"),
    Run("dispatch-cancel", "slot", "DISPATCH=true CANCELS=1 CHANGES=1 CLOSES=0 EXPIRIES=0"),
    Run("clear-cancel", "slot", "CLEAR=true CANCELS=1 CHANGES=1 EXPIRIES=0"),
    Run("not-can_probe", "slot", "CAN_PROBE=false"),
    Run("progress-level", "slot", "CHANGES=1", True),
    Run("progress-clear", "slot", "CLEAR=true CHANGES=1", True),
    Run("progress-dispatch", "slot", "DISPATCH=true CHANGES=1 WRITES=1", True),
    Run("progress-oneshot", "slot", "ONESHOT=true CHANGES=1 WRITES=1", True),
    # Low-water marks, of what the kernel reports and of what it does not.
    Run("marks-edges", "marks", "EDGES=true"),
    Run("marks-no-edges", "marks", "EDGES=false"),
    Run("progress-marks", "marks", "EDGES=true", True),
    # Sleeping and waking, without descriptors.
    Run("kicks-two", "kicks", "WAITERS=2 TIMES=1"),
    Run("kicks-three", "kicks", "WAITERS=3 CALLS=1 TIMES=1"),
    Run("kicks-cancel", "kicks", "WAITERS=2 CALLS=2 TIMES=0 EXPIRIES=0 CANCELS=1"),
    Run("kicks-poll-level", "kicks", "WAITERS=3 CALLS=2 EXPIRIES=0 TIMES=0 POLL_LEVEL=true"),
    Run("progress-kicks", "kicks", "WAITERS=2 CALLS=1 TIMES=1", True),
    Run("progress-kicks-poll-level", "kicks",
        "WAITERS=2 CALLS=1 EXPIRIES=0 TIMES=0 POLL_LEVEL=true", True),
    # Turns on poll and select.
    Run("turns-two", "turns", "WAITERS=2"),
    Run("turns-poll-level", "turns", "WAITERS=2 POLL_LEVEL=true"),
    Run("turns-batch", "turns", "WAITERS=2 CALLS=1 BATCHES=1"),
    Run("turns-three", "turns", "WAITERS=3 CALLS=1 WRITES=0"),
    Run("progress-turns", "turns", "WAITERS=3 CALLS=1 WRITES=0 EXPIRIES=0", True),
    Run("turns-cancel", "turns", "WAITERS=3 CALLS=1 WRITES=0 EXPIRIES=0 CANCELS=1"),
]

# What an assertion says when it fails.
LOST = "wanted)&&ready" # something could be delivered, and everybody sleeps
UNSEEN = "wanted&&held" # delivered though disabled, or not ready since it was enabled
STUCK = "invalid end state"

CYCLE = "acceptance cycle"  # threads work for ever, and deliver nothing

BELOW = "wanted&&(amount>="  # enough for the mark, and everybody sleeps

BROKEN = [
    # Reports that were fetched before a change.
    Broken("delivers-a-superseded-report", "dispatch", "", [
        ("slot.pml", "present && !(stale & REPORT) && (older & REPORT) -> more = 1",
         "false -> more = 1")], UNSEEN),
    Broken("delivers-a-stale-report", "oneshot", "", [
        ("slot.pml", "!present || (stale & REPORT) ", "!present "),
        ("slot.pml", "present && !(stale & REPORT) && (older & REPORT) -> more = 1",
         "present && !(stale & REPORT) && (older & REPORT) && false -> more = 1")], UNSEEN),
    Broken("ignores-the-mark", "dispatch", "", [
        ("slot.pml", ":: marked && (later & bit_of(me)) ->", ":: false ->"),
        ("slot.pml", ":: !(marked && (later & bit_of(me))) && !there", ":: !there"),
        ("slot.pml", ":: !(marked && (later & bit_of(me))) -> xp_deliver()",
         ":: true -> xp_deliver()")], UNSEEN),
    Broken("enables-without-a-mark", "dispatch", "", [
        ("slot.pml", ":: armed && mode != EDGE -> xp_slot_outdate_reports()",
         ":: armed && mode != EDGE -> skip")], UNSEEN),
    Broken("drops-an-outdated-report", "dispatch", "", [
        ("slot.pml", "recheck = recheck || (on && mode != LEVEL)", "skip")], LOST),
    Broken("does-not-disable", "dispatch", "", [
        ("slot.pml", "DISPATCH -> on = 0; check = 0; recheck = 0; wanted = 0",
         "DISPATCH -> wanted = 0")], UNSEEN),
    # Late changes.
    Broken("deletes-beside-a-late-change", "dispatch", "", [
        ("slot.pml", ":: else -> xp_late_await(); kernel_end(); slot_clear()",
         ":: else -> kernel_end(); slot_clear()"),
        ("slot.pml", "{\n\txp_late_await();\n\tolder = used;\n\tstale = used;",
         "{\n\tolder = used;\n\tstale = used;")], ""),
    Broken("makes-a-late-change-twice-at-once", "dispatch", "", [
        ("slot.pml", ":: is_silent ->\n\t\t\tif", ":: mode == ONCE ->\n\t\t\tif")],
        "unmade==0"),
    # Candidates.
    Broken("leaves-candidates-behind", "level", "", [
        ("slot.pml", ":: waiters && candidate && !(on && check && !CAN_PROBE) ->",
         ":: false ->")], LOST),
    Broken("leaves-what-it-cannot-check-behind", "not-can_probe", "", [
        ("slot.pml", "check && !CAN_PROBE -> wake_linked = 1", "check && !CAN_PROBE -> skip")],
        LOST),
    Broken("leaves-unarmed-what-a-check-did-not-find", "dispatch", "", [
        ("slot.pml", ":: is_silent && on -> xp_entry_arm(ONCE, 1)\n\t:: else",
         ":: true")], LOST),
    Broken("takes-an-edge-for-a-level", "level", "", [
        ("slot.pml", "mode == EDGE -> recheck = 1", "mode == EDGE -> skip")], LOST),
    Broken("delivers-without-confirming", "level", "", [
        ("slot.pml", ":: found && !named -> is_same_file()",
         ":: found && !named -> skip")], "seen_there"),
    Broken("forgets-what-a-cancelled-thread-had", "clear-cancel", "", [
        ("slot.pml", "\t\t\txp_candidates_add_edges()\n", "\t\t\tskip\n")], LOST),
    Broken("leaves-a-silent-entry-to-nobody", "dispatch-cancel", "", [
        ("slot.pml", ":: mode == ONCE -> xp_late_await(); armed = 0", ":: mode == ONCE")], LOST),
    Broken("suffers-what-nobody-wants", "progress-dispatch", "", [
        ("slot.pml", "CAN_PROBE -> xp_entry_arm(ONCE, 0)", "CAN_PROBE -> skip"),
        ("slot.pml", ":: mode == LEVEL -> xp_entry_arm(EDGE, 1)", ":: mode == LEVEL")], CYCLE),
    # Marks: ready, but not enough; candidates from the mark on; room that nobody reports.
    Broken("leaves-a-marked-candidate-behind", "marks-edges", "", [
        ("marks.pml", ":: waiters && candidate -> candidate = 0; xp_entry_hand_to_kernel()",
         ":: false -> skip")], BELOW),
    Broken("forgets-what-was-below-its-mark", "marks-no-edges", "", [
        ("marks.pml", "unmet = 1; due = 1", "due = 1")], BELOW),
    Broken("sets-no-time-for-it", "marks-no-edges", "", [
        ("marks.pml", "unmet = 1; due = 1", "unmet = 1")], BELOW),
    Broken("leaves-its-time-to-nobody", "marks-no-edges", "", [
        ("marks.pml", ":: waiters && due && timer_waiter == NOBODY -> kicked = 1",
         ":: false -> skip")], BELOW),
    Broken("takes-a-marked-filter-for-reported", "marks-edges", "", [
        ("marks.pml", "candidate = 1\n\t:: wanted && !enough", "skip\n\t:: wanted && !enough")],
        BELOW),
    Broken("enables-a-marked-filter-for-itself", "marks-edges", "", [
        ("marks.pml", ":: waiters -> xp_entry_hand_to_kernel()\n", ":: false -> skip\n")], BELOW),
    # Waking.
    Broken("leaves-a-user-event-behind", "kicks-two", "", [
        ("kicks.pml", "((activated && !poll_level) || xp_timer_waiter_missing",
         "(xp_timer_waiter_missing")], "activated"),
    Broken("leaves-a-wake-behind", "kicks-two", "", [
        ("kicks.pml", "xp_timer_waiter_missing || wake_pending)", "xp_timer_waiter_missing)")],
        "wake_pending"),
    Broken("leaves-without-a-mark", "kicks-two", "CALLS=1", [
        ("kicks.pml", "\t\txp_kick_next();\n\t\txp_kick_request();", "\t\txp_kick_next();")],
        "due"),
    Broken("leaves-without-a-mark-when-cancelled", "kicks-cancel", "", [
        ("kicks.pml", "\t\txp_kick_next();\n\t\txp_kick_request();",
         "\t\txp_kick_next();\n\t\tif\n\t\t:: cancelled\n\t\t:: else -> xp_kick_request()\n"
         "\t\tfi;")], "due"),
    Broken("activates-without-a-mark", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: !activated -> activated = 1; xp_kick_request()",
         ":: !activated -> activated = 1")], "activated"),
    Broken("wakes-without-writing", "kicks-two", "CALLS=1", [
        ("kicks.pml", "atomic { wake_linked = 1; writer = 0 }", "atomic { writer = 0 }")],
        "wake_pending"),
    Broken("lets-one-out-only", "kicks-three", "", [
        ("kicks.pml", ":: is_in(kicker) && kicked -> xp_kick_one()",
         ":: false -> xp_kick_one()")], "kicked"),
    Broken("loses-a-kick-to-a-look", "kicks-two", "", [
        ("kicks.pml", "(wake_linked && kicked -> kicker | bit_of(me) : kicker)", "kicker")],
        STUCK),
    Broken("sleeps-while-others-are-called-out", "kicks-two", "", [
        ("kicks.pml", "\t\t:: may_sleep && kicked -> goto await_left\n"
         "\t\t:: may_sleep && !kicked ->", "\t\t:: may_sleep ->")], "kicked"),
    Broken("waits-for-the-called-with-their-kick", "kicks-two", "", [
        ("kicks.pml", "atomic { xp_kick_next(); xp_kick_due();", "atomic { xp_kick_due();")],
        STUCK),
    Broken("waits-for-the-called-before-it-writes", "kicks-two", "", [
        ("kicks.pml", "atomic { xp_kick_next(); xp_kick_due();", "atomic { xp_kick_next();")],
        STUCK),
    Broken("leaves-the-next-time-unminded", "kicks-two", "CALLS=1", [
        ("kicks.pml", "xp_timer_waiter_missing || wake_pending)", "wake_pending)")], "due"),
    Broken("calls-a-timer_waiter-for-good", "kicks-two", "CALLS=1", [
        ("kicks.pml", "until = (until == NOW -> NEVER : until)", "skip")], "due"),
    Broken("timer_waiter-does-not-resign", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: timer_waiter == me -> timer_waiter = NEVER; until = NEVER",
         ":: timer_waiter == me -> timer_waiter = NEVER")], "due"),
    Broken("moves-a-time-without-a-mark", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: xp_timer_waiter_missing -> xp_kick_request()",
         ":: xp_timer_waiter_missing -> skip")], "due"),
    Broken("destroys-beside-a-thread-that-writes", "kicks-two", "CALLS=1", [
        ("kicks.pml", ":: !inside -> assert", ":: !(inside & waiters) -> assert")], "in_call"),
    Broken("leaves-the-call-without-a-signal", "kicks-two", "CALLS=1", [
        ("kicks.pml", "	leave(inside);\n	if\n	:: dying -> broadcast()",
         "	leave(inside);\n	if\n	:: false -> broadcast()")], STUCK),
    # Turns.
    Broken("passes-the-turn-without-a-signal", "turns-two", "", [
        ("turns.pml", "	leader = 0;\n	signal_one()", "	leader = 0")], "asleep"),
    Broken("clears-the-signal-of-the-called", "turns-three", "", [
        ("turns.pml", "	:: !called -> groups_clear()", "	:: true -> groups_clear()")],
        STUCK),
    Broken("passes-the-turn-to-the-others-alone", "turns-three", "", [
        ("turns.pml", "(alone -> OWN : occupied)", "(occupied & OTHERS)")], "asleep"),
    Broken("leaves-a-cleared-group-readable", "turns-three", "", [
        ("turns.pml", "			readable = readable & ~(writes & ~signalled);\n", "")],
        "readable"),
    Broken("waits-for-the-leader-before-its-kick", "turns-two", "", [
        ("turns.pml", "{\n	xp_kick_due();\n	enter(inside);", "{\n	enter(inside);")],
        STUCK),
    Broken("takes-the-turn-along-when-interrupted", "turns-three", "", [
        ("turns.pml", ":: !leader -> xp_turn_pass()\n", ":: false -> skip\n")],
        "asleep"),
    Broken("leaves-a-candidate-to-a-leader-that-sleeps", "turns-batch", "", [
        ("turns.pml", ":: candidate -> xp_kick_one()", ":: false -> skip")],
        "candidate"),
    Broken("leaves-the-array-without-a-signal", "turns-two", "", [
        ("turns.pml", ":: changers > 0 || is_in(kicked) -> broadcast()",
         ":: is_in(kicked) -> broadcast()")], STUCK),
    Broken("changes-without-a-kick", "turns-two", "CALLS=1 EXPIRIES=0", [
        ("turns.pml", ":: waiters -> xp_kick_one(); begin_left()",
         ":: waiters -> begin_left()")], STUCK),
    Broken("does-not-wait-for-the-array", "turns-two", "CALLS=1 EXPIRIES=0", [
        ("turns.pml", ":: waiters -> changers++", ":: false -> changers++")], "asleep"),
]
