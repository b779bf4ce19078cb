/* Where followers sleep. */
#include "core/places.h"

#define PLACE_BIT(i) (1u << (i))

void xp_places_init(struct xp_places *places)
{
	*places = (struct xp_places){0};
	for (int i = 0; i < XP_PLACES; i++)
		places->wakefds[i] = (struct xp_wakefd){.fd = -1, .write_fd = -1};
}

int xp_places_open(struct xp_places *places)
{
	int rc = 0;

	xp_places_init(places);
	for (int i = 0; i < XP_PLACES && rc == 0; i++)
		rc = xp_wakefd_open(&places->wakefds[i]);
	if (rc < 0)
		xp_places_close(places);
	return rc;
}

void xp_places_close(const struct xp_places *places)
{
	for (int i = 0; i < XP_PLACES; i++)
		xp_wakefd_close(&places->wakefds[i]);
}

bool xp_places_own(const struct xp_places *places, int fd)
{
	bool own = false;

	for (int i = 0; i < XP_PLACES; i++)
		own |= xp_wakefd_has(&places->wakefds[i], fd);
	return own;
}

void xp_places_forget(struct xp_places *places)
{
	places->signalled = 0;
	places->due = 0;
	for (int i = 0; i < XP_PLACES; i++)
		places->sleepers[i] = 0;
}

int xp_places_take(struct xp_places *places)
{
	int i = 0;

	while (i < XP_PLACES - 1 && places->sleepers[i] > 0)
		i++;
	places->sleepers[i]++;
	return i;
}

static void signal_some(struct xp_places *places, int most)
{
	for (int i = 0; i < XP_PLACES && most > 0; i++) {
		if (places->sleepers[i] == 0 || places->signalled & PLACE_BIT(i))
			continue;
		places->signalled |= PLACE_BIT(i);
		places->due |= PLACE_BIT(i);
		most--;
	}
}

void xp_places_signal_one(struct xp_places *places)
{
	if (!places->signalled)
		signal_some(places, 1);
}

void xp_places_signal_all(struct xp_places *places)
{
	signal_some(places, XP_PLACES);
}

static void places_clear(const struct xp_places *places, unsigned set)
{
	for (int i = 0; i < XP_PLACES; i++)
		if (set & PLACE_BIT(i))
			xp_wakefd_clear(&places->wakefds[i]);
}

void xp_places_clear(struct xp_places *places)
{
	places_clear(places, places->signalled & ~places->due);
	places->signalled = 0;
	places->due = 0;
}

void xp_places_write(const struct xp_places *places, unsigned due)
{
	for (int i = 0; i < XP_PLACES; i++)
		if (due & PLACE_BIT(i))
			xp_wakefd_signal(&places->wakefds[i]);
}

void xp_places_written(const struct xp_places *places, unsigned due)
{
	places_clear(places, due & ~places->signalled);
}
