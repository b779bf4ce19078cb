# Which files make the library on which system: the choice that #if does not make.
# A system is a list of lists; scripts/amalgamate.py reads those of Linux.

# On every system.
set(XPOLL_BASE
  base/heap.c
  base/mutex.c
  base/pool.c
  base/regmap.c
)
set(XPOLL_CORE
  source/table.c
  source/timer.c
  source/user.c
  core/arm.c
  core/ask.c
  core/attention.c
  core/backends.c
  core/batch.c
  core/candidate.c
  core/change.c
  core/close.c
  core/create.c
  core/deliver.c
  core/describe.c
  core/event_count.c
  core/entry.c
  core/event.c
  core/unpollable.c
  core/fork.c
  core/host.c
  core/host_table.c
  core/interest.c
  core/lowat.c
  core/pollike.c
  core/process.c
  core/query.c
  core/recheck.c
  core/registration.c
  core/renew.c
  core/sleep.c
  core/slot.c
  core/solo.c
  core/sources.c
  core/version.c
  core/wait.c
  core/wake.c
  core/source_fd.c
)

# On every system whose descriptors, signals and threads are those of POSIX.
set(XPOLL_POSIX
  base/alloc.c
  os/fdkind.c
  os/fskind.c
  os/process.c
  os/sys_aio.c
  os/sys_clock.c
  os/sys_libc.c
  os/sys_listener.c
  os/sys_select.c
  os/sys_socket.c
  os/sys_threads.c
  backend/bitset.c
  backend/fdmap.c
  backend/own.c
  backend/select.c
  source/provider/aio_hold.c
  source/provider/aio_threads.c
  source/provider/aio_work.c
  source/provider/signal_selfpipe.c
  source/provider/signal_handler.c
  source/inode.c
  source/inode_look.c
  source/proc.c
  source/proc_state.c
  source/proc_trace.c
  source/aio.c
  source/empty.c
  source/signal.c
  source/vnode.c
  core/aio.c
  core/signal.c
)

# Linux: what the kernel has beyond POSIX, without the C library where it is
# called with a lock held.
set(XPOLL_LINUX
  os/wakefd_eventfd.c
  os/fdkind_anon.c
  os/fskind_statfs.c
  os/marks_none.c
  os/procfs.c
  os/sys_cached.c
  os/sys_counts_linux.c
  os/sys_files.c
  os/sys_netlink.c
  os/sys_perf.c
  os/sys_pidfd.c
  os/sys_ppoll.c
  os/sys_statx.c
  os/sys_syscall.c
  os/sys_timerfd.c
  os/sys_unixdiag.c
  os/sys_uring.c
  os/uring.c
  backend/edge_epoll.c
  backend/epoll.c
  backend/outer_epoll.c
  backend/poll.c
  backend/solo_epoll.c
  backend/table_epoll.c
  source/provider/aio_table_uring.c
  source/provider/aio_uring.c
  source/provider/inode_inotify.c
  source/provider/inode_inotify_reports.c
  source/provider/proc_connector.c
  source/provider/proc_perf.c
  source/provider/proc_perf_ring.c
  source/provider/proc_pidfd.c
  source/provider/proc_tracers.c
)

# The systems with kqueue(2): FreeBSD, NetBSD, OpenBSD, DragonFly, macOS.
set(XPOLL_KQUEUE
  os/wakefd_pipe.c
  os/fdkind_anon_none.c
  os/fskind_fstat.c
  os/marks_kqueue.c
  os/pollbits.c
  os/sys_born.c
  os/procfs_none.c
  os/sys_counts_kqueue.c
  os/sys_kqueue.c
  os/sys_posix.c
  os/sys_ppoll.c
  backend/edge_admit.c
  backend/edge_kqueue.c
  backend/kqueue.c
  backend/kqueue_entry.c
  backend/kqueue_later.c
  backend/kqueue_outer.c
  backend/kqueue_set.c
  backend/poll.c
  backend/table_kqueue.c
  source/provider/aio_table_threads.c
  source/provider/inode_kqueue.c
  source/provider/proc_kqueue.c
  source/provider/proc_tracers_none.c
)

