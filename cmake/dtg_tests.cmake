# How tests are registered. A test's label is the name of the folder that registers it; a test that
# takes long has the label "slow" as well and is left out of the default run; one that is about the
# speed or the bytes of the release build has the label "release" and does not run under sanitizers.

# dtg_add_test(NAME [SLOW] [RELEASE] [LABEL label...] [ENVIRONMENT a=b...] COMMAND ...): a ctest
# test of any command. It sees DTG_SOURCE_DIR, DTG_BINARY_DIR and DTGC (the compiler under test) in
# its environment.
function(dtg_add_test name)
  cmake_parse_arguments(arg "SLOW;RELEASE" "" "LABEL;COMMAND;ENVIRONMENT" ${ARGN})
  if(arg_RELEASE AND DTG_ASAN)
    return()
  endif()
  if(NOT arg_LABEL)
    get_filename_component(arg_LABEL ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  if(arg_SLOW)
    list(APPEND arg_LABEL slow)
  endif()
  if(arg_RELEASE)
    list(APPEND arg_LABEL release)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set(environment DTG_SOURCE_DIR=${CMAKE_SOURCE_DIR} DTG_BINARY_DIR=${CMAKE_BINARY_DIR}
      DTGC=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/dtgc
      UBSAN_OPTIONS=print_stacktrace=1 ${arg_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" ENVIRONMENT "${environment}"
                       TIMEOUT 1200)
endfunction()

# dtg_unit_test(NAME SOURCES file... [LIBS target...] [ARGS argument...] [SLOW] [RELEASE]
# [LABEL label...]): a cmocka program, registered as the test <folder>.<name> with the folder's
# label. NAME is that of the executable too, so it must be unique in the project.
add_custom_target(dtg_release_tests)
function(dtg_unit_test name)
  cmake_parse_arguments(arg "SLOW;RELEASE" "" "SOURCES;LIBS;ARGS;LABEL" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} dep::cmocka dep::math)
  set(options)
  if(arg_SLOW)
    list(APPEND options SLOW)
  endif()
  if(arg_RELEASE)
    list(APPEND options RELEASE)
    add_dependencies(dtg_release_tests ${name})
  endif()
  if(arg_LABEL)
    list(APPEND options LABEL ${arg_LABEL})
  endif()
  dtg_add_test(${folder}.${name} ${options} COMMAND ${name} ${arg_ARGS})
endfunction()

# dtg_fuzzer(NAME SOURCES file... [LIBS target...]): a libFuzzer program; built by the preset
# 'fuzz' only and run by './dev fuzz'.
function(dtg_fuzzer name)
  if(NOT DTG_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
