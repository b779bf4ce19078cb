/* A doubly linked list whose links live in the items. */
#ifndef XP_BASE_LIST_H
#define XP_BASE_LIST_H

#include <stdbool.h>

struct xp_list {
	struct xp_list *next;
	struct xp_list *prev;
};

static inline void xp_list_init(struct xp_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool xp_list_empty(const struct xp_list *list)
{
	return list->next == list;
}

static inline void xp_list_append(struct xp_list *list, struct xp_list *item)
{
	item->next = list;
	item->prev = list->prev;
	list->prev->next = item;
	list->prev = item;
}

/* Leaves the item as an empty list, so that removing it twice is harmless. */
static inline void xp_list_remove(struct xp_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	xp_list_init(item);
}

#endif
