/*
 * Goal: READ of Windows objects for which a program can wait: the filter is
 * ready while the object is signalled; each wait that changes the object's
 * state is one event, and none is lost.
 * Method: objects of the test; WaitForSingleObject is the oracle.
 */
#include "nt_kit.h"

enum { MANY = 200 };

static int watch(struct xpoll *queue, HANDLE handle, int flags)
{
	return xt_change(queue, nt_ident(handle), READ, XPOLL_ADD | flags, 0, 0, NULL);
}

static HANDLE make_event(bool manual_reset)
{
	HANDLE event = CreateEventA(NULL, manual_reset, FALSE, NULL);

	XT_EXPECT(event);
	return event;
}

static bool is_signalled(HANDLE handle)
{
	return WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
}

/* Returns the number of events until a wait finds none. */
static int events_left(struct xpoll *queue)
{
	struct xpoll_event event;
	int count = 0;

	while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 1)
		count++;
	return count;
}

XT_TEST(manual_reset_event_is_ready_until_it_is_reset)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE event = make_event(true);
	struct xpoll_event now;

	XT_OK(watch(queue, event, 0));
	XT_NONE(queue);
	XT_EXPECT(SetEvent(event));
	XT_GETS(queue, &now, nt_ident(event), READ);
	for (int i = 0; i < 3; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, 0), 1);
		XT_EXPECT_EQ(now.ident, nt_ident(event));
		XT_EXPECT_EQ(now.filter, READ);
		XT_EXPECT_EQ(now.flags, 0);
		XT_EXPECT_EQ(now.data, 1);
	}
	XT_EXPECT(ResetEvent(event));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(event), READ, XPOLL_DISABLE));
	XT_EXPECT(SetEvent(event));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(event), READ, XPOLL_ENABLE));
	XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, 0), 1);
	XT_OK(xt_flag(queue, nt_ident(event), READ, XPOLL_DELETE));
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, nt_ident(event), READ, XPOLL_DELETE), ENOENT);
	XT_OK(watch(queue, event, XPOLL_ONESHOT));
	XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, 0), 1);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(event));
	XT_STATUS(xt_flag(queue, nt_ident(event), READ, XPOLL_DELETE), EBADF);
	XT_STATUS(watch(queue, event, 0), EBADF);
}

XT_TEST(auto_reset_event_comes_once_each_time_that_it_is_set)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE event = make_event(false);
	struct xpoll_event now;

	XT_OK(watch(queue, event, 0));
	for (int i = 0; i < 20; i++) {
		XT_EXPECT(SetEvent(event));
		XT_GETS(queue, &now, nt_ident(event), READ);
		XT_NONE(queue);
		XT_EXPECT(!is_signalled(event));
	}
	XT_OK(xt_flag(queue, nt_ident(event), READ, XPOLL_DISABLE));
	XT_EXPECT(SetEvent(event));
	XT_NONE(queue);
	XT_EXPECT(is_signalled(event));
	XT_EXPECT(SetEvent(event));
	XT_OK(xt_flag(queue, nt_ident(event), READ, XPOLL_ENABLE));
	XT_GETS(queue, &now, nt_ident(event), READ);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(event));
}

XT_TEST(each_count_of_a_semaphore_is_one_event)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE semaphore = CreateSemaphoreA(NULL, 3, 100, NULL);

	XT_OK(watch(queue, semaphore, 0));
	XT_EQ(events_left(queue), 3);
	for (int i = 0; i < 10; i++) {
		XT_EXPECT(ReleaseSemaphore(semaphore, 5, NULL));
		for (int k = 0; k < 5; k++) {
			struct xpoll_event now;

			XT_GETS(queue, &now, nt_ident(semaphore), READ);
		}
		XT_NONE(queue);
	}
	XT_EXPECT(!is_signalled(semaphore));
	XT_EXPECT(CloseHandle(semaphore));
}

