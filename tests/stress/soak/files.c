/*
 * Soak: files.
 *
 * Writes: one at a time, to a file that VNODE watches.
 *
 * Reads: AIO operations, some of which are cancelled.
 */
#include "soak.h"

/* --- writes -------------------------------------------------------------- */

static struct target write_target;
static int write_fd;
static atomic_int writes_seen;

static void write_take(struct soak *soak, struct target *target,
		       const struct xpoll_event *event,
		       const struct known *known)
{
	(void)soak, (void)target, (void)known;
	(void)XT_EXPECT_EQ(event->fflags, XPOLL_NOTE_WRITE);
	atomic_fetch_add(&soak_writes.out, 1);
	atomic_fetch_add(&writes_seen, 1);
}

static void writes_begin(struct soak *soak)
{
	write_target = (struct target){write_take, 0};
	write_fd = xt_file("text");
	(void)XT_EXPECT_STATUS(xt_change(soak->queue, (uint64_t)write_fd, VNODE,
					 XPOLL_ADD, XPOLL_NOTE_WRITE, 0,
					 &write_target), 0);
}

static void writes_act(struct soak *soak)
{
	uint64_t random = soak->seed + 7;

	while (soak_goes_on(soak, &random)) {
		int before = atomic_load(&writes_seen);

		atomic_fetch_add(&soak_writes.in, 1);
		(void)XT_EXPECT_EQ(pwrite(write_fd, "x", 1, 0), 1);
		(void)soak_await(&writes_seen, before + 1);
	}
}

static void writes_end(struct soak *soak)
{
	(void)XT_EXPECT_STATUS(xt_flag(soak->queue, (uint64_t)write_fd, VNODE,
				       XPOLL_DELETE), 0);
	xt_close(write_fd);
}

struct source soak_writes = {.name = "writes",
			     .begin = writes_begin,
			     .act = writes_act,
			     .end = writes_end};

/* --- reads --------------------------------------------------------------- */

enum { FLIGHTS = 8, LENGTH = 4096, FILE_SIZE = 1 << 20 };

static struct flight {
	struct target target; /* must be first: udata points to it */
	struct xpoll_aio aio;
	atomic_bool flies;
	bool synced; /* the operation is a sync, not a read */
	atomic_bool cancelled;
	unsigned char buffer[LENGTH];
} flights[FLIGHTS];
static int read_fd;

static unsigned char byte_at(int64_t offset)
{
	return (unsigned char)(offset % 251);
}

static bool bytes_are_right(const struct flight *flight)
{
	for (int i = 0; i < LENGTH; i++)
		if (flight->buffer[i] != byte_at(flight->aio.offset + i))
			return false;
	return true;
}

static void flight_take(struct soak *soak, struct target *target,
			const struct xpoll_event *event,
			const struct known *known)
{
	struct flight *flight = (struct flight *)target;
	int64_t result = flight->aio.result;

	(void)soak, (void)known;
	(void)XT_EXPECT_EQ(event->ident, (uintptr_t)&flight->aio);
	(void)XT_EXPECT_EQ(event->data, result);
	if (result == -ECANCELED)
		(void)XT_EXPECT(atomic_load(&flight->cancelled));
	else if (XT_EXPECT_EQ(result, flight->synced ? 0 : LENGTH) &&
		 !flight->synced)
		(void)XT_EXPECT(bytes_are_right(flight));
	atomic_fetch_add(&soak_reads.out, 1);
	atomic_store(&flight->flies, false);
}

static void flight_start(struct soak *soak, struct flight *flight,
			 uint32_t dice)
{
	flight->synced = dice % 16 == 0;
	atomic_store(&flight->cancelled, false);
	memset(flight->buffer, 0, LENGTH);
	flight->aio = (struct xpoll_aio){
		.size = sizeof flight->aio,
		.op = flight->synced ? XPOLL_AIO_FDATASYNC : XPOLL_AIO_READ,
		.fd = read_fd,
		.buffer = flight->buffer,
		.length = LENGTH,
		.offset = dice / 16 % (FILE_SIZE - LENGTH),
		.udata = flight,
	};
	atomic_store(&flight->flies, true);
	atomic_fetch_add(&soak_reads.in, 1);
	if (xpoll_aio_submit(soak->queue, &flight->aio) < 0) {
		/* EAGAIN: no AIO thread could be started. */
		(void)XT_EXPECT_STATUS(errno, EAGAIN);
		atomic_store(&flight->flies, false);
		atomic_fetch_sub(&soak_reads.in, 1);
	}
}

static void reads_begin(struct soak *soak)
{
	unsigned char block[LENGTH];

	(void)soak;
	for (int i = 0; i < FLIGHTS; i++)
		flights[i].target = (struct target){flight_take, i};
	read_fd = xt_file("");
	for (int64_t at = 0; at < FILE_SIZE; at += LENGTH) {
		for (int i = 0; i < LENGTH; i++)
			block[i] = byte_at(at + i);
		(void)XT_EXPECT_EQ(pwrite(read_fd, block, LENGTH, at), LENGTH);
	}
}

static void reads_act(struct soak *soak)
{
	uint64_t random = soak->seed + 8;

	while (soak_goes_on(soak, &random) &&
	       xpoll_supports(soak->queue, XPOLL_FILT_AIO, 0)) {
		struct flight *flight = &flights[xt_random(&random) % FLIGHTS];
		uint32_t dice = xt_random(&random);

		if (!atomic_load(&flight->flies)) {
			flight_start(soak, flight, dice);
		} else if (dice % 16 == 0) {
			/* The operation may have completed meanwhile. */
			atomic_store(&flight->cancelled, true);
			(void)xpoll_aio_cancel(soak->queue, &flight->aio);
		}
	}
}

static void reads_end(struct soak *soak)
{
	(void)soak;
	xt_close(read_fd);
}

struct source soak_reads = {.name = "reads",
			    .begin = reads_begin,
			    .act = reads_act,
			    .end = reads_end};
