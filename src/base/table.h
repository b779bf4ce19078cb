/*
 * Arrays that grow: tables by number, and lists.
 *
 * A table is a pointer to its items and how many there is room for, both 0 at first.
 */
#ifndef XP_BASE_TABLE_H
#define XP_BASE_TABLE_H

#include <stddef.h>

int xp_table_grow(void *table, int *len, int count, size_t size);

static inline int xp_table_reserve(void *table, int *len, int count, size_t size)
{
	return count <= *len ? 0 : xp_table_grow(table, len, count, size);
}

/*
 * Make room for `count` items, at most 1 << 30: `table` is the address of the pointer.
 * What is new is zero.  0; -ENOMEM, and the table is as before.
 */
#define XP_TABLE_RESERVE(table, len, count) \
	xp_table_reserve(table, len, count, sizeof **(table))

#endif
