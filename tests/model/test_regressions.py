"""Sequences that once failed, as run.py printed them, with the steps named that matter."""
from __future__ import annotations

from select import POLLIN, POLLOUT, POLLPRI

from machine import Machine
from world import POLLRDHUP
from xpoll import (CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, FILT_EXCEPT, FILT_READ, FILT_WRITE,
                   ONESHOT)


def test_write_of_a_readable_descriptor_comes_with_room_for_one() -> None:
    for kind in ("regular", "eventfd", "null"):
        with Machine() as model:
            model.first_file(kind=kind)
            model.act(pick=0, what="write", asleep=False)
            model.ctl_add(disabled=False, events=POLLIN | POLLOUT, modes=0, pick=0)
            model.wait(max_events=1, timeout=0)


def test_clear_on_a_device_keeps_the_other_direction() -> None:
    with Machine() as model:
        model.first_file(kind="null")
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=0, switch=0)
        model.ctl_add(disabled=False, events=POLLOUT, modes=CLEAR, pick=0)


def test_closed_descriptor_does_not_hide_a_ready_one() -> None:
    with Machine() as model:
        model.first_file(kind="pipe")
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=0, switch=0)
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=1, switch=0)
        model.close(pick=0, exactly=False)
        model.poll(timeout=0)


def test_object_of_two_one_shot_directions_is_there_for_both() -> None:
    with Machine() as model:
        model.first_file(kind="regular")
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT, modes=ONESHOT, pick=0)
        model.wait(max_events=64, timeout=0)


def test_half_close_of_a_regular_file_is_never_ready() -> None:
    with Machine() as model:
        model.first_file(kind="regular")
        model.ctl_add(disabled=False, events=POLLRDHUP, modes=0, pick=0)
        model.wait(max_events=64, timeout=0)


def test_unconnected_socket_is_silent_at_one_level_only() -> None:
    with Machine() as model:
        model.first_file(kind="lone")
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT, modes=0, pick=0)
        model.wait(max_events=64, timeout=0)
        model.poll(timeout=0)


def test_hang_up_of_except_alone_is_silent_at_one_level_only() -> None:
    with Machine() as model:
        model.first_file(kind="unix")
        model.ctl_add(disabled=False, events=POLLPRI, modes=0, pick=0)
        model.close(pick=1, exactly=False)
        model.wait(max_events=64, timeout=0)
        model.poll(timeout=0)


def test_enable_of_a_number_that_is_a_device_now_is_enoent() -> None:
    with Machine() as model:
        model.first_file(kind="tty")
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT | POLLPRI, modes=0, pick=0)
        model.close(pick=0, exactly=False)
        model.make(kind="null")
        model.switch(asleep=False, filter=FILT_EXCEPT, op=ENABLE, pick=0)


def test_clear_of_a_closed_number_with_a_duplicate() -> None:
    with Machine() as model:
        model.first_file(kind="tcp")
        model.dup(pick=0)
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT, modes=CLEAR, pick=2)
        model.close(pick=2, exactly=False)
        model.wait(max_events=64, timeout=0)


def test_broken_pipe_with_a_duplicate_comes_to_rest() -> None:
    for events in (POLLIN, POLLOUT, POLLPRI):
        with Machine() as model:
            model.first_file(kind="pipe")
            model.close(pick=0, exactly=False)
            model.dup(pick=0)
            model.ctl_add(disabled=False, events=events, modes=0, pick=1)
            model.close(pick=1, exactly=False)
            model.wait(max_events=1, timeout=0)
            model.poll(timeout=0)


def test_delete_of_one_wish_beside_a_direction_that_is_not_there() -> None:
    with Machine() as model:
        model.first_file(kind="unix")
        model.ctl_add(disabled=False, events=POLLIN | POLLRDHUP, modes=0, pick=0)
        model.ctl_switch(events=POLLIN | POLLOUT, op=DELETE, pick=0)


def test_enable_of_clear_beside_a_level_direction() -> None:
    with Machine() as model:
        model.first_file(kind="dgram")
        model.act(pick=1, what="write", asleep=False)
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=0, switch=0)
        model.add(asleep=False, filter=FILT_WRITE, modes=CLEAR, pick=0, switch=DISABLE)
        model.switch(asleep=True, filter=FILT_WRITE, op=ENABLE, pick=0)
        model.fork()
        model.wait(max_events=1, timeout=0.001)


def test_hang_up_that_is_not_told_does_not_keep_a_wait_busy() -> None:
    with Machine() as model:
        model.first_file(kind="lone")
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT | POLLPRI, modes=DISPATCH, pick=0)
        model.wake(count=1, then="wait for one")


