/*
 * The functions of Jni.java, by which Java calls C.  They have the names and parameters that JNI
 * requires, declared here, so that this file is compiled without the headers of a JDK.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int64_t any_function(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f,
                             int64_t g);

EXPORT int64_t Java_org_xpoll_Jni_call(void *env, void *class, int64_t function, int64_t error,
                                       int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                                       int64_t f, int64_t g);
EXPORT int64_t Java_org_xpoll_Jni_find(void *env, void *class, int64_t library, int64_t name);
EXPORT int64_t Java_org_xpoll_Jni_address(void *env, void *class, void *buffer);

/* The number of GetDirectBufferAddress in the table of functions that JNI defines. */
enum { GET_DIRECT_BUFFER_ADDRESS = 230 };
typedef void *address_function(void *env, void *buffer);

/* Calls the function at this address, and stores errno at the address `error`. */
int64_t Java_org_xpoll_Jni_call(void *env, void *class, int64_t function, int64_t error,
                                int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                                int64_t f, int64_t g)
{
	int64_t result = ((any_function *)(intptr_t)function)(a, b, c, d, e, f, g);

	(void)env;
	(void)class;
	*(int *)(intptr_t)error = errno;
	return result;
}

/*
 * Returns the address of a function.  library: a handle of dlopen(3), or 0 to search all libraries
 * that are loaded.  Returns 0 if there is none.
 */
int64_t Java_org_xpoll_Jni_find(void *env, void *class, int64_t library, int64_t name)
{
	void *handle = library ? (void *)(intptr_t)library : RTLD_DEFAULT;

	(void)env;
	(void)class;
	return (int64_t)(intptr_t)dlsym(handle, (const char *)(intptr_t)name);
}

/* Returns the address of the memory of a direct ByteBuffer. */
int64_t Java_org_xpoll_Jni_address(void *env, void *class, void *buffer)
{
	address_function *const *table = *(address_function *const **)env;

	(void)class;
	return (int64_t)(intptr_t)table[GET_DIRECT_BUFFER_ADDRESS](env, buffer);
}
