/*
 * Goal: kevent(2) returns what FreeBSD's kernel returns where its manual says
 * nothing.
 * Method: each case was measured on FreeBSD 12.3 or read in its kernel.
 */
#include <stdlib.h>
#include <termios.h>

#include "kit.h"

/* A combination of these flags was once passed on as EV_ENABLE with EV_DISABLE. */
XT_TEST(changes_of_what_is_not_registered_are_enoent)
{
	const int flags[] = {EV_DISABLE, EV_ENABLE, EV_DELETE, 0,
	                     EV_DISABLE | EV_CLEAR, EV_DISABLE | EV_KEEPUDATA};
	int kq = kit_open(), file = xt_make("file", "");

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		XT_STATUS(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, flags[i],
		                     NOTE_WRITE, 0, NULL), ENOENT);
		XT_STATUS(kit_change(kq, (uintptr_t)getpid(), EVFILT_PROC, flags[i],
		                     NOTE_EXIT, 0, NULL), ENOENT);
		XT_STATUS(kit_change(kq, 1, EVFILT_USER, flags[i],
		                     NOTE_FFOR | 1, 0, NULL), ENOENT);
		XT_STATUS(kit_change(kq, 1, EVFILT_TIMER, flags[i], NOTE_SECONDS, 1,
		                     NULL), ENOENT);
		XT_STATUS(kit_change(kq, (uintptr_t)file, EVFILT_READ, flags[i],
		                     NOTE_LOWAT, 1, NULL), ENOENT);
	}
}

/* A change without EV_ADD alters the notes, but not the modes. */
XT_TEST(modes_are_those_of_ev_add)
{
	int kq = kit_open(), file = xt_make("file", "text");
	struct kevent event;

	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_ATTRIB, 0, NULL));
	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE,
	                 EV_ENABLE | EV_DISPATCH | EV_ONESHOT, NOTE_WRITE, 0, NULL));
	for (int i = 0; i < 2; i++) {
		XT_EQ(pwrite(file, "x", 1, 0), 1);
		KIT_GETS(kq, &event, file, EVFILT_VNODE);
		XT_EQ(event.flags, EV_CLEAR);
	}
}

XT_TEST(user_keeps_the_flags_that_it_was_made_with)
{
	const unsigned controls[] = {NOTE_FFNOP, NOTE_FFAND, NOTE_FFOR, NOTE_FFCOPY};
	int kq = kit_open();
	struct kevent event;

	for (uintptr_t i = 0; i < 4; i++) {
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_ADD | EV_CLEAR,
		                 controls[i] | 5, 7, NULL));
		XT_OK(kit_change(kq, i, EVFILT_USER, 0, NOTE_TRIGGER, 8, NULL));
		KIT_GETS(kq, &event, i, EVFILT_USER);
		XT_EQ(event.fflags, 5);
		XT_EQ(event.data, 8);
		/* Another EV_ADD combines its bits with those of the registration. */
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_ADD, controls[i] | 6, 0, NULL));
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_DISABLE, 0, 3, NULL));
		XT_OK(kit_change(kq, i, EVFILT_USER, EV_ENABLE, NOTE_TRIGGER, 9, NULL));
		KIT_GETS(kq, &event, i, EVFILT_USER);
		XT_EQ(event.fflags, i == 0 ? 5 : i == 1 ? 4 : i == 2 ? 7 : 6);
		XT_EQ(event.data, 9);
	}
	/* Every change stores its data, whatever its action. */
	XT_OK(kit_change(kq, 0, EVFILT_USER, EV_DISABLE, NOTE_TRIGGER, 4, NULL));
	XT_OK(kit_change(kq, 0, EVFILT_USER, EV_ENABLE, 0, 2, NULL));
	KIT_GETS(kq, &event, 0, EVFILT_USER);
	XT_EQ(event.data, 2);
}

