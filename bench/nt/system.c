/*
 * What Windows has of its own: time, limits, signals, sockets by the names of POSIX.
 * What system.c has of libraries and programs is not looked for here.
 */
#include <string.h>

#include "loop.h"

/* --- Rivals that are not looked for, and what is measured -------------------- */

const struct bench_ops program_ops;

bool program_find(const char *name)
{
	(void)name;
	return false;
}

void program_end_all(void)
{
}

bool bench_library_load(struct bench_library *library)
{
	(void)library;
	return false;
}

WORKLOADS_EVERYWHERE(WORKLOAD_DECLARED)

const struct bench_workload *const bench_workloads[] = {
	WORKLOADS_EVERYWHERE(WORKLOAD_LISTED) NULL
};

const struct bench_variant looptest_peers[] = {
	{ .name = "raw-poll", .ops = &looptest_loop_ops, .loop = &loop_poll },
	{ 0 },
};

/* Without a pipe WSAPoll cannot be woken, nor does it notice that a socket is closed. */
const struct loop_kind loop_kinds[] = {
	{ { .name = "raw-poll", .loop = &loop_poll }, LOOP_LEVEL | LOOP_DISPATCH },
	{ { 0 }, 0 },
};

/* --- Time is the clock's: what a process has used is counted in ticks of 15 ms - */

int64_t bench_now_ns(void)
{
	LARGE_INTEGER frequency;
	LARGE_INTEGER count;

	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&count);
	return count.QuadPart / frequency.QuadPart * 1000000000 +
	       count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}

bool bench_by_processor(const struct bench_workload *workload)
{
	(void)workload;
	return false;
}

int64_t bench_elapsed_ns(const struct bench_workload *workload)
{
	(void)workload;
	return bench_now_ns();
}

/* --- The process and the machine --------------------------------------------- */

/* A process may have millions of handles, and is not asked. */
int bench_reserve_descriptors(const struct bench_report *report)
{
	(void)report;
	return 0;
}

uint64_t bench_memory_used(void)
{
	return 0;
}

int bench_pin(int cpu)
{
	(void)cpu;
	return -ENOTSUP;
}

void bench_machine_get(struct bench_machine *machine)
{
	static const char key[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
	DWORD size = sizeof machine->cpu;
	SYSTEM_INFO system;

	snprintf(machine->kernel, sizeof machine->kernel, "%s",
	         GetProcAddress(GetModuleHandleA("ntdll"), "wine_get_version") != NULL
	                 ? "Wine" : "Windows");
	if (RegGetValueA(HKEY_LOCAL_MACHINE, key, "ProcessorNameString", RRF_RT_REG_SZ,
	                 NULL, machine->cpu, &size) != ERROR_SUCCESS)
		snprintf(machine->cpu, sizeof machine->cpu, "unknown");
	GetSystemInfo(&system);
	machine->cores = (int)system.dwNumberOfProcessors;
}

/* --- Signals: Ctrl-C ends the process, as nothing interrupts a wait here ------- */

void bench_signals_install(void)
{
}

void bench_signals_restore(void)
{
}

void bench_signals_progress(void)
{
}

int bench_interrupted(void)
{
	return 0;
}

bool bench_stalled(void)
{
	return false;
}

bool bench_goes_on(int error)
{
	(void)error;
	return false;
}

/* --- Pairs: connections over loopback, as no call waits for pipes ------------- */

static int pairs_failed(void)
{
	return -bench_nt_error(WSAGetLastError());
}

/*
 * Neither end blocks, bytes go at once, and a connection that is closed leaves
 * nothing behind: there are not many numbers of ports.
 */
static int pairs_prepare(SOCKET end)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	u_long nonblocking = 1;
	int on = 1;

	if (ioctlsocket(end, (long)FIONBIO, &nonblocking) != 0 ||
	    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, (char *)&on, sizeof on) != 0 ||
	    setsockopt(end, SOL_SOCKET, SO_LINGER, (char *)&linger, sizeof linger) != 0)
		return pairs_failed();
	return 0;
}

