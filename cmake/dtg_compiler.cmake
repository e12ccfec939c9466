# The C dialect, warnings and sanitizers of every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_compile_options(-Wall -Wextra -Werror -Wshadow -Wmissing-prototypes)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  # With inlining it takes every out-parameter that is set only on success for an uninitialised one,
  # and warns of texts that snprintf might cut, which is what snprintf is for.
  add_compile_options(-Wno-maybe-uninitialized -Wno-format-truncation)
endif()
# Same sources, same bytes out, wherever the tree lies.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)

# What linking with any of our libraries takes; programs that dtgc makes are linked with dtgrt.
set(DTG_SANITIZER_FLAGS "")
if(DTG_ASAN)
  set(DTG_SANITIZER_FLAGS -fsanitize=address,undefined)
  add_compile_options(${DTG_SANITIZER_FLAGS} -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(${DTG_SANITIZER_FLAGS})
endif()

if(DTG_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "DTG_FUZZ needs clang: configure with the preset 'fuzz'")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(DTG_CCACHE ccache)
if(DTG_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${DTG_CCACHE})
endif()
