/*
 * Goal: SIGNAL on Windows (S21): console events are counted as signals, and
 * have the same effects as before.
 * Method: the test sends events to its own console, and has a handler of its
 * own.
 */
#include "nt_kit.h"

#include <signal.h>

#define SIGNAL XPOLL_FILT_SIGNAL

static atomic_int handled;

/* The program's handler, which keeps the process alive. */
static BOOL WINAPI on_event(DWORD event)
{
	(void)event;
	atomic_fetch_add(&handled, 1);
	return TRUE;
}

static int observe(struct xpoll *queue, int number)
{
	return xt_change(queue, (uint64_t)number, SIGNAL, XPOLL_ADD, 0, 0, NULL);
}

/* Make a console for the test, so that its events reach no other process. */
static bool have_console(void)
{
	(void)FreeConsole();
	return AllocConsole() && SetConsoleCtrlHandler(NULL, FALSE);
}

#define CONSOLE_OR_SKIP()                                    \
	do {                                                 \
		if (!have_console())                         \
			XT_SKIP("no console can be had here"); \
	} while (0)

#define SEND(event)                                                  \
	do {                                                         \
		if (!GenerateConsoleCtrlEvent((event), 0))           \
			XT_SKIP("no console can be had here");       \
	} while (0)

#define GETS(queue, number, count)                             \
	do {                                                   \
		struct xpoll_event gets_;                      \
		XT_GETS((queue), &gets_, (number), SIGNAL);    \
		XT_EXPECT_EQ(gets_.data, (count));             \
		XT_EXPECT_EQ(gets_.flags, 0);                  \
	} while (0)

XT_TEST(console_events_are_counted_and_go_on_to_the_program)
{
	struct xpoll *queue = xt_open();

	CONSOLE_OR_SKIP();
	atomic_store(&handled, 0);
	XT_EXPECT(SetConsoleCtrlHandler(on_event, TRUE));
	XT_OK(observe(queue, SIGINT));
	XT_NONE(queue);
	SEND(CTRL_C_EVENT);
	GETS(queue, SIGINT, 1);
	xt_until(&handled, 1);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, SIGINT, SIGNAL, XPOLL_DELETE));
	SEND(CTRL_C_EVENT);
	xt_until(&handled, 2);
	XT_NONE(queue);
	XT_EXPECT(SetConsoleCtrlHandler(on_event, FALSE));
}

XT_TEST(ctrl_break_is_a_signal_of_its_own)
{
	struct xpoll *queue = xt_open();

	CONSOLE_OR_SKIP();
	XT_EXPECT(SetConsoleCtrlHandler(on_event, TRUE));
	XT_OK(observe(queue, SIGINT));
	XT_OK(observe(queue, SIGBREAK));
	if (GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, 0))
		GETS(queue, SIGBREAK, 1);
	else
		xt_skip("Wine sends no Ctrl-Break");
	XT_EXPECT(SetConsoleCtrlHandler(on_event, FALSE));
}

/* As on other systems, the C library's SIG_IGN is set before the registration. */
XT_TEST(ignored_signal_is_counted_and_still_ignored)
{
	struct xpoll *queue = xt_open();

	CONSOLE_OR_SKIP();
	(void)signal(SIGINT, SIG_IGN);
	XT_OK(observe(queue, SIGINT));
	SEND(CTRL_C_EVENT);
	GETS(queue, SIGINT, 1);
	SEND(CTRL_C_EVENT);
	GETS(queue, SIGINT, 1);
	(void)signal(SIGINT, SIG_DFL);
}

/*
 * A handler that the program installs later gets the events first; another ADD puts the library's
 * in front again.
 */
XT_TEST(add_again_goes_in_front_of_the_program)
{
	struct xpoll *queue = xt_open();

	CONSOLE_OR_SKIP();
	atomic_store(&handled, 0);
	XT_OK(observe(queue, SIGINT));
	XT_EXPECT(SetConsoleCtrlHandler(on_event, TRUE));
	SEND(CTRL_C_EVENT);
	xt_until(&handled, 1);
	XT_NONE(queue);
	XT_OK(observe(queue, SIGINT));
	SEND(CTRL_C_EVENT);
	GETS(queue, SIGINT, 1);
	xt_until(&handled, 2);
	XT_EXPECT(SetConsoleCtrlHandler(on_event, FALSE));
}

XT_TEST(every_queue_is_told)
{
	struct xpoll *queues[2] = {xt_open(), xt_open_quiet()};

	CONSOLE_OR_SKIP();
	XT_EXPECT(SetConsoleCtrlHandler(on_event, TRUE));
	for (int i = 0; i < 2; i++)
		XT_OK(observe(queues[i], SIGINT));
	SEND(CTRL_C_EVENT);
	for (int i = 0; i < 2; i++)
		GETS(queues[i], SIGINT, 1);
	XT_EXPECT(SetConsoleCtrlHandler(on_event, FALSE));
}

XT_TEST(other_numbers_are_refused)
{
	struct xpoll *queue = xt_open();

	XT_STATUS(observe(queue, 0), EINVAL);
	XT_STATUS(observe(queue, 99), EINVAL);
	XT_STATUS(observe(queue, SIGSEGV), ENOTSUP);
	XT_STATUS(observe(queue, SIGABRT), ENOTSUP);
	XT_OK(observe(queue, SIGTERM));
	XT_OK(xt_flag(queue, SIGTERM, SIGNAL, XPOLL_DELETE));
	XT_NONE(queue);
}
