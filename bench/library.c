/*
 * Finding another library by its file, when it is to be measured.
 */
#include <dlfcn.h>
#include <string.h>

#include "bench.h"

bool bench_library_load(struct bench_library *library)
{
	if (library->handle == NULL)
		library->handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (library->handle == NULL)
		return false;
	for (const struct bench_symbol *symbol = library->symbols; symbol->name != NULL;
	     symbol++) {
		void *address = dlsym(library->handle, symbol->name);

		if (address == NULL)
			return false;
		/* ISO C has no cast from an object's address to a function's. */
		memcpy(symbol->function, &address, sizeof address);
	}
	return true;
}