# illumos: event ports and /dev/poll.  Edges are by epoll(7).
set(XPOLL_SUNOS
  os/wakefd_pipe.c
  os/fdkind_anon_none.c
  os/fskind_fstat.c
  os/marks_none.c
  os/pollbits.c
  os/sys_born.c
  os/sys_counts_ioctl.c
  os/sys_devpoll.c
  os/sys_epoll_libc.c
  os/sys_pipe_counts_none.c
  os/sys_port.c
  os/sys_port_file.c
  os/sys_posix.c
  os/sys_ppoll.c
  backend/devpoll.c
  backend/devpoll_set.c
  backend/edge_epoll.c
  backend/outer_epoll.c
  backend/poll.c
  backend/port.c
  backend/port_event.c
  backend/port_set.c
  backend/port_wake.c
  backend/solo_epoll.c
  backend/table_port.c
  source/provider/aio_table_threads.c
  source/provider/inode_port.c
  source/empty_none.c
  source/proc_none.c
)

# Windows.  os/nt/posix has what the library uses of POSIX headers that are not there.
set(XPOLL_NT
  base/alloc_aligned.c
  os/sys_pipe_counts_none.c
  os/nt/absent.c
  os/nt/afd_ioctl.c
  os/nt/wakefd_event.c
  os/nt/process.c
  os/nt/sys_aio.c
  os/nt/sys_clock.c
  os/nt/sys_files.c
  os/nt/sys_probe.c
  os/nt/sys_pipes.c
  os/nt/sys_sockets.c
  os/nt/sys_threads.c
  backend/afd.c
  backend/afd_edge.c
  backend/afd_group.c
  backend/afd_kinds.c
  backend/afd_object.c
  backend/afd_pipe.c
  backend/afd_sock.c
  backend/table_afd.c
  os/procfs_none.c
  source/aio.c
  source/inode.c
  source/inode_look.c
  source/proc.c
  source/proc_state.c
  source/proc_trace.c
  source/provider/aio_table_threads.c
  source/provider/aio_hold.c
  source/provider/aio_threads.c
  source/provider/aio_work.c
  source/provider/inode_change.c
  source/provider/proc_handle.c
  source/provider/proc_tracers_none.c
  source/provider/signal_selfpipe.c
  source/provider/signal_console.c
  source/signal.c
  source/empty_none.c
  source/vnode.c
  core/aio.c
  core/signal.c
)

set(XPOLL_SOURCES_LINUX ${XPOLL_BASE} ${XPOLL_POSIX} ${XPOLL_LINUX} ${XPOLL_CORE})
set(XPOLL_SOURCES_KQUEUE ${XPOLL_BASE} ${XPOLL_POSIX} ${XPOLL_KQUEUE} ${XPOLL_CORE})
# macOS: no ppoll(2), so poll is no back end.
set(XPOLL_SOURCES_DARWIN ${XPOLL_SOURCES_KQUEUE}
  os/sys_pselect.c backend/table_kqueue_select.c)
list(REMOVE_ITEM XPOLL_SOURCES_DARWIN
  os/sys_ppoll.c backend/poll.c backend/table_kqueue.c)
set(XPOLL_SOURCES_SUNOS ${XPOLL_BASE} ${XPOLL_POSIX} ${XPOLL_SUNOS} ${XPOLL_CORE})
# No provider for processes yet, and no call that says how much was not sent.
list(REMOVE_ITEM XPOLL_SOURCES_SUNOS
  source/empty.c source/proc.c source/proc_state.c source/proc_trace.c)
# Solaris 11: no epoll(7), so no edges, and no descriptor of a queue.
set(XPOLL_SOURCES_SOLARIS ${XPOLL_SOURCES_SUNOS}
  backend/edge_admit.c backend/edge_none.c backend/outer_none.c backend/table_port_poll.c)
list(REMOVE_ITEM XPOLL_SOURCES_SOLARIS
  os/sys_epoll_libc.c backend/bitset.c backend/edge_epoll.c backend/outer_epoll.c
  backend/solo_epoll.c
  backend/select.c backend/table_port.c)
set(XPOLL_SOURCES_NT ${XPOLL_BASE} ${XPOLL_NT} ${XPOLL_CORE})

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_LINUX})
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_DARWIN})
elseif(CMAKE_SYSTEM_NAME MATCHES "^(FreeBSD|NetBSD|OpenBSD|DragonFly)$")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_KQUEUE})
elseif(CMAKE_SYSTEM_NAME STREQUAL "SunOS")
  include(CheckIncludeFile)
  check_include_file(sys/epoll.h XPOLL_HAS_EPOLL)
  set(XPOLL_SOURCES ${XPOLL_SOURCES_SOLARIS})
  if(XPOLL_HAS_EPOLL)
    set(XPOLL_SOURCES ${XPOLL_SOURCES_SUNOS})
  endif()
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_NT})
else()
  message(FATAL_ERROR "xpoll does not know ${CMAKE_SYSTEM_NAME} yet; see PLATFORMS.md")
endif()