XT_TEST(delete_gives_back_what_was_not_delivered)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE handles[6];
	struct xpoll_event now;
	int left = 0;

	for (int i = 0; i < 6; i++) {
		handles[i] = i < 3 ? CreateEventA(NULL, FALSE, TRUE, NULL)
			: CreateSemaphoreA(NULL, 1, 9, NULL);
		XT_OK(watch(queue, handles[i], 0));
	}
	/* The wait takes the signals of all objects, and delivers one event. */
	XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, 0), 1);
	for (int i = 0; i < 6; i++)
		XT_OK(xt_flag(queue, nt_ident(handles[i]), READ, XPOLL_DELETE));
	XT_NONE(queue);
	for (int i = 0; i < 6; i++)
		left += is_signalled(handles[i]);
	XT_EQ(left, 5);
	for (int i = 0; i < 6; i++) {
		XT_EXPECT(!is_signalled(handles[i]));
		XT_EXPECT(CloseHandle(handles[i]));
	}
}

static DWORD WINAPI end_after(void *event)
{
	return WaitForSingleObject(event, 20000);
}

XT_TEST(thread_and_process_are_ready_when_they_have_ended)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE event = make_event(true);
	HANDLE thread = CreateThread(NULL, 0, end_after, event, 0, NULL);
	STARTUPINFOA start = {.cb = sizeof start};
	PROCESS_INFORMATION made;
	char command[] = "cmd.exe /c exit 7";
	struct xpoll_event now;
	DWORD code = 0;

	XT_CHECK(CreateProcessA(NULL, command, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL,
	                        &start, &made));
	XT_OK(watch(queue, thread, XPOLL_ONESHOT));
	XT_OK(watch(queue, made.hProcess, XPOLL_DISPATCH));
	XT_NONE(queue);
	XT_EXPECT(SetEvent(event));
	XT_GETS(queue, &now, nt_ident(thread), READ);
	XT_EXPECT(ResumeThread(made.hThread) == 1);
	XT_GETS(queue, &now, nt_ident(made.hProcess), READ);
	XT_EXPECT(GetExitCodeProcess(made.hProcess, &code));
	XT_EXPECT_EQ(code, 7);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(made.hProcess), READ, XPOLL_ENABLE));
	XT_GETS(queue, &now, nt_ident(made.hProcess), READ);
	XT_EXPECT(CloseHandle(thread));
	XT_EXPECT(CloseHandle(made.hThread));
	XT_OK(xpoll_close_fd((SOCKET)nt_ident(made.hProcess)));
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_EXPECT(CloseHandle(event));
}

static void expire(HANDLE timer, long period_ms)
{
	LARGE_INTEGER after = {.QuadPart = -10000};

	XT_EXPECT(SetWaitableTimer(timer, &after, period_ms, NULL, NULL, FALSE));
}

XT_TEST(waitable_timer_is_ready_when_it_has_expired)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE once = CreateWaitableTimerA(NULL, FALSE, NULL);
	HANDLE manual = CreateWaitableTimerA(NULL, TRUE, NULL);
	struct xpoll_event now;

	XT_OK(watch(queue, once, 0));
	XT_NONE(queue);
	expire(once, 0);
	XT_GETS(queue, &now, nt_ident(once), READ);
	XT_NONE(queue);
	expire(once, 1);
	for (int i = 0; i < 3; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, XT_SOON), 1);
		XT_EXPECT_EQ(now.ident, nt_ident(once));
	}
	XT_OK(xt_flag(queue, nt_ident(once), READ, XPOLL_DELETE));
	XT_OK(watch(queue, manual, 0));
	expire(manual, 0);
	for (int i = 0; i < 3; i++)
		XT_GETS(queue, &now, nt_ident(manual), READ);
	XT_EXPECT(CloseHandle(once));
	XT_EXPECT(CloseHandle(manual));
}

static HANDLE many[MANY];

static void set_later(void *event)
{
	XT_EXPECT(SetEvent(event));
}

