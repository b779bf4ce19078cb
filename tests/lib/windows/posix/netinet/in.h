/* It is all in winsock2.h. */
#include <xt_nt.h>