XT_TEST(user_with_oneshot_has_neither_flags_nor_data)
{
	int kq = kit_open();
	struct kevent event;

	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD | EV_ONESHOT, NOTE_FFCOPY | 5, 6,
	                 &kq));
	XT_OK(kit_change(kq, 1, EVFILT_USER, 0, NOTE_TRIGGER | NOTE_FFOR | 2, 7, &kq));
	KIT_GETS(kq, &event, 1, EVFILT_USER);
	XT_EQ(event.fflags, 0);
	XT_EQ(event.data, 0);
	XT_CHECK(event.udata == &kq);
	XT_EQ(event.flags, EV_ONESHOT);
	XT_STATUS(kit_flag(kq, 1, EVFILT_USER, EV_ENABLE), ENOENT);
}

/* The kernel changes the record while it makes the change, and returns it like that. */
XT_TEST(receipts_have_the_fflags_that_are_left)
{
	int kq = kit_open(), file = xt_make("file", "");
	struct kevent changes[4];

	EV_SET(&changes[0], 1, EVFILT_USER, EV_ADD | EV_RECEIPT, NOTE_FFOR | 5, 0, NULL);
	EV_SET(&changes[1], 1, EVFILT_USER, EV_RECEIPT, NOTE_FFOR | NOTE_TRIGGER | 2, 0,
	       NULL);
	EV_SET(&changes[2], file, EVFILT_VNODE, EV_ADD | EV_RECEIPT, NOTE_WRITE, 0, NULL);
	EV_SET(&changes[3], file, EVFILT_VNODE, EV_ADD | EV_RECEIPT, NOTE_WRITE, 0, NULL);
	XT_EQ(kevent(kq, changes, 4, changes, 4, NULL), 4);
	XT_EQ(changes[0].fflags, 0);
	XT_EQ(changes[1].fflags, 2);
	XT_EQ(changes[2].fflags, 0);
	XT_EQ(changes[3].fflags, NOTE_WRITE);
	for (int i = 0; i < 4; i++)
		XT_CHECK(changes[i].flags == EV_ERROR && changes[i].data == 0);
	/*
	 * In FreeBSD an EV_ADD of PROC moves the fflags into the registration before it fails, so
	 * the status has none.
	 */
	EV_SET(&changes[0], 0x7ffffff0, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	EV_SET(&changes[1], 999999, EVFILT_READ, EV_ADD, NOTE_LOWAT, 5, NULL);
	XT_EQ(kevent(kq, changes, 2, changes, 2, NULL), 2);
	XT_CHECK(changes[0].data == ESRCH && changes[0].fflags == 0);
	XT_CHECK(changes[1].data == EBADF && changes[1].fflags == NOTE_LOWAT);
}

XT_TEST(write_that_is_registered_survives_an_add_without_readers)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	XT_OK(kit_add(kq, pipe.w, EVFILT_WRITE, EV_DISABLE));
	xt_close(pipe.r);
	XT_OK(kit_add(kq, pipe.w, EVFILT_WRITE, EV_ENABLE));
	KIT_GETS(kq, &event, pipe.w, EVFILT_WRITE);
	XT_EQ(event.flags, EV_EOF | EV_ONESHOT);
	XT_STATUS(kit_flag(kq, pipe.w, EVFILT_WRITE, EV_ENABLE), ENOENT);
	XT_STATUS(kit_add(kq, pipe.w, EVFILT_WRITE, 0), EPIPE);
}

