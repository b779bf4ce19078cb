/*
 * Goal: the cost of the back end on Windows: one call of the completion port
 * for a wait, at most one poll of the driver for each ready socket, and none
 * for the others.
 * Method: a byte is passed through a ring of connections, as looptest does.
 * The test counts the calls between the library and the system: this program
 * defines the functions itself, and the library is linked statically.
 */
#include "xt.h"

#include <windows.h>
#include <winternl.h>

#undef DELETE

enum {
	LOOP_SOCKETS = 100,
	LOOP_ROUNDS = 2000,
	LOOP_DEVICE_CONTROL = 0x00012024, /* control code of AFD's poll */
};

typedef BOOL WINAPI loop_take_call(HANDLE port, OVERLAPPED_ENTRY *packets,
                                   ULONG cap, ULONG *count, DWORD timeout_ms,
                                   BOOL alertable);
typedef NTSTATUS NTAPI loop_control_call(HANDLE file, HANDLE event,
                                         PIO_APC_ROUTINE apc, PVOID context,
                                         PIO_STATUS_BLOCK status, ULONG code,
                                         PVOID in, ULONG in_size, PVOID out,
                                         ULONG out_size);

static atomic_int loop_takes; /* calls that take packets from the port */
static atomic_int loop_polls; /* polls of AFD that are answered at the port */
static atomic_int loop_looks; /* polls of AFD that do not wait */

static FARPROC loop_real(const char *library, const char *name)
{
	return GetProcAddress(GetModuleHandleA(library), name);
}

static BOOL WINAPI loop_take(HANDLE port, OVERLAPPED_ENTRY *packets, ULONG cap,
                             ULONG *count, DWORD timeout_ms, BOOL alertable)
{
	static loop_take_call *real;

	if (!real)
		real = (loop_take_call *)(uintptr_t)loop_real(
			"kernel32", "GetQueuedCompletionStatusEx");
	atomic_fetch_add(&loop_takes, 1);
	return real(port, packets, cap, count, timeout_ms, alertable);
}

/* Replaces the system's function: the linker takes this one. */
NTSTATUS NTAPI NtDeviceIoControlFile(HANDLE file, HANDLE event,
                                     PIO_APC_ROUTINE apc, PVOID context,
                                     PIO_STATUS_BLOCK status, ULONG code,
                                     PVOID in, ULONG in_size, PVOID out,
                                     ULONG out_size)
{
	static loop_control_call *real;

	if (!real)
		real = (loop_control_call *)(uintptr_t)loop_real(
			"ntdll", "NtDeviceIoControlFile");
	if (code == LOOP_DEVICE_CONTROL)
		atomic_fetch_add(context ? &loop_polls : &loop_looks, 1);
	return real(file, event, apc, context, status, code, in, in_size, out,
	            out_size);
}

/* The same for a function that is called through a pointer. */
extern loop_take_call *__imp_GetQueuedCompletionStatusEx;
loop_take_call *__imp_GetQueuedCompletionStatusEx = loop_take;

static struct xt_pair loop_pairs[LOOP_SOCKETS];

static struct xpoll *loop_open(void)
{
	struct xpoll *queue = xt_open_quiet();

	for (int i = 0; i < LOOP_SOCKETS; i++) {
		loop_pairs[i] = xt_tcp();
		XT_EXPECT_STATUS(xt_change(queue, (uint64_t)loop_pairs[i].r, READ,
		                           XPOLL_ADD, 0, 0,
		                           &loop_pairs[i]), 0);
	}
	return queue;
}

static void loop_reset(void)
{
	atomic_store(&loop_takes, 0);
	atomic_store(&loop_polls, 0);
	atomic_store(&loop_looks, 0);
}

/* Read from the ready sockets, and write to the next ones.  Returns the number of waits. */
static int loop_run(struct xpoll *queue, int active, int rounds)
{
	struct xpoll_event events[64];
	int waits = 0;
	int passed = 0;

	for (int i = 0; i < active; i++)
		xt_put(loop_pairs[i * (LOOP_SOCKETS / active)].w);
	for (; passed < rounds; waits++) {
		int count = xpoll_event(queue, NULL, 0, events, 64, XT_SOON);

		if (!XT_EXPECT(count > 0))
			return 0;
		for (int i = 0; i < count; i++) {
			struct xt_pair *pair = events[i].udata;
			int next = (int)(pair - loop_pairs + 1) % LOOP_SOCKETS;

			XT_EXPECT(xt_get(pair->r) > 0);
			xt_put(loop_pairs[next].w);
			passed++;
		}
	}
	return waits;
}

static void loop_measure(int active)
{
	struct xpoll *queue = loop_open();
	int waits;
	int64_t began;
	int64_t took;

	(void)loop_run(queue, 1, LOOP_SOCKETS);
	loop_reset();
	began = xt_now();
	waits = loop_run(queue, active, LOOP_ROUNDS);
	took = xt_now() - began;
	xt_note("%d active: %d waits, %d calls at the port, %d polls, %d looks, "
	        "%.1f us each", active, waits, atomic_load(&loop_takes),
	        atomic_load(&loop_polls), atomic_load(&loop_looks),
	        (double)took / LOOP_ROUNDS / 1000);
	XT_CHECK(waits > 0);
	/* The additional calls: the first wait of a run, and bytes that arrive late. */
	XT_EXPECT(atomic_load(&loop_takes) <= waits + waits / 20 + 2);
	XT_EXPECT(atomic_load(&loop_polls) <= LOOP_ROUNDS + active);
	XT_EXPECT(atomic_load(&loop_looks) <= waits + waits / 20 + 2);
}

XT_TEST(wait_is_one_call_and_one_poll_for_the_socket_that_was_ready)
{
	loop_measure(1);
}

XT_TEST(ready_sockets_share_a_wait)
{
	loop_measure(50);
}

/* A change that leaves the driver's request as it is makes no system call. */
XT_TEST(disabling_and_enabling_costs_no_call)
{
	struct xpoll *queue = loop_open();
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	loop_reset();
	for (int i = 0; i < LOOP_SOCKETS; i++) {
		XT_OK(xt_flag(queue, (uint64_t)loop_pairs[i].r, READ,
		              XPOLL_DISABLE));
		XT_OK(xt_flag(queue, (uint64_t)loop_pairs[i].r, READ,
		              XPOLL_ENABLE));
	}
	XT_EXPECT_EQ(atomic_load(&loop_takes), 0);
	XT_EXPECT_EQ(atomic_load(&loop_polls), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EXPECT_EQ(atomic_load(&loop_takes), 1);
	XT_EXPECT_EQ(atomic_load(&loop_polls), 0);
}
