/* Placeholder: requests of aio_read(2) and the like that end as events. */
#include "kq.h"

void kq_aio_event(struct kevent *event)
{
	(void)event;
}
