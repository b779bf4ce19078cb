/*
 * Soak: bytes through pipes and sockets.
 *
 * Tokens: single bytes, in all modes, while filters are enabled and disabled.
 *
 * Flow: as many bytes as WRITE reports room for; the order is checked.
 */
#include "soak.h"

/* --- tokens -------------------------------------------------------------- */

enum { CHANNELS = 24, AHEAD = 200 };

static struct channel {
	struct target target; /* must be first: udata points to it */
	struct xt_pair pair;
	int mode;
} channels[CHANNELS];

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT,
			    XPOLL_DISPATCH | XPOLL_CLEAR};

static int token_add(struct soak *soak, struct channel *channel)
{
	return xt_change(soak->queue, (uint64_t)channel->pair.r, READ,
			 XPOLL_ADD | channel->mode, 0, 0, channel);
}

static void token_take(struct soak *soak, struct target *target,
		       const struct xpoll_event *event,
		       const struct known *known)
{
	struct channel *channel = (struct channel *)target;
	uint64_t ident = (uint64_t)channel->pair.r;

	(void)known;
	(void)XT_EXPECT_EQ(event->ident, ident);
	while (xt_get(channel->pair.r) == 'x')
		atomic_fetch_add(&soak_tokens.out, 1);
	if (channel->mode & XPOLL_DISPATCH)
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue, ident, READ,
					       XPOLL_ENABLE), 0);
	if (channel->mode & XPOLL_ONESHOT)
		(void)XT_EXPECT_STATUS(token_add(soak, channel), 0);
}

static void tokens_begin(struct soak *soak)
{
	for (int i = 0; i < CHANNELS; i++) {
		struct channel *channel = &channels[i];

		channel->target = (struct target){token_take, i};
		channel->mode = modes[i % 5];
		switch (i % 4) {
		case 0:
			channel->pair = xt_pipe();
			break;
		case 1:
			channel->pair = xt_tcp();
			break;
		case 2:
			channel->pair = xt_socketpair(SOCK_DGRAM);
			break;
		default:
			channel->pair = xt_socketpair(SOCK_STREAM);
			break;
		}
		(void)XT_EXPECT_STATUS(token_add(soak, channel), 0);
	}
}

static void tokens_act(struct soak *soak)
{
	uint64_t random = soak->seed + 1;

	while (soak_goes_on(soak, &random)) {
		uint32_t dice = xt_random(&random);
		struct channel *channel = &channels[dice % CHANNELS];
		uint64_t ident = (uint64_t)channel->pair.r;

		if (soak_missing(&soak_tokens) > AHEAD)
			continue;
		/* A byte that does not fit into a full channel is not counted. */
		if (write(channel->pair.w, "x", 1) == 1)
			atomic_fetch_add(&soak_tokens.in, 1);
		if (dice / CHANNELS % 8 || channel->mode & ~XPOLL_CLEAR)
			continue;
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue, ident, READ,
					       XPOLL_DISABLE), 0);
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue, ident, READ,
					       XPOLL_ENABLE), 0);
	}
}

static void tokens_end(struct soak *soak)
{
	for (int i = 0; i < CHANNELS; i++) {
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue,
					       (uint64_t)channels[i].pair.r,
					       READ, XPOLL_DELETE), 0);
		xt_shut(channels[i].pair);
	}
}

struct source soak_tokens = {.name = "tokens",
			     .begin = tokens_begin,
			     .act = tokens_act,
			     .end = tokens_end};

/* --- flow ---------------------------------------------------------------- */

/*
 * With DISPATCH only the thread that has the event of one end of the pair uses that end, so the
 * ends need no lock.
 */
static struct xt_pair flow_pair;
static struct target flow_reader, flow_writer;
static atomic_int flow_rests; /* 1: the writer has stopped */

static void flow_enable(struct soak *soak, int fd, int filter)
{
	(void)XT_EXPECT_STATUS(xt_flag(soak->queue, (uint64_t)fd, filter,
				       XPOLL_ENABLE), 0);
}

static void flow_read(struct soak *soak, struct target *target,
		      const struct xpoll_event *event,
		      const struct known *known)
{
	unsigned char block[4096];
	ssize_t got = read(flow_pair.r, block, sizeof block);

	(void)target, (void)event, (void)known;
	for (ssize_t i = 0; i < got; i++)
		if (block[i] != (atomic_load(&soak_flow.out) + i) % 251) {
			xt_fail(__FILE__, __LINE__, "a wrong byte");
			return;
		}
	if (got > 0)
		atomic_fetch_add(&soak_flow.out, got);
	flow_enable(soak, flow_pair.r, READ);
}

static void flow_write(struct soak *soak, struct target *target,
		       const struct xpoll_event *event,
		       const struct known *known)
{
	unsigned char block[4096];
	ssize_t put;

	(void)soak, (void)target, (void)event, (void)known;
	for (int i = 0; i < (int)sizeof block; i++)
		block[i] = (unsigned char)((atomic_load(&soak_flow.in) + i) % 251);
	put = write(flow_pair.w, block, sizeof block);
	if (put > 0)
		atomic_fetch_add(&soak_flow.in, put);
	atomic_store(&flow_rests, 1);
}

static void flow_begin(struct soak *soak)
{
	flow_pair = xt_tcp();
	flow_reader = (struct target){flow_read, 0};
	flow_writer = (struct target){flow_write, 0};
	atomic_store(&flow_rests, 0);
	(void)XT_EXPECT_STATUS(xt_change(soak->queue, (uint64_t)flow_pair.r,
					 READ, XPOLL_ADD | XPOLL_DISPATCH, 0, 0,
					 &flow_reader), 0);
	(void)XT_EXPECT_STATUS(xt_change(soak->queue, (uint64_t)flow_pair.w,
					 WRITE, XPOLL_ADD | XPOLL_DISPATCH, 0,
					 0, &flow_writer), 0);
}

static void flow_act(struct soak *soak)
{
	uint64_t random = soak->seed + 2;

	while (soak_goes_on(soak, &random))
		if (atomic_exchange(&flow_rests, 0))
			flow_enable(soak, flow_pair.w, WRITE);
	/* After this thread has ended nothing more is written. */
	(void)soak_await(&flow_rests, 1);
}

static void flow_end(struct soak *soak)
{
	(void)soak;
	(void)xpoll_forget_fd(flow_pair.r);
	(void)xpoll_forget_fd(flow_pair.w);
	xt_shut(flow_pair);
}

struct source soak_flow = {.name = "flow",
			   .begin = flow_begin,
			   .act = flow_act,
			   .end = flow_end};
