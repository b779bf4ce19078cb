"""Mutants of the core that is being written (src/next): mutants.py has what they are.

Each takes out a mechanism that a trial showed to be necessary: (text, what stands there
instead, the test that fails).
"""
EXPLORER = "unit.explore:every_order_of_steps_keeps_the_contract"
MUTANTS = {
    # What a thread has harvested, and what the program changes meanwhile.
    "a report older than the last mark is delivered": (
        "XP_UNLIKELY(slot->marked && queue->sequence - slot->sequence <\n"
        "\t                       queue->sequence - wait->sequence)", "0",
        EXPLORER),
    "a report of an arming before the last one is delivered": (
        "report_is_superseded(queue, wait, slot, fired->token)) {", "0) {", EXPLORER),
    "an entry is changed for another filter whose edge may be delivered twice": (
        "} else if (beside && !xp_entry_is_held(queue, slot, filters)) {", "} else if (beside) {",
        EXPLORER),
    "a filter is reported twice in a call": (
        "if (slot->epoch == wait->epoch) {\n\t\tdeliver_more", "if (0) {\n\t\tdeliver_more",
        "contract.fairness:all_ready_returns_what_only_the_kernel_knows_beside_what_is_at_hand"),
    "a repeated report of a level by edges is not checked": (
        "if (filters)\n\t\txp_check_again(queue, fd, slot, filters);\n}\n\n"
        "static XP_NOINLINE void deliver_e",
        ";\n}\n\nstatic XP_NOINLINE void deliver_e",
        "fault.harvest:level_that_a_call_reports_again_by_an_edge_is_delivered_by_the_next"),
    "a cancelled thread takes its events with it": (
        "\txp_check_all(queue);\n\txp_wait_dismiss", "\txp_wait_dismiss",
        "contract.cancel:hazard_20_event_of_a_cancelled_wait_is_not_lost"),
    # Files that are closed, and numbers that are used again.
    "reports are never confirmed": (
        "++slot->reports != 0 || !queue->lazy", "++slot->reports != 0 || 1",
        "contract.close:hazard_02_close_with_duplicate_is_dropped"),
    "the set is not renewed": (
        "\tslot->stale = 0;\n\twait->renew = true;", "\tslot->stale = 0;",
        "contract.close:hazard_02_dead_entry_and_reused_number_do_not_mix"),
    "a delivered candidate is not compared with its file": (
        "} else if (named || candidate_confirmed(queue, found->fd, slot, checked)) {",
        "} else if (1) {",
        "contract.reuse:hazard_01_delivered_one_whose_number_is_reused_is_silent"),
    "an entry that the kernel has kept is an error": (
        "if (XP_UNLIKELY(rc == -EEXIST))", "if (0)",
        "contract.reuse:hazard_01_add_of_a_file_that_is_back_at_its_number"),
    "DELETE does not reach the kernel": (
        "\t\treturn xp_entry_end(queue, fd, slot, false);\n\tmine", "\t\treturn 0;\n\tmine",
        "contract.delete:delete_ready_one_is_not_delivered"),
    # What nobody wants.
    "a level that nobody wants goes on": (
        "\t\telse\n\t\t\t(void)xp_entry_arm(queue, fd, slot, XP_MODE_EDGE, mine, mine);",
        "\t\telse\n\t\t\t;", "contract.disable:disable_tcp_reset_is_silent_and_sleeps"),
    "edges that nobody wants stay armed": (
        "slot->mode == XP_MODE_EDGE && ++slot->fruitless >= FRUITLESS_MOST", "0",
        "contract.disable:disable_refused_datagrams_wake_a_bounded_number_of_times"),
    "an entry without filters reports hang-ups for ever": (
        "(queue->lazy && !filters) ? XP_WATCH_ONESHOT", "0 ? XP_WATCH_ONESHOT",
        "contract.disable:disable_refused_datagrams_wake_a_bounded_number_of_times"),
    "DISPATCH does not disable": (
        "(void)change_silence(queue, fd, slot, filters);\n\t} else if", ";\n\t} else if",
        "contract.once:dispatch_unread_data_reports_once_until_enabled"),
    "XPOLL_WHOLE acts on one direction": (
        "slot->whole ? slot->present : XP_BIT(filter);", "XP_BIT(filter);",
        "contract.pwait:whole_dispatch_disables_all_directions"),
    # Edges.
    "edges share the entry of a level": (
        "\t\t\tsolo |= bit;", "\t\t\t;",
        "contract.edges:edge_is_not_repeated_by_changes_of_other_filters"),
    "an edge that was delivered does not count": (
        "slot->spent = 1;", "(void)slot;",
        "contract.edges:edge_is_not_repeated_by_changes_of_other_filters"),
    "bits of a file that must not be checked are lost": (
        "slot->kept_for |= filters & XP_ALL_FILTERS;", ";",
        "contract.clear:clear_both_directions_of_a_device_with_room_for_one_come_once"),
    "every kind of file is checked by poll(2)": (
        "return xp_kind_can_probe(xp_slot_kind(fd, slot));", "return true;",
        "contract.close:enable_of_a_number_that_is_a_file_now_is_enoent_or_nothing"),
    # When the kernel is asked, and who is the first.
    "what was enabled is not checked": (
        "\tslot->check |= XP_SET(filters);\n\txp_candidate_append", "\txp_candidate_append",
        "contract.disable:add_disabled_readable_never_fires_until_enabled"),
    "what did not fit into one harvest is left": (
        "while (wait->more && !xp_wait_is_full(wait)",
        "while (0 && !xp_wait_is_full(wait)", "contract.room:one_call_delivers_all_that_is_ready"),
    "sources, candidates and files keep their order": (
        "switch ((wait->epoch + i) % 3) {", "switch (i) {",
        "contract.fairness:hazard_06_user_file_and_pipe_share_one_slot"),
    "the filter that found no room is not the first": (
        "\t\t\tslot->first = filter & 3;", "\t\t\t;",
        "contract.files:file_both_directions_come_with_room_for_one"),
    "what was not fetched is forgotten": (
        "\t\t\txp_postpone(queue, fd, slot, slot->enabled, found->events);", "\t\t\t;",
        "contract.pollike:clear_not_handed_out_comes_again"),
    "a file that was delivered stays the first": (
        "file_place(file, *events ? &queue->files.awake : &queue->files.asleep);",
        "if (!*events)\n\t\tfile_place(file, &queue->files.asleep);",
        "contract.files:files_take_turns"),
    "who watches the queue by edges is not reported to again": (
        "if (XP_UNLIKELY(queue->outer.exposed) && rc > 0 && !wait->delivered_some)", "if (0)",
        "contract.attention:queue_fd_by_edges_is_told_of_what_an_add_enables"),
    # Who is woken.
    "a thread that leaves does not wake the next": (
        "if (xp_sleepers_take_mark(queue) && left_for_sleepers(queue)) {\n\t\txp_kick_one(queue);",
        "if (xp_sleepers_take_mark(queue) && left_for_sleepers(queue)) {",
        "contract.concurrent:trigger_wakes_the_waiter"),
    "one that was called out does not wake the next": (
        "if (wait->kicker && queue->kick.waiters > 0)\n\t\txp_kick_one(queue);", ";",
        "contract.wake:wake_all_of_threads_that_return_at_once_is_few_writes"),
    "a thread goes to sleep while others are called out": (
        "if (XP_UNLIKELY(until_ns != XP_NOW && queue->kick.waiters > 0)) {", "if (0) {",
        "contract.wake:wake_all_of_threads_that_return_at_once_is_few_writes"),
    "a wake is never used up": (
        "atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING", "1",
        "contract.wake:wake_before_the_wait_ends_it_once"),
    "threads may wait for two formats": (
        "if (XP_UNLIKELY(xp_wait_excluded(queue, format)))\n\t\treturn -EBUSY;", ";",
        "contract.pollike:second_thread_in_wait_is_ebusy"),
    # What is stored.
    "hang-ups that the event level ignores are lost": (
        "slot->withheld = queue->withheld = true;", ";",
        "contract.pollike:hang_up_that_the_event_level_does_not_tell_is_reported"),
    "an unconnected socket hangs up": (
        "? without_unconnected(queue, fd, slot, events) : events;", "? events : events;",
        "contract.listener:sockets_that_never_listened_are_silent"),
    "a mark is not kept": (
        "events = xp_lowat_reached(queue, fd, slot, events);", ";",
        "source.lowat:mark_of_a_pipe_is_kept"),
    "an exclusive entry does not report a half-close": (
        "events |= half_close(queue, fd, slot, events);", ";",
        "contract.exclusive:exclusive_half_close_is_eof"),
    "a second report of a wait does not add to the record of the first": (
        "\twait->ready[i].events |= (int)bits;\n", "",
        "contract.pwait:both_directions_come_with_one_record"),
    "a record of the caller's array leaves its modes to xpoll_revents": (
        "\t\t.events = (int)bits,\n\t};\n\txp_news_left(queue, fd, slot, events);\n"
        "\txp_handed(queue, fd, slot, filters);",
        "\t\t.events = (int)bits,\n\t};\n\txp_news_left(queue, fd, slot, events);",
        "contract.pwait:modes_act_before_the_call_returns"),
}
