/*
 * A doubly linked list whose links are members of the items.  The list itself is a link, too: an
 * empty list, and an item in no list, points to itself.
 */
#ifndef XP_BASE_LIST_H
#define XP_BASE_LIST_H

#include <stdbool.h>

#include "base/compiler.h"

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

/*
 * Remove an item from its list.  The item points to itself then, so removing it twice is harmless.
 */
static inline void xp_list_remove(struct xp_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	xp_list_init(item);
}

/* Remove and return the first item; NULL: the list is empty. */
static inline struct xp_list *xp_list_take(struct xp_list *list)
{
	struct xp_list *first = list->next;

	if (first == list)
		return NULL;
	xp_list_remove(first);
	return first;
}

/* Move all items to the end of another list, in their order. */
static inline void xp_list_move(struct xp_list *from, struct xp_list *to)
{
	struct xp_list *item;

	while ((item = xp_list_take(from)))
		xp_list_append(to, item);
}

/*
 * Loop over the structs of this type that are linked by this member.  The body must not remove any
 * struct from the list.  `list` is evaluated in each round.
 */
#define XP_LIST_EACH(type, item, list, member)                                  \
	for (type *item = XP_CONTAINER_OF((list)->next, type, member);          \
	     &item->member != (list);                                           \
	     item = XP_CONTAINER_OF(item->member.next, type, member))

#endif
