/*
 * Goal: READ of pipes and consoles on Windows: the filter is ready while there
 * is something to read, and at the end; requests that cannot be reported are
 * refused.
 * Method: pipes of the test; PeekNamedPipe and ReadFile are the oracles.
 */
#include "nt_kit.h"

struct ends {
	HANDLE r;
	HANDLE w;
};

static struct ends make_pipe(void)
{
	struct ends pipe = {NULL, NULL};

	XT_EXPECT(CreatePipe(&pipe.r, &pipe.w, NULL, 0));
	return pipe;
}

static void put(HANDLE w, const char *text)
{
	DWORD size;

	XT_EXPECT(WriteFile(w, text, (DWORD)strlen(text), &size, NULL));
}

static void get(HANDLE r, DWORD wanted)
{
	char text[64];
	DWORD size = 0;

	XT_EXPECT(ReadFile(r, text, wanted, &size, NULL));
	XT_EXPECT_EQ(size, wanted);
}

static int watch(struct xpoll *queue, HANDLE handle, int filter, int flags,
                 uint32_t notes)
{
	return xt_change(queue, nt_ident(handle), filter, XPOLL_ADD | flags,
	                 notes, 0, NULL);
}

XT_TEST(pipe_is_ready_while_there_is_something)
{
	struct xpoll *queue = xt_open();
	struct ends pipe = make_pipe();
	struct xpoll_event event;

	XT_OK(watch(queue, pipe.r, READ, 0, XPOLL_NOTE_COUNT));
	XT_NONE(queue);
	put(pipe.w, "seven..");
	for (int i = 0; i < 2; i++) {
		XT_GETS(queue, &event, nt_ident(pipe.r), READ);
		XT_EXPECT_EQ(event.data, 7);
		XT_EXPECT_EQ(event.flags, 0);
	}
	get(pipe.r, 7);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(pipe.r), READ, XPOLL_DISABLE));
	put(pipe.w, "more");
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(pipe.r), READ, XPOLL_ENABLE));
	XT_GETS(queue, &event, nt_ident(pipe.r), READ);
	XT_OK(xt_flag(queue, nt_ident(pipe.r), READ, XPOLL_DELETE));
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, nt_ident(pipe.r), READ, XPOLL_DELETE), ENOENT);
	XT_EXPECT(CloseHandle(pipe.r));
	XT_EXPECT(CloseHandle(pipe.w));
	XT_STATUS(xt_flag(queue, nt_ident(pipe.r), READ, XPOLL_DELETE), EBADF);
}

XT_TEST(end_of_a_pipe_is_eof_after_the_data)
{
	struct xpoll *queue = xt_open();
	struct ends pipe = make_pipe();
	struct xpoll_event event;

	XT_OK(watch(queue, pipe.r, READ, 0, 0));
	put(pipe.w, "last");
	XT_EXPECT(CloseHandle(pipe.w));
	XT_GETS(queue, &event, nt_ident(pipe.r), READ);
	get(pipe.r, 4);
	XT_GETS(queue, &event, nt_ident(pipe.r), READ);
	XT_EXPECT_EQ(event.flags, XPOLL_EOF);
	XT_OK(xpoll_close_fd((SOCKET)nt_ident(pipe.r)));
	XT_NONE(queue);
	XT_EXPECT_EQ(xt_stats(queue).registered > 0, xt_threads);
}

static void put_later(void *w)
{
	put(w, "x");
}

XT_TEST(write_ends_a_wait_that_is_under_way)
{
	struct xpoll *queue = xt_open();
	struct ends pipe = make_pipe();
	struct xpoll_event event;

	XT_OK(watch(queue, pipe.r, READ, XPOLL_ONESHOT, 0));
	xt_join(xt_start(put_later, pipe.w));
	XT_GETS(queue, &event, nt_ident(pipe.r), READ);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(pipe.r));
	XT_EXPECT(CloseHandle(pipe.w));
}

XT_TEST(add_during_a_wait_takes_effect)
{
	struct xt_sleeper sleeper = {.queue = xt_open_quiet(), .timeout_ns = XT_SOON};
	struct ends pipe = make_pipe();
	struct xt_thread *thread = xt_start(xt_sleep, &sleeper);

	xt_asleep(thread);
	XT_OK(watch(sleeper.queue, pipe.r, READ, XPOLL_DISPATCH, 0));
	put(pipe.w, "x");
	xt_join(thread);
	XT_EQ(sleeper.rc, 1);
	XT_EXPECT_EQ(sleeper.event.ident, nt_ident(pipe.r));
	XT_EXPECT(CloseHandle(pipe.r));
	XT_EXPECT(CloseHandle(pipe.w));
}

