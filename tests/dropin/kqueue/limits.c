/*
 * Goal: features that Linux lacks or has in another form behave as
 * DIFFERENCES.md says.
 * Method: use each of them.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kit.h"

XT_TEST(what_linux_cannot_do_has_its_answer)
{
	int kq = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM), pipe = xt_pipe();
	struct xt_pair datagrams = xt_socketpair(SOCK_DGRAM);
	struct sockaddr_in address, listens;
	int receiver = xt_udp(&address), sender = xt_socket(AF_INET, SOCK_DGRAM);
	int null = xt_open_path("/dev/null", O_RDWR);
	struct kevent event;

	/*
	 * The kernel reports nothing when a send buffer becomes empty, so edges are not supported.
	 */
	XT_STATUS(kit_add(kq, pair.w, EVFILT_EMPTY, EV_CLEAR), ENOTSUP);
	XT_STATUS(kit_add(kq, xt_listener(&listens), EVFILT_EMPTY, 0), ENOTSUP);
	/* Only aio_read(2) and similar calls make a registration of EVFILT_AIO. */
	XT_STATUS(kit_change(kq, 1, EVFILT_AIO, EV_ADD, 0, 0, NULL), EPERM);
	/* FreeBSD's filters FS, LIO and SENDFILE do not exist here. */
	XT_STATUS(kit_change(kq, 1, -9, EV_ADD, 0, 0, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 1, -10, EV_ADD, 0, 0, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 1, -12, EV_ADD, 0, 0, NULL), EINVAL);
	/* FreeBSD: ENODEV for /dev/null; and it accepts signals of any number. */
	XT_OK(kit_add(kq, null, EVFILT_READ, EV_ONESHOT));
	KIT_GETS(kq, &event, null, EVFILT_READ);
	XT_STATUS(kit_change(kq, 999, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 0, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL), EINVAL);
	/* FreeBSD reports this at once. */
	XT_OK(kit_add(kq, pipe.r, EVFILT_WRITE, 0));
	KIT_NONE(kq);
	XT_OK(kit_flag(kq, pipe.r, EVFILT_WRITE, EV_DELETE));
	/* FreeBSD counts the bytes of all datagrams; here the data is the size of the first one. */
	XT_EQ(sendto(sender, "abc", 3, 0, (struct sockaddr *)&address,
	             sizeof address), 3);
	XT_EQ(sendto(sender, "defgh", 5, 0, (struct sockaddr *)&address,
	             sizeof address), 5);
	XT_CHECK(xt_poll_until(receiver, POLLIN, POLLIN));
	XT_OK(kit_add(kq, receiver, EVFILT_READ, EV_ONESHOT));
	KIT_GETS(kq, &event, receiver, EVFILT_READ);
	XT_EQ(event.data, 3);
	XT_STATUS(kit_change(kq, (uintptr_t)datagrams.r, EVFILT_READ, EV_ADD,
	                     NOTE_LOWAT, 4, NULL), ENOTSUP);
}

