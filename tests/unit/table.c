/*
 * Goal: a table has room for the requested number of items, keeps its items
 * when it grows, and new items are zero; if memory lacks, the table is
 * unchanged.
 * Method: tables of items of several sizes grow step by step.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "xt.h"

XT_TEST(what_is_in_a_table_stays_and_the_rest_is_zero)
{
	struct item {
		char bytes[24];
	} *items = NULL, zero = {{0}};
	int len = 0;

	for (int count = 1; count < 1000; count++) {
		XT_EQ(XP_TABLE_RESERVE(&items, &len, count), 0);
		XT_CHECK(count <= len);
		for (int i = count - 1; i < len; i++)
			XT_CHECK(memcmp(&items[i], &zero, sizeof zero) == 0);
		memset(&items[count - 1], count % 255 + 1, sizeof *items);
		for (int i = 0; i < count; i++)
			XT_EQ((unsigned char)items[i].bytes[23], (i + 1) % 255 + 1);
	}
	xp_free(items);
}

XT_TEST(room_that_is_there_moves_nothing)
{
	char *bytes = NULL, *before;
	int len = 0;

	XT_EQ(XP_TABLE_RESERVE(&bytes, &len, 0), 0);
	XT_CHECK(!bytes && len == 0);
	XT_EQ(XP_TABLE_RESERVE(&bytes, &len, 100), 0);
	before = bytes;
	XT_EQ(XP_TABLE_RESERVE(&bytes, &len, len), 0);
	XT_CHECK(bytes == before);
	xp_free(bytes);
}

XT_TEST(table_larger_than_any_memory_is_as_before)
{
	struct large {
		char bytes[SIZE_MAX >> 29];
	} *items = NULL;
	int len = 0;

	XT_EQ(XP_TABLE_RESERVE(&items, &len, 1 << 30), -ENOMEM);
	XT_CHECK(!items && len == 0);
}
