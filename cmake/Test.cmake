# A test as this project wants it: with a time limit, a label and 77 for "skipped".
#
#   xpoll_add_test(NAME name COMMAND command... [TIMEOUT seconds] [LABELS label...]
#                  [ENVIRONMENT VAR=value...] [COST seconds] [SERIAL])
#
# TIMEOUT defaults to 60, for a machine that does nothing else; CTest waits for ten times
# that, as its clock cannot tell a stuck test from a busy machine.  Sanitizer builds and
# the nightly run multiply both by XPOLL_TIMEOUT_FACTOR.  A command that names a target is run under
# XPOLL_TEST_WRAPPER, which the valgrind preset sets.  COST is about how long a test
# takes that takes long: it is begun early, so that it is not what all wait for.
set(XPOLL_TEST_WRAPPER "" CACHE STRING "Command, as a list, under which test programs run")

function(xpoll_add_test)
  cmake_parse_arguments(arg "SERIAL" "NAME;TIMEOUT;COST" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  list(GET arg_COMMAND 0 program)
  if(XPOLL_TEST_WRAPPER AND TARGET ${program})
    list(POP_FRONT arg_COMMAND)
    list(PREPEND arg_COMMAND ${XPOLL_TEST_WRAPPER} $<TARGET_FILE:${program}>)
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
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${limit} SKIP_RETURN_CODE 77)
  if(arg_LABELS)
    set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}")
  endif()
  if(arg_ENVIRONMENT)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_COST)
    set_tests_properties(${arg_NAME} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