XT_TEST(what_linux_does_otherwise_has_its_answer)
{
	int kq = kit_open(), inner = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int count = xt_eventfd();
	int folder = xt_open_path(xt_scratch(), O_RDONLY | O_DIRECTORY);
	uint64_t five = 5;
	struct kevent event;

	xt_close(xt_make("one", ""));
	/* FreeBSD's data is the value of the counter; here it is 1. */
	if (count >= 0) {
		XT_EQ(write(count, &five, sizeof five), sizeof five);
		XT_OK(kit_add(kq, count, EVFILT_READ, EV_ONESHOT));
		KIT_GETS(kq, &event, count, EVFILT_READ);
		XT_EQ(event.data, 1);
	}
	XT_OK(kit_change(inner, 1, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL));
	XT_OK(kit_change(inner, 2, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL));
	XT_OK(kit_add(kq, inner, EVFILT_READ, EV_ONESHOT));
	KIT_GETS(kq, &event, inner, EVFILT_READ);
	XT_EQ(event.data, 1);
	XT_OK(kit_change(kq, (uintptr_t)folder, EVFILT_VNODE, EV_ADD,
	                 NOTE_WRITE | NOTE_EXTEND, 0, NULL));
	XT_EQ(rename(xt_name("one"), xt_name("other")), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE);
	/* FreeBSD delivers this again and again without EV_CLEAR. */
	KIT_NONE(kq);
	XT_OK(kit_flag(kq, folder, EVFILT_VNODE, EV_DELETE));
	/* FreeBSD: neither of these changes triggers the event. */
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_USER);
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_CLEAR, NOTE_TRIGGER, 0, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_USER);
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_DELETE, 0, 0, NULL));
	/* FreeBSD: EINVAL. */
	XT_STATUS(kit_add(kq, xt_dup(kq), EVFILT_READ, 0), ELOOP);
	/* FreeBSD sets EV_EOF. */
	XT_EQ(shutdown(pair.w, SHUT_WR), 0);
	XT_OK(kit_add(kq, pair.w, EVFILT_WRITE, EV_ONESHOT));
	KIT_GETS(kq, &event, pair.w, EVFILT_WRITE);
	XT_EQ(event.flags & EV_EOF, 0);
}

/* FreeBSD's manual says that ignored SIGCHLDs are not recorded. */
XT_TEST(sigchld_is_counted_though_it_is_ignored)
{
	int kq = kit_open();
	struct kevent event;
	pid_t child;

	signal(SIGCHLD, SIG_IGN);
	XT_OK(kit_change(kq, SIGCHLD, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	child = fork();
	if (child == 0)
		_exit(0);
	XT_CHECK(child > 0);
	KIT_GETS(kq, &event, SIGCHLD, EVFILT_SIGNAL);
	XT_EQ(event.data, 1);
	XT_FAILS(waitpid(child, NULL, 0), ECHILD);
	XT_OK(kit_change(kq, SIGCHLD, EVFILT_SIGNAL, EV_DELETE, 0, 0, NULL));
	signal(SIGCHLD, SIG_DFL);
}

static void handle_nothing(int number)
{
	(void)number;
}

/* FreeBSD reports each attempt to send, whatever the action is. */
XT_TEST(signal_blocked_for_good_is_reported_each_time)
{
	void (*const actions[])(int) = {SIG_IGN, SIG_DFL, handle_nothing};
	int kq = kit_open();
	struct kevent event;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 9; i++) {
		signal(SIGTERM, actions[i % 3]);
		XT_OK(kit_change(kq, SIGTERM, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
		XT_EQ(raise(SIGTERM), 0);
		KIT_GETS(kq, &event, SIGTERM, EVFILT_SIGNAL);
		XT_EQ(event.data, 1);
		XT_EQ(event.fflags, 0);
		XT_EQ(raise(SIGTERM), 0);
		KIT_GETS(kq, &event, SIGTERM, EVFILT_SIGNAL);
		XT_EQ(event.data, 1);
	}
	XT_OK(kit_change(kq, SIGTERM, EVFILT_SIGNAL, EV_DELETE, 0, 0, NULL));
	signal(SIGTERM, SIG_IGN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGTERM, SIG_DFL);
}

/* FreeBSD: `fflags` and `data` are replaced by those of the change, whatever the filter is. */
XT_TEST(changes_without_add_alter_notes_only)
{
	const int flags[] = {0, EV_ENABLE, EV_KEEPUDATA | EV_ENABLE};
	struct xt_pair pipe = xt_pipe();
	int kq = kit_open();
	int file = xt_make("altered", "");
	struct kevent event;

	xt_put(pipe.w);
	for (int i = 0; i < 3; i++) {
		XT_OK(kit_change(kq, (uintptr_t)pipe.r, EVFILT_READ,
		                 EV_ADD | EV_ONESHOT, 0, 0, NULL));
		XT_OK(kit_change(kq, (uintptr_t)pipe.r, EVFILT_READ, flags[i],
		                 NOTE_LOWAT, 100, NULL));
		KIT_GETS(kq, &event, pipe.r, EVFILT_READ);
		/* Another change leaves the running timer as it is. */
		XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600,
		                 NULL));
		XT_OK(kit_change(kq, 1, EVFILT_TIMER, flags[i], NOTE_NSECONDS, 1,
		                 NULL));
		KIT_NONE(kq);
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_ADD,
		                 NOTE_WRITE | NOTE_ATTRIB, 0, &kq));
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, flags[i],
		                 NOTE_WRITE, 0, &file));
		XT_EQ(fchmod(file, i % 2 ? 0600 : 0640), 0);
		KIT_NONE(kq);
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, flags[i], 0, 0,
		                 &file));
		XT_EQ(write(file, "a", 1), 1);
		KIT_GETS(kq, &event, file, EVFILT_VNODE);
		XT_EQ(event.fflags & ~(unsigned)NOTE_EXTEND, NOTE_WRITE);
		XT_CHECK(event.udata == (i == 2 ? &kq : &file));
		/* A change with EV_DISABLE does not enable the registration either. */
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_DISABLE,
		                 NOTE_ATTRIB, 0, NULL));
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, 0, 0, 0, NULL));
		XT_EQ(fchmod(file, 0644), 0);
		KIT_NONE(kq);
		XT_OK(kit_flag(kq, file, EVFILT_VNODE, EV_ENABLE));
		KIT_GETS(kq, &event, file, EVFILT_VNODE);
		XT_EQ(event.fflags, NOTE_ATTRIB);
	}
}

