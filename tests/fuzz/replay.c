/*
 * In the place of the fuzzer: the inputs that are kept in the tree, once each.
 *
 *   program FOLDER
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define INPUT_MOST 65536

static int replay(const char *folder, const char *name)
{
	static uint8_t bytes[INPUT_MOST];
	char path[4096];
	size_t size;
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(bytes, 1, sizeof bytes, file);
	(void)fclose(file);
	fprintf(stderr, "%s\n", name);
	(void)LLVMFuzzerTestOneInput(bytes, size);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	int failed = 0;
	int count = 0;
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;

	if (!folder) {
		fprintf(stderr, "usage: replay FOLDER\n");
		return 2;
	}
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= replay(argv[1], entry->d_name);
		count++;
	}
	(void)closedir(folder);
	fprintf(stderr, "%d inputs\n", count);
	return count > 0 ? failed : 1;
}