XT_TEST(more_than_64_objects_in_one_wait)
{
	struct xt_sleeper sleeper = {.queue = xt_open_quiet(), .timeout_ns = XT_SOON};
	struct xpoll_event events[MANY];
	struct xt_thread *thread;
	int count = 0;

	for (int i = 0; i < MANY; i++) {
		many[i] = make_event(i % 2);
		XT_OK(watch(sleeper.queue, many[i], XPOLL_DISPATCH));
	}
	/* Each object ends a wait. */
	for (int i = 0; i < MANY; i += 7) {
		thread = xt_start(xt_sleep, &sleeper);
		if (i % 2)
			xt_asleep(thread);
		set_later(many[i]);
		xt_join(thread);
		XT_EQ(sleeper.rc, 1);
		XT_EXPECT_EQ(sleeper.event.ident, nt_ident(many[i]));
		XT_EXPECT(ResetEvent(many[i]));
		XT_OK(xt_flag(sleeper.queue, nt_ident(many[i]), READ, XPOLL_ENABLE));
	}
	for (int i = 0; i < MANY; i++)
		XT_EXPECT(SetEvent(many[i]));
	while (count < MANY) {
		int found = xpoll_event(sleeper.queue, NULL, 0, events, 64, XT_SOON);

		XT_CHECK(found > 0);
		for (int i = 0; i < found; i++)
			XT_EXPECT(events[i].filter == READ);
		count += found;
	}
	XT_EQ(count, MANY);
	XT_NONE(sleeper.queue);
	for (int i = 0; i < MANY; i++)
		XT_EXPECT(CloseHandle(many[i]));
}

XT_TEST(add_during_a_wait_takes_effect)
{
	struct xt_sleeper sleeper = {.queue = xt_open_quiet(), .timeout_ns = XT_SOON};
	HANDLE event = make_event(false);
	struct xt_thread *thread = xt_start(xt_sleep, &sleeper);

	xt_asleep(thread);
	XT_EXPECT(SetEvent(event));
	XT_OK(watch(sleeper.queue, event, XPOLL_DISPATCH));
	xt_join(thread);
	XT_EQ(sleeper.rc, 1);
	XT_EXPECT_EQ(sleeper.event.ident, nt_ident(event));
	XT_EXPECT(CloseHandle(event));
}

XT_TEST(objects_and_sockets_take_turns)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_tcp();
	HANDLE handles[3];
	int told[4] = {0};

	for (int i = 0; i < 3; i++) {
		handles[i] = make_event(true);
		XT_EXPECT(SetEvent(handles[i]));
		XT_OK(watch(queue, handles[i], 0));
	}
	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	(void)xt_poll_until(pair.r, POLLIN, POLLIN);
	for (int i = 0; i < 40; i++) {
		struct xpoll_event event;
		int which = 3;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		for (int k = 0; k < 3; k++)
			if (event.ident == nt_ident(handles[k]))
				which = k;
		told[which]++;
	}
	for (int i = 0; i < 4; i++)
		XT_EXPECT(told[i] > 0);
	for (int i = 0; i < 3; i++)
		XT_EXPECT(CloseHandle(handles[i]));
}

XT_TEST(closed_handle_leaves_the_queue)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE here = GetCurrentProcess(), event = make_event(true), other, next;
	struct xpoll_event now;

	XT_CHECK(DuplicateHandle(here, event, here, &other, 0, FALSE, DUPLICATE_SAME_ACCESS));
	XT_OK(watch(queue, event, 0));
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(event));
	XT_EXPECT(SetEvent(other));
	/* A thread of the system reports the handle, and the queue detects that it is closed. */
	while (xt_stats(queue).registered > 0)
		XT_NONE(queue);
	/* Windows and Wine reuse the lowest free handle. */
	next = make_event(true);
	XT_OK(watch(queue, next, 0));
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(next));
	next = make_event(true);
	XT_OK(watch(queue, next, 0));
	XT_NONE(queue);
	XT_EXPECT(SetEvent(next));
	XT_GETS(queue, &now, nt_ident(next), READ);
	XT_EXPECT(CloseHandle(next));
	XT_EXPECT(CloseHandle(other));
}

XT_TEST(what_was_taken_waits_for_room_and_for_enable)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE events[4];
	struct xpoll_event now;

	for (int i = 0; i < 4; i++) {
		events[i] = make_event(false);
		XT_EXPECT(SetEvent(events[i]));
		XT_OK(watch(queue, events[i], 0));
	}
	XT_EQ(xpoll_event(queue, NULL, 0, &now, 1, 0), 1);
	for (int i = 0; i < 4; i++)
		XT_OK(xt_flag(queue, nt_ident(events[i]), READ, XPOLL_DISABLE));
	XT_NONE(queue);
	for (int i = 0; i < 4; i++)
		XT_OK(xt_flag(queue, nt_ident(events[i]), READ, XPOLL_ENABLE));
	XT_EQ(events_left(queue), 3);
	for (int i = 0; i < 4; i++)
		XT_EXPECT(CloseHandle(events[i]));
}

