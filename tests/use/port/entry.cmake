# A system that has POSIX and nothing else.
xpoll_system(MODEL ON Model BACKENDS poll
  FOLDERS posix model EXCEPT source/empty.c source/proc*.c posix/select.c)
