/*
 * Soak: user events and other queues.
 *
 * Users: user events that are triggered, for each of which the source waits,
 * and wakes at the same time.
 *
 * Lives: queues that are created, used at both levels of the interface, and
 * destroyed.
 */
#include "soak.h"

/* --- users --------------------------------------------------------------- */

enum { USERS = 4 };

static struct user {
	struct target target; /* must be first: udata points to it */
	atomic_int come;
} users[USERS];

static void user_take(struct soak *soak, struct target *target,
		      const struct xpoll_event *event,
		      const struct known *known)
{
	struct user *user = (struct user *)target;

	(void)soak, (void)known;
	(void)XT_EXPECT_EQ(event->ident, target->index);
	atomic_fetch_add(&soak_users.out, 1);
	atomic_fetch_add(&user->come, 1);
}

static void users_begin(struct soak *soak)
{
	for (int i = 0; i < USERS; i++) {
		users[i].target = (struct target){user_take, i};
		(void)XT_EXPECT_STATUS(
			xt_change(soak->queue, (uint64_t)i, USER,
				  XPOLL_ADD | XPOLL_CLEAR, 0, 0, &users[i]), 0);
	}
}

static void users_act(struct soak *soak)
{
	uint64_t random = soak->seed + 9;

	while (soak_goes_on(soak, &random)) {
		uint32_t dice = xt_random(&random);
		struct user *user = &users[dice % USERS];
		int before = atomic_load(&user->come);

		atomic_fetch_add(&soak_users.in, 1);
		(void)XT_EXPECT_STATUS(xt_trigger(soak->queue, dice % USERS),
				       0);
		if (dice / USERS % 8 == 0) {
			atomic_fetch_add(&soak->wakes, 1);
			(void)XT_EXPECT_EQ(xpoll_wake(soak->queue), 0);
		}
		(void)soak_await(&user->come, before + 1);
	}
}

static void users_end(struct soak *soak)
{
	for (uint64_t i = 0; i < USERS; i++)
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue, i, USER,
					       XPOLL_DELETE), 0);
}

struct source soak_users = {.name = "users",
			    .begin = users_begin,
			    .act = users_act,
			    .end = users_end};

/* --- lives --------------------------------------------------------------- */

/* Wait for an event, and repeat waits that the signals of another source interrupt. */
static int life_event(struct xpoll *queue, struct xpoll_event *event)
{
	int rc;

	do
		rc = xpoll_event(queue, NULL, 0, event, 1, XT_SOON);
	while (rc < 0 && errno == EINTR);
	return rc;
}

static void life_poll(struct xpoll *queue, int fd)
{
	void *data = NULL;
	int rc;

	(void)XT_EXPECT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, queue), 0);
	do
		rc = xpoll_wait(queue, 20000);
	while (rc < 0 && errno == EINTR);
	(void)XT_EXPECT_EQ(rc, 1);
	(void)XT_EXPECT_EQ(xpoll_revents(queue, &data), POLLIN);
	(void)XT_EXPECT(data == queue);
	(void)XT_EXPECT_EQ(xpoll_revents(queue, &data), 0);
}

static void life(uint32_t dice)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event event;
	int ends[2];

	if (!XT_EXPECT(queue != NULL) ||
	    !XT_EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0))
		return;
	if (dice % 4 == 0)
		(void)xpoll_fd(queue); /* fails on back ends without a descriptor */
	for (uint64_t i = 0; i < dice / 4 % 64; i++)
		(void)xt_flag(queue, i, USER, XPOLL_ADD);
	(void)XT_EXPECT_EQ(write(ends[1], "x", 1), 1);
	if (dice / 256 % 2) {
		life_poll(queue, ends[0]);
	} else {
		(void)XT_EXPECT_STATUS(xt_add(queue, ends[0], READ, 0), 0);
		if (XT_EXPECT_EQ(life_event(queue, &event), 1))
			(void)XT_EXPECT_EQ(event.ident, ends[0]);
	}
	if (dice / 512 % 2)
		(void)xpoll_close_fd(ends[0]);
	xpoll_destroy(queue);
	if (dice / 512 % 2 == 0)
		(void)close(ends[0]);
	(void)close(ends[1]);
}

static void lives_begin(struct soak *soak)
{
	(void)soak;
}

static void lives_act(struct soak *soak)
{
	uint64_t random = soak->seed + 10;

	while (soak_goes_on(soak, &random)) {
		atomic_fetch_add(&soak_lives.in, 1);
		life(xt_random(&random));
		atomic_fetch_add(&soak_lives.out, 1);
	}
}

static void lives_end(struct soak *soak)
{
	(void)soak;
}

struct source soak_lives = {.name = "lives",
			    .begin = lives_begin,
			    .act = lives_act,
			    .end = lives_end};