/* --- Invalid changes, and limits ------------------------------------------------- */

XT_TEST(notes_that_there_are_not_and_filters_that_a_queue_has_not)
{
	int kq = kit_open(), other = kit_open();
	int file = xt_make("file", "some text");
	struct kevent event;

	/* FreeBSD accepts units and NOTE_ABSTIME, but only one unit at a time. */
	XT_STATUS(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, 0x20, 1, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, 0x100, 1, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 1, EVFILT_TIMER, EV_ADD,
	                     NOTE_SECONDS | NOTE_USECONDS, 1, NULL), EINVAL);
	XT_STATUS(kit_change(kq, 1, EVFILT_TIMER, EV_DELETE, 0, 0, NULL), ENOENT);
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600, NULL));
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_DISABLE, 0x100, 0, NULL));
	/* Bits of USER that mean nothing are ignored. */
	XT_OK(kit_change(kq, 2, EVFILT_USER, EV_ADD | EV_CLEAR,
	                 0x0e000000 | NOTE_FFCOPY | 5, 0, NULL));
	KIT_NONE(kq);
	XT_OK(kit_change(kq, 2, EVFILT_USER, 0, 0x0f000000 | NOTE_FFOR | 2, 0,
	                 NULL));
	KIT_GETS(kq, &event, 2, EVFILT_USER);
	XT_EQ(event.fflags, 7);
	XT_OK(kit_change(kq, 2, EVFILT_USER, 0, 0x0e000000, 0, NULL));
	KIT_NONE(kq);
	/* A queue can be read only. */
	XT_STATUS(kit_add(kq, other, EVFILT_WRITE, 0), EINVAL);
	XT_STATUS(kit_add(kq, kq, EVFILT_WRITE, 0), EINVAL);
	XT_STATUS(kit_add(kq, other, EVFILT_VNODE, 0), EINVAL);
	XT_OK(kit_add(kq, other, EVFILT_READ, 0));
	/* A file is always writable, and the event has no count. */
	XT_OK(kit_add(kq, file, EVFILT_WRITE, 0));
	KIT_GETS(kq, &event, file, EVFILT_WRITE);
	XT_EQ(event.data, 0);
}

static int notes_of_one_event(int kq)
{
	struct kevent event;

	return kit_look(kq, &event, 1) == 1 ? (int)event.fflags : 0;
}

