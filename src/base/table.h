/*
 * Growing arrays.  An array is a pointer to its items and an int with its capacity; both are 0 at
 * first.
 */
#ifndef XP_BASE_TABLE_H
#define XP_BASE_TABLE_H

#include <stddef.h>

/* The slow path of XP_TABLE_RESERVE, which allocates. */
int xp_table_grow(void *table, int *len, int count, size_t size);

static inline int xp_table_reserve(void *table, int *len, int count, size_t size)
{
	return count <= *len ? 0 : xp_table_grow(table, len, count, size);
}

/*
 * Make room for `count` items, at most 1 << 30.  `table` and `len` are the addresses of the array's
 * pointer and capacity.  Added items are zero.  Returns 0, or -ENOMEM, and then the array is
 * unchanged.
 */
#define XP_TABLE_RESERVE(table, len, count) \
	xp_table_reserve(table, len, count, sizeof **(table))

#endif
