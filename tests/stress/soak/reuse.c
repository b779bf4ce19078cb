/*
 * Soak: descriptors that are closed and reused while threads wait.
 *
 * Each registration of a descriptor has a serial number.  No wait may return a
 * registration that had ended when the wait began.  Half of the descriptors are
 * closed at once; for the other half the source waits until each registration
 * is delivered, which must happen exactly once.
 */
#include "soak.h"

enum { FIRST_NUMBER = 900, AWAITED = REUSE_SLOTS / 2, PHASES = 16 };

static struct slot {
	/* must be first: udata points to the target of serial % PHASES */
	struct target targets[PHASES];
	_Atomic uint64_t serial;       /* serial number of the last registration */
	_Atomic uint64_t dead;         /* registrations up to this serial number have ended */
	atomic_int taken;
} slots[REUSE_SLOTS];

void reuse_know(struct known *known)
{
	for (int i = 0; i < REUSE_SLOTS; i++)
		known->dead[i] = atomic_load(&slots[i].dead);
}

/*
 * Returns true if a serial number of this phase is above `dead`, so its registration had not ended.
 */
static bool alive(const struct slot *slot, uint64_t dead, uint64_t phase)
{
	for (uint64_t serial = atomic_load(&slot->serial); serial > dead; serial--)
		if (serial % PHASES == phase)
			return true;
	return false;
}

static void reuse_take(struct soak *soak, struct target *target,
		       const struct xpoll_event *event,
		       const struct known *known)
{
	struct slot *slot = &slots[target->index];
	uint64_t phase = (uint64_t)(target - slot->targets);

	(void)soak;
	(void)XT_EXPECT_EQ(event->ident, FIRST_NUMBER + target->index);
	if (!alive(slot, known->dead[target->index], phase))
		xt_fail(__FILE__, __LINE__, "number %ju was closed before",
			(uintmax_t)event->ident);
	if (target->index < AWAITED) {
		atomic_fetch_add(&soak_reuse.out, 1);
		atomic_store(&slot->taken, 1);
	}
}

/* Open a pipe with a byte in it, and move its read end to this descriptor. */
static __attribute__((noinline)) void churn_open(int number)
{
	int ends[2];

	if (!XT_EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0))
		return;
	(void)XT_EXPECT_EQ(write(ends[1], "x", 1), 1);
	(void)XT_EXPECT_EQ(dup3(ends[0], number, O_CLOEXEC), number);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static __attribute__((noinline)) void churn_close(struct soak *soak, int number,
						  bool exactly)
{
	if (exactly) {
		(void)XT_EXPECT_EQ(xpoll_close_fd(number), 0);
		return;
	}
	/* ENOENT is correct: a ONESHOT registration was delivered and so removed. */
	(void)xt_flag(soak->queue, (uint64_t)number, READ, XPOLL_DELETE);
	(void)close(number);
}

static void reuse_begin(struct soak *soak)
{
	(void)soak;
	for (int i = 0; i < REUSE_SLOTS; i++)
		for (int k = 0; k < PHASES; k++)
			slots[i].targets[k] = (struct target){reuse_take, i};
}

static void reuse_act(struct soak *soak)
{
	uint64_t random = soak->seed + 3;

	while (soak_goes_on(soak, &random)) {
		uint32_t dice = xt_random(&random);
		struct slot *slot = &slots[dice % REUSE_SLOTS];
		int number = FIRST_NUMBER + (int)(slot - slots);
		bool awaited = dice % REUSE_SLOTS < AWAITED;
		int mode = dice / 8 % 2 ? XPOLL_ONESHOT : XPOLL_DISPATCH;
		uint64_t serial = atomic_load(&slot->serial) + 1;

		churn_open(number);
		atomic_store(&slot->taken, 0);
		atomic_store(&slot->serial, serial);
		atomic_fetch_add(&soak_reuse.in, awaited);
		(void)XT_EXPECT_STATUS(
			xt_change(soak->queue, (uint64_t)number, READ,
				  XPOLL_ADD | mode, 0, 0,
				  &slot->targets[serial % PHASES]), 0);
		if (awaited)
			(void)soak_await(&slot->taken, 1);
		churn_close(soak, number, dice / 16 % 2);
		atomic_store(&slot->dead, serial);
	}
}

static void reuse_end(struct soak *soak)
{
	(void)soak;
}

struct source soak_reuse = {.name = "reuse",
			    .begin = reuse_begin,
			    .act = reuse_act,
			    .end = reuse_end};