XT_TEST(vnode_reports_no_read_at_the_end_and_sizes_as_writes)
{
	int kq = kit_open();
	int file = xt_make("ends", "text");
	char byte;

	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_READ | NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB, 0, NULL));
	XT_EQ(pread(file, &byte, 1, 0), 1);
	XT_EQ(notes_of_one_event(kq), NOTE_READ);
	XT_EQ(pread(file, &byte, 1, 4), 0);
	XT_EQ(notes_of_one_event(kq), 0);
	XT_EQ(ftruncate(file, 2), 0);
	XT_EQ(notes_of_one_event(kq), NOTE_WRITE);
	if (posix_fallocate(file, 0, 100) == 0)
		XT_EQ(notes_of_one_event(kq), NOTE_WRITE | NOTE_EXTEND);
}

/*
 * The kernel counts the epoll sets through which a file wakes waiters; a queue's set is inside
 * another one.
 */
XT_TEST(duplicates_of_one_file_beyond_five_hundred_are_refused)
{
	enum { ACCEPTED = 500 };
	struct xt_pair pipe = xt_ready_pair();
	int kq = kit_open();
	struct kevent events[ACCEPTED + 1];
	int first = -1;

	for (int i = 0; i < ACCEPTED; i++) {
		int fd = xt_keep(dup(pipe.r));

		if (fd < 0)
			XT_SKIP("too few descriptors here");
		first = first < 0 ? fd : first;
		XT_OK(kit_add(kq, fd, EVFILT_READ, 0));
	}
	XT_STATUS(kit_add(kq, xt_keep(dup(pipe.r)), EVFILT_READ, 0), EINVAL);
	XT_EQ(kit_look(kq, events, ACCEPTED + 1), ACCEPTED);
	XT_OK(kit_flag(kq, first, EVFILT_READ, EV_DELETE));
	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
	XT_OK(kit_add(kq, xt_ready_pair().r, EVFILT_READ, 0));
	XT_EQ(kit_look(kq, events, ACCEPTED + 1), ACCEPTED + 1);
}

/* --- A count that is larger than the array ---------------------------------------- */

static struct kevent *at_the_end_of_a_page(int places)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) < 0)
		return NULL;
	return (struct kevent *)(void *)(memory + page) - places;
}

XT_TEST(events_are_written_where_there_are_events_and_nowhere_else)
{
	int kq = kit_open();
	struct kevent *events = at_the_end_of_a_page(3);

	XT_CHECK(events);
	for (uintptr_t i = 1; i <= 3; i++)
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_ADD, NOTE_TRIGGER,
		                 (intptr_t)i, (void *)(i * 100)));
	XT_EQ(kit_look(kq, events, 1000), 3);
	for (uintptr_t i = 1, seen = 0; i <= 3; i++) {
		uintptr_t ident = events[i - 1].ident;

		XT_CHECK(ident >= 1 && ident <= 3 && !(seen >> ident & 1));
		seen |= (uintptr_t)1 << ident;
		XT_EQ(events[i - 1].filter, EVFILT_USER);
		XT_EQ(events[i - 1].data, (int64_t)ident);
		XT_EQ((uintptr_t)events[i - 1].udata, ident * 100);
		XT_EQ(events[i - 1].ext[0], 0);
	}
}

XT_TEST(many_events_keep_their_order_and_their_fields)
{
	enum { COUNT = 200 };
	int kq = kit_open();
	struct kevent events[1000];

	for (uintptr_t i = 0; i < COUNT; i++)
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_ADD | EV_CLEAR,
		                 (unsigned)i | NOTE_FFCOPY | NOTE_TRIGGER, 0,
		                 (void *)(i + 1)));
	XT_EQ(kit_look(kq, events, 1000), COUNT);
	for (uintptr_t i = 0; i < COUNT; i++) {
		XT_EQ(events[i].ident, i);
		XT_EQ(events[i].fflags, i);
		XT_EQ((uintptr_t)events[i].udata, i + 1);
	}
	KIT_NONE(kq);
}
