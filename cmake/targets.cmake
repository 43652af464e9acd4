# phantomd_library(NAME SOURCES ... DEPENDS ...): one folder, one library.
# phantomd_test(NAME LABEL label SOURCES ... DEPENDS ...): one gtest binary, one ctest entry.
# phantomd_benchmark(NAME SOURCES ... DEPENDS ...): one google-benchmark binary.
# phantomd_fuzzer(NAME CORPUS folder LONGEST bytes SOURCES ... DEPENDS ...): where the build is one for fuzzing, one
# libFuzzer program, and one ctest entry of label fuzz that tries new inputs for a while (tests/fuzz/run).
#
# Everything of ours is built with warnings as errors and sees includes from the root of the tree only.

add_library(phantomd_options INTERFACE)
target_include_directories(phantomd_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(phantomd_options INTERFACE PHANTOMD_VERSION="${PROJECT_VERSION}")
target_compile_options(phantomd_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes the empty state of a std::optional for an uninitialised read; the sanitizers find the real ones.
  target_compile_options(phantomd_options INTERFACE -Wno-maybe-uninitialized)
  if(CMAKE_UNITY_BUILD)
    # It takes the sources that a unity file includes for headers, in which such types would be a mistake.
    target_compile_options(phantomd_options INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(phantomd_options INTERFACE -Wthread-safety)
endif()
if(PHANTOMD_SANITIZE)
  add_compile_options(-fsanitize=${PHANTOMD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PHANTOMD_SANITIZE})
endif()

# Optimising a test costs more than running it.
set(PHANTOMD_TEST_OPTIONS "" CACHE STRING "Compile options for the tests' own sources")

option(PHANTOMD_FUZZ "Make the fuzzers' programs; needs clang and fuzzer-no-link among the sanitizers" OFF)

# The builds compile sources eight at a time (CMAKE_UNITY_BUILD), and those that make programs share two precompiled
# headers; each halves the time. The thread-safety build has no precompiled one, so that a room of the product whose
# files forget an include does not compile there. ccache keeps objects made with one only if told so.
option(PHANTOMD_PRECOMPILED_HEADERS "Share precompiled headers of the libraries' and GoogleTest's headers" OFF)
if(PHANTOMD_PRECOMPILED_HEADERS)
  # A precompiled header serves only what is compiled with the macros and threads it was made with.
  target_compile_options(phantomd_options INTERFACE -pthread)
  target_link_libraries(phantomd_options INTERFACE fmt::fmt)
  file(WRITE ${PROJECT_BINARY_DIR}/empty.cc "")
  add_library(phantomd_pch STATIC ${PROJECT_BINARY_DIR}/empty.cc)
  target_link_libraries(phantomd_pch PUBLIC phantomd_options fmt::fmt absl::flat_hash_map absl::inlined_vector
    absl::statusor Threads::Threads)
  target_precompile_headers(phantomd_pch PRIVATE
    <algorithm> <chrono> <cstdint> <deque> <functional> <map> <memory> <optional> <set> <string> <string_view>
    <utility> <variant> <vector> <fmt/format.h> <absl/container/flat_hash_map.h> <absl/container/inlined_vector.h>
    <absl/status/statusor.h>)
  add_library(phantomd_test_pch STATIC ${PROJECT_BINARY_DIR}/empty.cc)
  target_link_libraries(phantomd_test_pch PUBLIC phantomd_pch GTest::gmock GTest::gtest)
  target_compile_options(phantomd_test_pch PRIVATE ${PHANTOMD_TEST_OPTIONS})
  target_precompile_headers(phantomd_test_pch PRIVATE
    <algorithm> <chrono> <cstdint> <deque> <functional> <map> <memory> <optional> <set> <string> <string_view>
    <utility> <variant> <vector> <fmt/format.h> <absl/container/flat_hash_map.h> <absl/container/inlined_vector.h>
    <absl/status/statusor.h> <gmock/gmock.h> <gtest/gtest.h>)
endif()

function(phantomd_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC phantomd_options ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY PHANTOMD_LIBRARIES ${name})
  if(PHANTOMD_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM phantomd_pch)
  endif()
endfunction()

function(phantomd_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE phantomd_options ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${PHANTOMD_TEST_OPTIONS})
  if(PHANTOMD_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM phantomd_test_pch)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "PHANTOMD_SOURCE_DIR=${PROJECT_SOURCE_DIR};PHANTOMD_BUILD_DIR=${PROJECT_BINARY_DIR}")
  if(arg_LABEL MATCHES "unit|edge")
    set_property(GLOBAL APPEND PROPERTY PHANTOMD_SANITIZER_TESTS ${name})
  elseif(NOT arg_LABEL STREQUAL "world")
    # These make namespaces and load BPF programs: one at a time.
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

function(phantomd_benchmark name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE phantomd_options ${arg_DEPENDS} benchmark::benchmark_main)
endfunction()

add_custom_target(fuzzers)
function(phantomd_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS;LONGEST" "SOURCES;DEPENDS" ${ARGN})
  if(NOT PHANTOMD_FUZZ)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE phantomd_options ${arg_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  add_test(NAME ${name}
    COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run $<TARGET_FILE:${name}> ${PROJECT_SOURCE_DIR}/${arg_CORPUS} ${arg_LONGEST})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 3600)
endfunction()
