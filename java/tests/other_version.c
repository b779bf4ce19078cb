/* What claims to be xpoll 9.9.9: the binding must not use it. */
__attribute__((visibility("default"))) unsigned xpoll_version(void);

unsigned xpoll_version(void)
{
	return 9u << 16 | 9u << 8 | 9u;
}
