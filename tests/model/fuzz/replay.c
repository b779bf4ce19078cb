/*
 * In the place of the fuzzer: the inputs that are kept in the tree, once each.
 *
 *   program FILE
 *
 * Each line of FILE is a name and the bytes in hexadecimal, or a comment.
 */
#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MOST 4096
#define NAME_MOST 128
/* NAME_MOST - 1 as text, for sscanf. */
#define NAME_WIDTH "127"

/* The bytes of a text; how many, or -1 if it is none. */
static long parse(const char *text, uint8_t *bytes)
{
	unsigned byte;
	long size = 0;

	for (; sscanf(text, "%2x", &byte) == 1; text += 2) {
		if (size == BYTES_MOST || !isxdigit((unsigned char)text[1]))
			return -1;
		bytes[size++] = (uint8_t)byte;
	}
	return strspn(text, "\r\n") == strlen(text) ? size : -1;
}

/* 1 if the line is an input, which is run then; 0 for a comment. */
static int replay(const char *line)
{
	static uint8_t bytes[BYTES_MOST];
	char name[NAME_MOST];
	int begin = 0;
	long size;

	if (sscanf(line, " %" NAME_WIDTH "s %n", name, &begin) != 1 || name[0] == '#')
		return 0;
	size = parse(line + begin, bytes);
	if (size < 0) {
		fprintf(stderr, "%s: not a name and bytes\n", name);
		return -1;
	}
	fprintf(stderr, "%s\n", name);
	(void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
	return 1;
}

int main(int argc, char **argv)
{
	static char line[NAME_MOST + 2 * BYTES_MOST + 3];
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	int count = 0;
	int one = 0;

	if (!file) {
		fprintf(stderr, "usage: replay FILE\n");
		return 2;
	}
	while (one >= 0 && fgets(line, sizeof line, file)) {
		one = replay(line);
		count += one > 0;
	}
	(void)fclose(file);
	fprintf(stderr, "%d inputs\n", count);
	return one >= 0 && count > 0 ? 0 : 1;
}
