/*
 * Arrays that grow: tables and lists.
 *
 * A table is a pointer to its items and their capacity, both 0 at first.
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
 * Make room for `count` items, at most 1 << 30.  `table` is the address of the pointer.  Additional
 * items are zero.  Returns 0; -ENOMEM, and the table is unchanged.
 */
#define XP_TABLE_RESERVE(table, len, count) \
	xp_table_reserve(table, len, count, sizeof **(table))

#endif
