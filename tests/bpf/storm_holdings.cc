#include "tests/bpf/storm_holdings.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/base/check.h"

namespace phantomd {

namespace {

std::vector<int> Descriptors() {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    out.push_back(std::stoi(entry.path().filename()));
  }
  return out;
}

// A line "NAME: NUMBER" of a file below /proc/self; 0: no such line.
uint64_t NumberIn(const std::string& file, const std::string& name) {
  std::ifstream in("/proc/self/" + file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    uint64_t out = 0;
    std::istringstream(line.substr(name.size() + 1)) >> out;
    return out;
  }
  return 0;
}

uint32_t IdBehind(int fd, const char* kind) { return NumberIn(fmt::format("fdinfo/{}", fd), kind); }

}  // namespace

Holdings Holdings::Now() {
  Holdings out;
  for (int fd : Descriptors()) {
    ++out.descriptors;
    out.maps += IdBehind(fd, "map_id") != 0;
    const bool link = IdBehind(fd, "link_id") != 0;
    out.links += link;
    out.programs += !link && IdBehind(fd, "prog_id") != 0;  // a link names its program too
  }
  --out.descriptors;  // the one that listed them
  out.heap_bytes = mallinfo2().uordblks;
  out.resident_kib = NumberIn("status", "VmRSS");
  return out;
}

std::string Holdings::ToString() const {
  return fmt::format(
      "{} descriptors ({} maps, {} programs, {} links), heap {} KiB, resident {} KiB", descriptors,
      maps, programs, links, heap_bytes / 1024, resident_kib);
}

BpfObjects BpfObjects::Mine() {
  BpfObjects out;
  for (int fd : Descriptors()) {
    if (const uint32_t id = IdBehind(fd, "map_id")) out.maps_.push_back(id);
    if (const uint32_t id = IdBehind(fd, "prog_id")) out.programs_.push_back(id);
    if (const uint32_t id = IdBehind(fd, "link_id")) out.links_.push_back(id);
  }
  return out;
}

int BpfObjects::FdOf(const std::string& map, size_t key_size) const {
  for (int fd : Descriptors()) {
    if (IdBehind(fd, "map_id") == 0) continue;
    bpf_map_info info{};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.name == map) {
      PHANTOMD_CHECK(info.key_size == key_size);
      return fd;
    }
  }
  PHANTOMD_CHECK(false);
}

bool BpfObjects::AnyAlive() const {
  const auto alive = [](int fd) {
    if (fd >= 0) close(fd);
    return fd >= 0;
  };
  for (uint32_t id : maps_) {
    if (alive(bpf_map_get_fd_by_id(id))) return true;
  }
  for (uint32_t id : programs_) {
    if (alive(bpf_prog_get_fd_by_id(id))) return true;
  }
  for (uint32_t id : links_) {
    if (alive(bpf_link_get_fd_by_id(id))) return true;
  }
  return false;
}

}  // namespace phantomd
