/*
 * Groups of sockets: each has opened the device once, for its polls.
 */
#include "backend/afd_state.h"
#include "base/alloc.h"
#include "base/assert.h"

static struct afd_group *group_open(struct afd_state *state)
{
	struct afd_group *group = xp_alloc(sizeof *group);

	if (!group)
		return NULL;
	if (xp_nt_open_afd(state->port, &group->device) < 0) {
		xp_free(group);
		return NULL;
	}
	xp_list_init(&group->item);
	xp_list_append(&state->groups, &group->item);
	return group;
}

/* Full ones go to the end of the list, behind all that have room. */
static void group_place(struct afd_state *state, struct afd_group *group)
{
	xp_list_remove(&group->item);
	xp_list_append(group->socks == AFD_GROUP_MOST ? &state->groups
	                                              : state->groups.next,
	               &group->item);
}

struct afd_group *afd_group_enter(struct afd_state *state)
{
	struct afd_group *group = NULL;

	if (!xp_list_empty(&state->groups))
		group = XP_CONTAINER_OF(state->groups.next, struct afd_group, item);
	if (!group || group->socks == AFD_GROUP_MOST)
		group = group_open(state);
	if (!group)
		return NULL;
	XP_ASSERT(group->socks < AFD_GROUP_MOST);
	group->socks++;
	group_place(state, group);
	return group;
}

void afd_group_leave(struct afd_state *state, struct afd_group *group)
{
	XP_ASSERT(group->socks > 0);
	group->socks--;
	group_place(state, group);
}

void afd_groups_close(struct afd_state *state)
{
	while (!xp_list_empty(&state->groups)) {
		struct afd_group *group = XP_CONTAINER_OF(
			state->groups.next, struct afd_group, item);

		xp_list_remove(&group->item);
		CloseHandle(group->device);
		xp_free(group);
	}
}
