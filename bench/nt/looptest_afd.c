/*
 * looptest on the sockets' driver, written by hand: what WSAPoll is made of, but
 * the answers come as packets of a completion port.  An end that is wanted has a
 * poll under way; what has answered is asked about again just before the next
 * wait.  An answer is believed as it comes: xpoll looks once more if it may be
 * older than the wait.
 */
#include <string.h>

#include "workloads.h"

enum {
	AFD_POLL_CODE = 0x00012024,
	AFD_RECEIVE = 0x0001,
	AFD_SEND = 0x0004,
	AFD_ENDED = 0x0008 | 0x0010 | 0x0020 | 0x0100,
	AFD_OPEN = 1,
	AFD_ENDS_MOST = 32, /* of one open device, which it looks through */
	AFD_CLOSE_MS = 5000,
};

struct afd_request {
	LARGE_INTEGER timeout;
	ULONG count;
	ULONG exclusive;
	HANDLE handle;
	ULONG events;
	LONG status;
};

/* The first two are the driver's until the poll has answered. */
struct afd_end {
	IO_STATUS_BLOCK status;
	struct afd_request request;
	struct bench_pair *pipe;
	HANDLE base;
	HANDLE device;
	bool writes;
};

struct afd_state {
	const struct bench_pairs *pipes;
	HANDLE port;
	HANDLE *devices;
	int devices_len;
	struct afd_end *ends;  /* two for each pipe: its reader, its writer */
	struct afd_end **asks; /* to be asked about */
	int asks_len;
	int pending; /* polls that have not answered */
};

static int afd_open_device(struct afd_state *state)
{
	static WCHAR name[] = L"\\Device\\Afd\\Looptest";
	UNICODE_STRING string = { sizeof name - sizeof *name, sizeof name, name };
	OBJECT_ATTRIBUTES attributes = {
		.Length = sizeof attributes,
		.ObjectName = &string,
	};
	HANDLE *device = &state->devices[state->devices_len];
	IO_STATUS_BLOCK status;

	if (NtCreateFile(device, SYNCHRONIZE, &attributes, &status, NULL, 0,
	                 FILE_SHARE_READ | FILE_SHARE_WRITE, AFD_OPEN, 0, NULL, 0) < 0)
		return -ENOSYS;
	state->devices_len++;
	return CreateIoCompletionPort(*device, state->port, 0, 0) != NULL ? 0 : -ENOMEM;
}

static int afd_base(int fd, HANDLE *base)
{
	SOCKET socket;
	DWORD size;

	if (WSAIoctl((SOCKET)fd, SIO_BASE_HANDLE, NULL, 0, &socket, sizeof socket, &size,
	             NULL, NULL) != 0)
		return -bench_nt_error(WSAGetLastError());
	*base = (HANDLE)socket;
	return 0;
}

static void afd_ask(struct afd_state *state, struct afd_end *end)
{
	state->asks[state->asks_len++] = end;
}

static int afd_fill(struct afd_state *state)
{
	int count = 2 * state->pipes->len;

	for (int i = 0; i < count; i++) {
		struct afd_end *end = &state->ends[i];
		int rc = i % AFD_ENDS_MOST == 0 ? afd_open_device(state) : 0;

		end->pipe = &state->pipes->at[i / 2];
		end->writes = i % 2 == 1;
		end->device = state->devices[i / AFD_ENDS_MOST];
		if (rc == 0)
			rc = afd_base(end->writes ? end->pipe->write_fd
			                          : end->pipe->read_fd, &end->base);
		if (rc < 0)
			return rc;
		if (!end->writes)
			afd_ask(state, end);
	}
	return looptest_start(state->pipes);
}

/* Until all polls have answered their memory is the driver's. */
static bool afd_cancel(struct afd_state *state)
{
	for (int i = 0; i < state->devices_len; i++)
		(void)CancelIoEx(state->devices[i], NULL);
	while (state->pending > 0) {
		OVERLAPPED_ENTRY packets[LOOPTEST_EVENTS];
		ULONG len;

		if (!GetQueuedCompletionStatusEx(state->port, packets, LOOPTEST_EVENTS,
		                                 &len, AFD_CLOSE_MS, FALSE))
			return false;
		state->pending -= (int)len;
	}
	return true;
}

static void afd_close(void *opened)
{
	struct afd_state *state = opened;
	bool over = afd_cancel(state);

	for (int i = 0; i < state->devices_len; i++)
		CloseHandle(state->devices[i]);
	if (state->port != NULL)
		CloseHandle(state->port);
	free(state->devices);
	free(state->asks);
	if (over)
		free(state->ends);
}

static int afd_open(void *opened, void *setup, const struct bench_way *way)
{
	struct afd_state *state = opened;
	size_t count;

	(void)way;
	state->pipes = &((struct loop_field *)setup)->pairs;
	count = 2 * (size_t)state->pipes->len;
	state->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);
	state->devices = calloc(count / AFD_ENDS_MOST + 1, sizeof *state->devices);
	state->ends = calloc(count, sizeof *state->ends);
	state->asks = calloc(count, sizeof *state->asks);
	if (state->port == NULL || state->devices == NULL || state->ends == NULL ||
	    state->asks == NULL)
		return -ENOMEM;
	return afd_fill(state);
}

static int afd_submit(struct afd_state *state)
{
	while (state->asks_len > 0) {
		struct afd_end *end = state->asks[--state->asks_len];
		NTSTATUS status;

		end->request = (struct afd_request){
			.timeout.QuadPart = INT64_MAX,
			.count = 1,
			.handle = end->base,
			.events = end->writes ? AFD_SEND | AFD_ENDED
			                      : AFD_RECEIVE | AFD_ENDED,
		};
		end->status.Status = STATUS_PENDING;
		bench_calls++;
		status = NtDeviceIoControlFile(end->device, NULL, NULL, end, &end->status,
		                               AFD_POLL_CODE, &end->request,
		                               sizeof end->request, &end->request,
		                               sizeof end->request);
		if (status < 0)
			return -EIO;
		state->pending++;
	}
	return 0;
}

/* How many reads that were, or -errno. */
static int afd_serve(struct afd_state *state, struct afd_end *end)
{
	const struct bench_pair *next = looptest_next(state->pipes, end->pipe);

	state->pending--;
	bench_calls++;
	if (end->writes)
		return bench_give(end->pipe);
	afd_ask(state, end);
	afd_ask(state, &state->ends[2 * (next - state->pipes->at) + 1]);
	return looptest_take(end->pipe);
}

static int afd_turn(void *opened)
{
	struct afd_state *state = opened;
	OVERLAPPED_ENTRY packets[LOOPTEST_EVENTS];
	ULONG len = 0;
	int rc = afd_submit(state);
	int reads = 0;

	bench_calls++;
	if (rc == 0 && !GetQueuedCompletionStatusEx(state->port, packets, LOOPTEST_EVENTS, &len,
	                                            INFINITE, FALSE))
		rc = -EIO;
	for (ULONG i = 0; i < len && rc >= 0; i++) {
		rc = afd_serve(state, (void *)packets[i].lpOverlapped);
		reads += rc > 0;
	}
	return rc < 0 ? rc : reads;
}

static int afd_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, afd_turn);
}

const struct bench_ops looptest_afd_ops = {
	.size = sizeof(struct afd_state),
	.open = afd_open,
	.run = afd_run,
	.close = afd_close,
};
