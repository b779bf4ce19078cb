# A test as this project wants it: with a time limit, a label and 77 for "skipped".
#
#   xpoll_add_test(NAME name COMMAND command... [TIMEOUT seconds] [LABELS label...]
#                  [ENVIRONMENT VAR=value...] [SERIAL])
#
# TIMEOUT defaults to 60, for a machine that does nothing else; CTest waits for ten times
# that, as its clock cannot tell a stuck test from a busy machine.  Sanitizer builds and
# the nightly run multiply both by XPOLL_TIMEOUT_FACTOR.  What may take longer begins
# earlier, so that not all wait for it at the end.  A command that names a target is run
# under XPOLL_TEST_WRAPPER, which the valgrind preset sets.
set(XPOLL_TEST_WRAPPER "" CACHE STRING "Command, as a list, under which test programs run")

function(xpoll_add_test)
  cmake_parse_arguments(arg "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  list(GET arg_COMMAND 0 program)
  if(XPOLL_TEST_WRAPPER AND TARGET ${program})
    list(POP_FRONT arg_COMMAND)
    list(PREPEND arg_COMMAND ${XPOLL_TEST_WRAPPER} $<TARGET_FILE:${program}>)
  endif()
  # The library as it is on another system, and models of kernels: ./dev test leaves them out.
  if(arg_ENVIRONMENT MATCHES "/lib/over-|TARGET_FILE:model_")
    list(APPEND arg_LABELS long)
  endif()
  # Models of the kernels of other systems: ./dev ci runs these once, with one compiler.
  if(arg_ENVIRONMENT MATCHES "/lib/over-[^k]|TARGET_FILE:model_")
    list(APPEND arg_LABELS kernels)
  endif()
  # With one thread on such a kernel what is also done with more: for scripts/nightly.sh.
  if("kernels" IN_LIST arg_LABELS AND "alone" IN_LIST arg_LABELS)
    list(APPEND arg_LABELS nightly)
  endif()
  # ./dev test has the contract on each back end, and what stands on it on epoll.
  if(arg_NAME MATCHES "^contract.*[.](poll|select)[.]threads$" OR
      arg_NAME MATCHES "^(source|stress|soak|fault|examples).*[./](poll|select)([.][a-z]+)?$")
    list(APPEND arg_LABELS long)
  endif()
  math(EXPR limit "${arg_TIMEOUT} * ${XPOLL_TIMEOUT_FACTOR}")
  # For tests/lib/runner, which needs neither CTest nor a shell.
  if(TARGET ${program})
    list(JOIN arg_ENVIRONMENT " " line)
    set(line "${arg_NAME} ${limit} ${line} ${arg_COMMAND}")
    list(JOIN line " " line)
    set_property(GLOBAL APPEND_STRING PROPERTY XPOLL_TEST_LIST "${line}\n")
  endif()

  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  math(EXPR limit "10 * ${limit}")
  set_tests_properties(${arg_NAME} PROPERTIES
    TIMEOUT ${limit} COST ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
  if(arg_LABELS)
    set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}")
  endif()
  if(arg_ENVIRONMENT)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# xpoll_skipped_test(NAME LABEL REASON): a test that cannot be built here, as a skip.
function(xpoll_skipped_test name label reason)
  xpoll_add_test(NAME ${name} LABELS ${label}
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/lib/skip.sh "${reason}")
endfunction()

# xpoll_only_long(TARGET...): only tests with the label "long" need these targets, so that
# ./dev test does not build them.
function(xpoll_only_long)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES XPOLL_ONLY_LONG ON)
    endif()
  endforeach()
endfunction()

# The targets of a folder and of those below it that ./dev test needs, into the list `out`.
function(xpoll_quick_targets folder out)
  set(quick)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(long ${target} XPOLL_ONLY_LONG)
    get_target_property(apart ${target} EXCLUDE_FROM_ALL)
    if(NOT long AND NOT apart AND NOT type MATCHES "UTILITY|INTERFACE")
      list(APPEND quick ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    xpoll_quick_targets(${below} more)
    list(APPEND quick ${more})
  endforeach()
  set(${out} ${quick} PARENT_SCOPE)
endfunction()

# The target "quick": what ./dev test builds.
function(xpoll_quick_target)
  xpoll_quick_targets(${PROJECT_SOURCE_DIR} quick)
  add_custom_target(quick DEPENDS ${quick})
  # And the library as it is on the systems with kqueue(2), over the drop-in.
  add_custom_target(quick_and_kqueue DEPENDS quick)
  foreach(target xpoll_over_kqueue xpoll_python_over_kqueue)
    if(TARGET ${target})
      add_dependencies(quick_and_kqueue ${target})
    endif()
  endforeach()
endfunction()

# xpoll_add_slow_test(NAME COMMAND...): once more with slow threads (tests/lib/delays.c), as
# slow.NAME.  In ./dev ci, once; the seed is XPOLL_DELAY_SEED.
function(xpoll_add_slow_test name)
  if(TARGET xt_delays)
    xpoll_add_test(NAME slow.${name} COMMAND ${ARGN} LABELS slow long once TIMEOUT 300
      ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:xt_delays>)
  endif()
endfunction()