/* On failure whatever was opened is in *pair, for bench_pairs_close. */
static int pairs_connect(SOCKET listener, struct bench_pair *pair)
{
	struct sockaddr_in address;
	int len = sizeof address;
	int rc;

	pair->write_fd = (int)socket(AF_INET, SOCK_STREAM, 0);
	if (pair->write_fd < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) != 0 ||
	    connect((SOCKET)pair->write_fd, (struct sockaddr *)&address, len) != 0)
		return pairs_failed();
	pair->read_fd = (int)accept(listener, NULL, NULL);
	if (pair->read_fd < 0)
		return pairs_failed();
	rc = pairs_prepare((SOCKET)pair->read_fd);
	return rc < 0 ? rc : pairs_prepare((SOCKET)pair->write_fd);
}

int bench_pairs_open(enum bench_kind kind, int len, struct bench_pairs *pairs)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	SOCKET listener;
	WSADATA data;
	int rc = 0;

	(void)kind;
	pairs->at = calloc((size_t)len, sizeof *pairs->at);
	if (pairs->at == NULL)
		return -ENOMEM;
	if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
		return -ENOSYS;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(listener, 1) != 0)
		rc = pairs_failed();
	while (pairs->len < len && rc == 0) {
		struct bench_pair *pair = &pairs->at[pairs->len++];

		*pair = (struct bench_pair){ -1, -1 };
		rc = pairs_connect(listener, pair);
	}
	closesocket(listener);
	return rc;
}

static void pairs_close_end(int fd)
{
	if (fd >= 0)
		closesocket((SOCKET)fd);
}

void bench_pairs_close(struct bench_pairs *pairs)
{
	for (int i = 0; i < pairs->len; i++) {
		pairs_close_end(pairs->at[i].read_fd);
		pairs_close_end(pairs->at[i].write_fd);
	}
	free(pairs->at);
	pairs->at = NULL;
	pairs->len = 0;
	WSACleanup();
}

void bench_pairs_drain(const struct bench_pairs *pairs)
{
	char rest[16];

	for (int i = 0; i < pairs->len; i++)
		while (recv((SOCKET)pairs->at[i].read_fd, rest, sizeof rest, 0) > 0)
			; /* left over from the variant before */
}

/* --- Sockets by the names of POSIX ------------------------------------------- */

int bench_nt_error(int error)
{
	switch (error) {
	case WSAEWOULDBLOCK:
		return EAGAIN;
	case WSAEINTR:
		return EINTR;
	case WSAENOTSOCK:
	case WSAEBADF:
		return EBADF;
	case WSAEMFILE:
		return EMFILE;
	case WSAENOBUFS:
	case WSA_NOT_ENOUGH_MEMORY:
		return ENOMEM;
	default:
		return EIO;
	}
}

static int io_failed(void)
{
	errno = bench_nt_error(WSAGetLastError());
	return -1;
}

ssize_t bench_nt_read(int fd, void *buffer, size_t size)
{
	int len = recv((SOCKET)fd, buffer, (int)size, 0);

	return len < 0 ? io_failed() : len;
}

ssize_t bench_nt_write(int fd, const void *buffer, size_t size)
{
	int len = send((SOCKET)fd, buffer, (int)size, 0);

	return len < 0 ? io_failed() : len;
}

int bench_nt_close(int fd)
{
	return closesocket((SOCKET)fd) == 0 ? 0 : io_failed();
}

int bench_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms)
{
	int ready = WSAPoll(fds, count, timeout_ms);

	return ready < 0 ? io_failed() : ready;
}

int bench_nt_rename(const char *from, const char *to)
{
	if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
		return 0;
	errno = EACCES;
	return -1;
}

int bench_nt_no_pipe(void)
{
	errno = ENOSYS;
	return -1;
}
