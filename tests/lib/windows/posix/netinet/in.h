/* Empty, because Windows declares the contents in winsock2.h. */
#include <xt_nt.h>