def test_helper_set_of_select_leaves_room_for_others() -> None:
    with Machine() as model:
        model.first_file(kind="eventfd")
        model.make(kind="unix")
        model.act(pick=0, what="write", asleep=False)
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=0, switch=0)
        model.add(asleep=False, filter=FILT_WRITE, modes=0, pick=1, switch=0,
                  then="wait for one")


def test_dead_entry_that_is_got_rid_of_hides_nobody() -> None:
    with Machine() as model:
        model.first_file(kind="unix")
        model.add(asleep=False, filter=FILT_READ, modes=0, pick=1, switch=0)
        model.make(kind="unix")
        model.add(asleep=False, filter=FILT_EXCEPT, modes=0, pick=2, switch=0)
        model.dup(pick=2)
        model.close(exactly=False, pick=3)
        model.close(exactly=False, pick=2)
        model.dup_onto(onto=0, pick=2, then="wait")
        for then in ("wait for one", "wait", "poll", "poll"):
            model.wait(max_events=64, timeout=0, then=then)


def test_edge_beside_a_dispatch_of_the_same_hang_up_comes_to_rest() -> None:
    with Machine() as model:
        model.first_file(kind="unix")
        model.close(exactly=False, pick=1)
        model.add(asleep=False, filter=FILT_WRITE, modes=CLEAR, pick=0, switch=0,
                  then="wait for one")
        model.add(asleep=True, filter=FILT_EXCEPT, modes=CLEAR | DISPATCH, pick=0, switch=0)
        for _ in range(4):
            model.poll(timeout=0)


def test_direction_that_found_room_is_not_told_with_the_other() -> None:
    """Of files that may not be looked at: a directory, and a terminal that has hung up."""
    with Machine() as model:
        model.first_file(kind="directory")
        model.add(asleep=False, filter=FILT_READ, hint=True, modes=CLEAR, pick=0, switch=0)
        model.add(asleep=False, filter=FILT_WRITE, hint=True, modes=CLEAR | ONESHOT, pick=0,
                  switch=0, then="wait for one")
        model.add(asleep=True, filter=FILT_READ, modes=0, pick=0, switch=0)
    with Machine() as model:
        model.first_file(kind="tty")
        model.close(exactly=False, pick=0)
        model.ctl_add(disabled=False, events=POLLIN | POLLOUT, modes=CLEAR, pick=0,
                      then="wait for one")
        for _ in range(4):
            model.wait(max_events=1, timeout=0)


def test_edge_that_is_told_again_comes_before_what_is_changed_asleep() -> None:
    for op in (DISABLE, DELETE):
        with Machine() as model:
            model.first_file(kind="unix")
            model.add(asleep=False, filter=FILT_WRITE, modes=CLEAR, pick=0, switch=0,
                      then="wait")
            model.act(pick=1, what="write", asleep=False)
            model.add(asleep=False, filter=FILT_READ, modes=DISPATCH, pick=0, switch=0,
                      then="wait for one")
            model.switch(asleep=True, filter=FILT_WRITE, op=op, pick=0)


def test_end_of_a_process_behind_one_that_found_no_room() -> None:
    with Machine() as model:
        model.spawn(modes=0, switch=0)
        model.spawn(modes=0, switch=0)
        model.spawn(modes=0, switch=DISABLE)
        model.reap(pick=13, then="poll")
        model.reap(pick=0, then="wait for one")
        model.spawn(modes=0, switch=0)
        model.reap(pick=0)
        model.spawn(modes=0, switch=0)
        model.reap(pick=0, then="wait for one")
        model.reap(pick=0, then="wait")


def test_bytes_for_a_terminal_are_on_their_way_for_a_while() -> None:
    with Machine() as model:
        model.first_file(kind="tty")
        model.add(asleep=False, filter=FILT_READ, modes=CLEAR, pick=1, switch=0)
        for what in ("write", "write", "write_much", "write_much", "write"):
            model.act(asleep=False, pick=0, what=what, then="wait")


def test_marks_of_both_directions_are_told_each_in_its_turn() -> None:
    with Machine() as model:
        model.first_file(kind="unix")
        model.add_mark(asleep=False, filter=FILT_WRITE, modes=0, pick=0, size=1, switch=0)
        model.add_mark(asleep=False, filter=FILT_READ, modes=0, pick=0, size=1, switch=0,
                       then="wait for one")
        model.act(asleep=False, pick=15, what="fill", then="poll")
