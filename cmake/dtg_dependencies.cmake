# Third-party libraries as imported targets: dep::llvm dep::dnnl dep::config dep::jansson dep::zlib
# dep::minizip dep::sodium dep::xxhash dep::cmocka dep::threads dep::math. Each is required; the error names the
# Debian package.

# dtg_dependency(NAME PACKAGE header library): defines dep::NAME.
function(dtg_dependency name package header library)
  find_path(DTG_${name}_INCLUDE ${header})
  find_library(DTG_${name}_LIBRARY ${library})
  mark_as_advanced(DTG_${name}_INCLUDE DTG_${name}_LIBRARY)
  if(NOT DTG_${name}_INCLUDE OR NOT DTG_${name}_LIBRARY)
    message(FATAL_ERROR "${header} or lib${library} not found: install the package ${package} "
                        "(./dev deps installs everything)")
  endif()
  add_library(dep::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(dep::${name} INTERFACE ${DTG_${name}_LIBRARY})
  if(NOT DTG_${name}_INCLUDE STREQUAL /usr/include)
    target_include_directories(dep::${name} SYSTEM INTERFACE ${DTG_${name}_INCLUDE})
  endif()
endfunction()

dtg_dependency(config libconfig-dev libconfig.h config)
dtg_dependency(jansson libjansson-dev jansson.h jansson)
dtg_dependency(zlib zlib1g-dev zlib.h z)
dtg_dependency(minizip libminizip-dev minizip/unzip.h minizip)
dtg_dependency(sodium libsodium-dev sodium.h sodium)
dtg_dependency(xxhash libxxhash-dev xxhash.h xxhash)
dtg_dependency(dnnl libdnnl-dev dnnl.h dnnl)
dtg_dependency(cmocka libcmocka-dev cmocka.h cmocka)

find_package(FLEX 2.6 QUIET REQUIRED)
find_package(BISON 3.8 QUIET REQUIRED)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads QUIET REQUIRED)
add_library(dep::threads ALIAS Threads::Threads)
add_library(dep::math INTERFACE IMPORTED GLOBAL)
target_link_libraries(dep::math INTERFACE m)

# oneDNN 3 has another C API than 2.
file(STRINGS ${DTG_dnnl_INCLUDE}/oneapi/dnnl/dnnl_version.h dnnl_major
     REGEX "^#define DNNL_VERSION_MAJOR")
if(NOT dnnl_major MATCHES " 2$")
  message(FATAL_ERROR "oneDNN 2 is needed (Debian 12: libdnnl-dev 2.6.3); found: ${dnnl_major}")
endif()

# LLVM's C API from its one shared library; its CMake package would want C++ and static libraries.
find_program(DTG_LLVM_CONFIG NAMES llvm-config-19 llvm-config-18 llvm-config-17 llvm-config)
if(NOT DTG_LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config not found: install the package llvm-19-dev (./dev deps)")
endif()
function(dtg_llvm_query result)
  execute_process(COMMAND ${DTG_LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${text} PARENT_SCOPE)
endfunction()
dtg_llvm_query(llvm_version --version)
if(llvm_version VERSION_LESS 17)
  message(FATAL_ERROR "LLVM 17 or later is needed; ${DTG_LLVM_CONFIG} is ${llvm_version}")
endif()
dtg_llvm_query(llvm_include --includedir)
dtg_llvm_query(llvm_libdir --libdir)
string(REGEX MATCH "^[0-9]+" llvm_major ${llvm_version})
find_library(DTG_llvm_LIBRARY NAMES LLVM-${llvm_major} HINTS ${llvm_libdir} REQUIRED)
add_library(dep::llvm INTERFACE IMPORTED GLOBAL)
target_link_libraries(dep::llvm INTERFACE ${DTG_llvm_LIBRARY})
target_include_directories(dep::llvm SYSTEM INTERFACE ${llvm_include})