/* libdispatch sets a low-water mark of 1 for each source. */
XT_TEST(low_water_mark_is_for_sockets)
{
	int kq = kit_open(), file = xt_make("file", "text"), inner = kit_open();
	struct xt_pair pipe = xt_pipe(), stream = xt_socketpair(SOCK_STREAM);
	struct xt_pair datagrams = xt_socketpair(SOCK_DGRAM);
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct kevent event;

	XT_EQ(lseek(file, 0, SEEK_SET), 0);
	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_READ, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 1000, NULL));
	KIT_GETS(kq, &event, file, EVFILT_READ);
	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_WRITE, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 1, NULL));
	KIT_GETS(kq, &event, file, EVFILT_WRITE);
	xt_put(pipe.w);
	XT_OK(kit_change(kq, (uintptr_t)pipe.r, EVFILT_READ, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 1000, NULL));
	KIT_GETS(kq, &event, pipe.r, EVFILT_READ);
	XT_OK(kit_change(kq, (uintptr_t)inner, EVFILT_READ, EV_ADD, NOTE_LOWAT, 1, NULL));
	if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0) {
		XT_OK(kit_change(kq, (uintptr_t)terminal, EVFILT_WRITE,
		                 EV_ADD | EV_ONESHOT, NOTE_LOWAT, 1, NULL));
		KIT_GETS(kq, &event, terminal, EVFILT_WRITE);
		close(terminal);
	}
	XT_OK(kit_change(kq, (uintptr_t)datagrams.r, EVFILT_READ, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 1, NULL));
	xt_put(datagrams.w);
	KIT_GETS(kq, &event, datagrams.r, EVFILT_READ);
	XT_OK(kit_change(kq, (uintptr_t)datagrams.w, EVFILT_WRITE, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 1, NULL));
	KIT_GETS(kq, &event, datagrams.w, EVFILT_WRITE);
	XT_OK(kit_change(kq, (uintptr_t)stream.r, EVFILT_READ, EV_ADD | EV_ONESHOT,
	                 NOTE_LOWAT, 2, NULL));
	xt_put(stream.w);
	KIT_NONE(kq);
	xt_put(stream.w);
	KIT_GETS(kq, &event, stream.r, EVFILT_READ);
}

/* A flag that changes what is delivered, and that the drop-in does not support, is refused. */
XT_TEST(flags_that_are_not_served_are_einval)
{
	int kq = kit_open(), file = xt_make("file", "text");
	struct xt_pair pipe = xt_pipe();

	/* The first EV_ADD ignores the flag, like FreeBSD's. */
	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT));
	XT_STATUS(kit_add(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT), EINVAL);
	XT_STATUS(kit_flag(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT), EINVAL);
	XT_STATUS(kit_flag(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT | EV_ENABLE), EINVAL);
	XT_OK(kit_flag(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT | EV_DELETE));
	XT_STATUS(kit_flag(kq, pipe.r, EVFILT_READ, EV_FORCEONESHOT), ENOENT);
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD, 0, 0, NULL));
	XT_STATUS(kit_flag(kq, 1, EVFILT_USER, EV_FORCEONESHOT), EINVAL);
	XT_STATUS(kit_change(kq, (uintptr_t)file, EVFILT_READ, EV_ADD, NOTE_FILE_POLL, 0,
	                     NULL), EINVAL);
	/* For descriptors other than files the note has no effect. */
	XT_OK(kit_change(kq, (uintptr_t)pipe.r, EVFILT_READ, EV_ADD, NOTE_FILE_POLL, 0,
	                 NULL));
	KIT_NONE(kq);
}

XT_TEST(timer_at_a_moment_has_no_ev_clear)
{
	int kq = kit_open();
	struct kevent event;

	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_ABSTIME, 1, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_EQ(event.flags, 0);
	XT_OK(kit_change(kq, 2, EVFILT_TIMER, EV_ADD | EV_CLEAR, NOTE_ABSTIME, 1, NULL));
	KIT_GETS(kq, &event, 2, EVFILT_TIMER);
	XT_EQ(event.flags, EV_CLEAR);
	XT_OK(kit_change(kq, 3, EVFILT_TIMER, EV_ADD, NOTE_NSECONDS, 1, NULL));
	KIT_GETS(kq, &event, 3, EVFILT_TIMER);
	XT_EQ(event.flags, EV_CLEAR);
}

XT_TEST(terminal_that_has_hung_up_has_no_data)
{
	int kq = kit_open();
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	struct kevent event;

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0)
		XT_SKIP("no pseudo-terminal here");
	XT_OK(kit_add(kq, slave, EVFILT_READ, 0));
	XT_EQ(write(master, "a\n", 2), 2);
	KIT_GETS(kq, &event, slave, EVFILT_READ);
	XT_EQ(event.data, 2);
	close(master);
	KIT_GETS(kq, &event, slave, EVFILT_READ);
	XT_EQ(event.flags, EV_EOF);
	XT_EQ(event.data, 0);
	close(slave);
}
