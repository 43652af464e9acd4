# What the build takes from the system: Debian 12's packages, listed in deploy/packages.

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(CURL REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libbpf REQUIRED IMPORTED_TARGET libbpf>=1.1)

# Debian's gRPC is not instrumented for ThreadSanitizer, so that build leaves out everything that links it.
if(PHANTOMD_SANITIZE MATCHES "thread")
  set(PHANTOMD_WITH_GRPC OFF)
else()
  set(PHANTOMD_WITH_GRPC ON)
  find_package(gRPC REQUIRED)
  find_package(prometheus-cpp REQUIRED)
  pkg_check_modules(libmicrohttpd REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
endif()
