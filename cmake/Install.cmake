# What "cmake --install" puts where.
include(CMakePackageConfigHelpers)

set(libraries)
set(kqueue_libraries)
if(XPOLL_SHARED)
  list(APPEND libraries xpoll)
  list(APPEND kqueue_libraries xpoll_kqueue)
endif()
if(XPOLL_STATIC)
  list(APPEND libraries xpoll_static)
  list(APPEND kqueue_libraries xpoll_kqueue_static)
endif()
install(TARGETS ${libraries} EXPORT xpollTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/xpoll.h include/xpoll.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET xpoll_tree_objects)
  install(FILES include/xpoll_tree.h include/xpoll_tree.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

if(TARGET xpoll_poll_dropin)
  install(TARGETS xpoll_poll_dropin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET xpoll_kqueue)
  install(TARGETS ${kqueue_libraries} EXPORT xpollTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # In a folder of its own: other systems' programs ask whether there is one.
  install(FILES dropin/kqueue/include/sys/event.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xpoll-kqueue/sys)
endif()

if(TARGET xpoll_epoll)
  install(TARGETS ${XPOLL_EPOLL_LIBRARIES} EXPORT xpollTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY dropin/epoll/include/sys
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xpoll-epoll)
endif()

if(TARGET xpoll_tool)
  target_link_libraries(xpoll_tool PRIVATE xpoll_hardening)
  install(TARGETS xpoll_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES tools/xpoll/completion/xpoll.bash RENAME xpoll
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES tools/xpoll/completion/_xpoll
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

if(TARGET xpoll_selftest)
  target_link_libraries(xpoll_selftest PRIVATE xpoll_hardening)
  install(TARGETS xpoll_selftest RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/xpoll)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/xpoll)
install(EXPORT xpollTargets NAMESPACE xpoll:: DESTINATION ${package_dir})
configure_package_config_file(cmake/xpollConfig.cmake.in
  ${PROJECT_BINARY_DIR}/xpollConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xpollConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/xpollConfig.cmake
  ${PROJECT_BINARY_DIR}/xpollConfigVersion.cmake
  DESTINATION ${package_dir})

# The .pc file finds its prefix from its own place, so the tree may be moved; not when it
# was to have a place of its own.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_to_prefix
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  set(pc_prefix \${pcfiledir}/${pc_to_prefix})
endif()
foreach(folder LIBDIR INCLUDEDIR)
  set(pc_${folder} \${prefix}/${CMAKE_INSTALL_${folder}})
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(pc_${folder} ${CMAKE_INSTALL_${folder}})
  endif()
endforeach()
# A static library alone always needs what a shared one has seen to.
set(pc_more)
if(NOT XPOLL_SHARED)
  set(pc_more " \${libs_private}")
endif()
# The BSDs and macOS have dlsym(3) in the C library.
set(pc_dl)
if(CMAKE_DL_LIBS)
  set(pc_dl " -l${CMAKE_DL_LIBS}")
endif()
configure_file(cmake/xpoll.pc.in ${PROJECT_BINARY_DIR}/xpoll.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/xpoll.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET xpoll_kqueue)
  configure_file(dropin/kqueue/xpoll-kqueue.pc.in ${PROJECT_BINARY_DIR}/xpoll-kqueue.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/xpoll-kqueue.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET xpoll_epoll)
  set(pc_needed)
  set(pc_needed_end)
  if(XPOLL_HAS_PUSH_STATE)
    set(pc_needed "-Wl,--push-state,--no-as-needed ")
    set(pc_needed_end " -Wl,--pop-state")
  endif()
  configure_file(dropin/epoll/xpoll-epoll.pc.in ${PROJECT_BINARY_DIR}/xpoll-epoll.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/xpoll-epoll.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# A page of several names is a file and links to it, installed as links: both man-db and
# mandoc find what they lead to, in the installation and in the source tree.  The pages of the
# command and of the drop-ins go with these.
set(absent)
if(NOT TARGET xpoll_tool)
  list(APPEND absent "/xpoll\\.1$")
endif()
if(NOT TARGET xpoll_poll_dropin)
  list(APPEND absent "/xpoll-poll\\.7$")
endif()
if(NOT TARGET xpoll_kqueue)
  list(APPEND absent "\\.2$")
endif()
if(NOT TARGET xpoll_epoll)
  list(APPEND absent "/xpoll-epoll\\.7$")
endif()
foreach(section 1 2 3 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
  foreach(pattern IN LISTS absent)
    list(FILTER pages EXCLUDE REGEX ${pattern})
  endforeach()
  if(pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()
# What the manual pages name, and the guides, where README looks for them.  Files that the
# pages link to and that are not installed, such as docs/internals, are only in the source.
set(texts LICENSE)
if(XPOLL_DOCS)
  list(APPEND texts README.md CHANGELOG.md DIFFERENCES.md PLATFORMS.md SECURITY.md)
endif()
foreach(file IN LISTS texts)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
if(XPOLL_DOCS AND EXISTS ${PROJECT_SOURCE_DIR}/docs/guide)
  install(DIRECTORY docs/guide docs/tutorial docs/images
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    PATTERN CMakeLists.txt EXCLUDE)
  set(doc_folder ${CMAKE_INSTALL_DOCDIR})
  if(NOT IS_ABSOLUTE ${doc_folder}) # The prefix may be that of "cmake --install --prefix".
    set(doc_folder "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}")
  endif()
  install(CODE "
    set(FOLDER \"\$ENV{DESTDIR}${doc_folder}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/InstalledLinks.cmake\")")
endif()