/* Enables or disables all of them. */
static void switch_all(struct xpoll *queue, const HANDLE *handles, int count, int flags)
{
	for (int i = 0; i < count; i++)
		XT_EXPECT_EQ(xt_flag(queue, nt_ident(handles[i]), READ, flags), 0);
}

/* If another event needs no packet, the queue takes more packets than it has room for. */
XT_TEST(what_was_taken_beside_others_waits_for_room_and_for_enable)
{
	enum { COUNT = 4, EACH = 20 };
	struct xpoll *queue = xt_open_quiet();
	HANDLE semaphores[COUNT];
	struct xpoll_event events[8];
	int delivered = 0;

	for (int i = 0; i < COUNT; i++) {
		semaphores[i] = CreateSemaphoreA(NULL, EACH, 100, NULL);
		XT_OK(watch(queue, semaphores[i], 0));
	}
	for (int round = 0; round < 2 * COUNT * EACH; round++) {
		int room = 2 + round % 5, count;

		XT_OK(xt_change(queue, 4, XPOLL_FILT_USER, XPOLL_ADD | XPOLL_CLEAR,
		                XPOLL_NOTE_TRIGGER, 0, NULL));
		count = xpoll_event(queue, NULL, 0, events, room, 0);
		XT_CHECK(count >= 1);
		for (int i = 0; i < count; i++)
			delivered += events[i].filter == READ;
		if (round % 3)
			continue;
		switch_all(queue, semaphores, COUNT, XPOLL_DISABLE);
		XT_NONE(queue);
		switch_all(queue, semaphores, COUNT, XPOLL_ENABLE);
	}
	XT_EQ(delivered + events_left(queue), COUNT * EACH);
	for (int i = 0; i < COUNT; i++)
		XT_EXPECT(CloseHandle(semaphores[i]));
}

XT_TEST(poll_like_level_has_objects)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE event = make_event(false);
	SOCKET ident = (SOCKET)nt_ident(event);
	xpoll_fd_t fd = 0;
	void *data = NULL;

	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, ident, &fd), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EXPECT(SetEvent(event));
	XT_EQ(xpoll_wait(queue, 20000), 1);
	XT_EXPECT_EQ(xpoll_revents(queue, &data), POLLIN);
	XT_EXPECT(data == &fd);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, ident, NULL), 0);
	XT_EXPECT(CloseHandle(event));
}

XT_TEST(what_cannot_be_waited_for_is_refused)
{
	struct xpoll *queue = xt_open();
	HANDLE here = GetCurrentProcess(), event = make_event(true), deaf;
	HANDLE mutex = CreateMutexA(NULL, FALSE, NULL);
	HANDLE token = NULL;

	XT_CHECK(OpenProcessToken(here, TOKEN_QUERY, &token));
	XT_STATUS(watch(queue, mutex, 0), ENOTSUP);
	XT_STATUS(watch(queue, token, 0), ENOTSUP);
	XT_STATUS(watch(queue, event, XPOLL_CLEAR), ENOTSUP);
	XT_STATUS(xt_change(queue, nt_ident(event), WRITE, XPOLL_ADD, 0, 0, NULL), ENOTSUP);
	XT_STATUS(xt_change(queue, nt_ident(event), READ, XPOLL_ADD, XPOLL_NOTE_LOWAT, 1, NULL),
	          ENOTSUP);
	XT_STATUS(xt_change(queue, nt_ident(event), VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0, NULL),
	          EBADF);
	XT_STATUS(xt_flag(queue, nt_ident(event), READ, XPOLL_DELETE), ENOENT);
	/* A handle without the right to wait, of an event that can still be set by it. */
	XT_CHECK(DuplicateHandle(here, event, here, &deaf, EVENT_MODIFY_STATE, FALSE, 0));
	XT_OK(watch(queue, deaf, XPOLL_ONESHOT));
	XT_EXPECT(CloseHandle(deaf));
	XT_EXPECT(CloseHandle(event));
	XT_EXPECT(CloseHandle(mutex));
	XT_EXPECT(CloseHandle(token));
}