XT_TEST(pipes_and_sockets_take_turns)
{
	struct xpoll *queue = xt_open_quiet();
	struct ends pipes[3];
	struct xt_pair pair = xt_tcp();
	int told[4] = {0};
	struct xpoll_event event;

	for (int i = 0; i < 3; i++) {
		pipes[i] = make_pipe();
		put(pipes[i].w, "x");
		XT_OK(watch(queue, pipes[i].r, READ, 0, 0));
	}
	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	(void)xt_poll_until(pair.r, POLLIN, POLLIN);
	for (int i = 0; i < 40; i++) {
		int which = 3;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		for (int k = 0; k < 3; k++)
			if (event.ident == nt_ident(pipes[k].r))
				which = k;
		told[which]++;
	}
	/* Again and again, not in the first wait only. */
	for (int i = 0; i < 4; i++)
		XT_EXPECT(told[i] > 2);
	for (int i = 0; i < 3; i++) {
		XT_EXPECT(CloseHandle(pipes[i].r));
		XT_EXPECT(CloseHandle(pipes[i].w));
	}
}

XT_TEST(what_cannot_be_told_is_refused)
{
	struct xpoll *queue = xt_open();
	struct ends pipe = make_pipe();
	struct xpoll_event now;

	XT_STATUS(watch(queue, pipe.w, WRITE, 0, 0), ENOTSUP);
	XT_STATUS(watch(queue, pipe.r, READ, XPOLL_CLEAR, 0), ENOTSUP);
	XT_FAILS(xpoll_lookup(queue, nt_ident(pipe.r), READ, &now), ENOENT);
	XT_STATUS(watch(queue, pipe.w, READ, 0, 0), EBADF);
	XT_OK(watch(queue, pipe.r, READ, 0, 0));
	XT_STATUS(watch(queue, pipe.r, WRITE, 0, 0), ENOTSUP);
	put(pipe.w, "x");
	XT_GETS(queue, &now, nt_ident(pipe.r), READ);
	XT_EXPECT(CloseHandle(pipe.r));
	XT_EXPECT(CloseHandle(pipe.w));
}

XT_TEST(named_pipe_is_silent_until_somebody_writes)
{
	struct xpoll *queue = xt_open();
	struct ends pipe;
	struct xpoll_event event;
	char name[64];

	(void)snprintf(name, sizeof name, "\\\\.\\pipe\\xpoll-%lu",
	               (unsigned long)GetCurrentProcessId());
	pipe.r = CreateNamedPipeA(name, PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED,
	                          PIPE_TYPE_BYTE, 1, 4096, 4096, 0, NULL);
	XT_CHECK(pipe.r != INVALID_HANDLE_VALUE);
	XT_OK(watch(queue, pipe.r, READ, 0, 0));
	XT_NONE(queue);
	pipe.w = CreateFileA(name, GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
	XT_CHECK(pipe.w != INVALID_HANDLE_VALUE);
	XT_NONE(queue);
	put(pipe.w, "x");
	XT_GETS(queue, &event, nt_ident(pipe.r), READ);
	XT_EXPECT(CloseHandle(pipe.r));
	XT_EXPECT(CloseHandle(pipe.w));
}

XT_TEST(console_is_ready_while_there_is_input)
{
	struct xpoll *queue = xt_open();
	INPUT_RECORD key = {
		.EventType = KEY_EVENT,
		.Event.KeyEvent = {.bKeyDown = TRUE, .wRepeatCount = 1,
		                   .uChar.AsciiChar = 'x'},
	};
	HANDLE input;
	struct xpoll_event event;
	DWORD count;

	/* Use a console of the test's own. */
	(void)FreeConsole();
	(void)AllocConsole();
	input = CreateFileA("CONIN$", GENERIC_READ | GENERIC_WRITE,
	                    FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
	                    OPEN_EXISTING, 0, NULL);
	if (input == INVALID_HANDLE_VALUE || !FlushConsoleInputBuffer(input))
		XT_SKIP("no console can be had here");
	XT_OK(watch(queue, input, READ, 0, 0));
	XT_NONE(queue);
	XT_EXPECT(WriteConsoleInputA(input, &key, 1, &count));
	XT_GETS(queue, &event, nt_ident(input), READ);
	XT_EXPECT(ReadConsoleInputA(input, &key, 1, &count));
	XT_NONE(queue);
	XT_STATUS(watch(queue, input, READ, XPOLL_CLEAR, 0), ENOTSUP);
	XT_OK(xt_flag(queue, nt_ident(input), READ, XPOLL_DELETE));
	XT_EXPECT(CloseHandle(input));
}
