// What the programs cost the verifier, in each configuration: instructions that it walks through.
// More of them are more branches for every event, and in the end a kernel that refuses.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/probe/io_uring_tracepoint.h"
#include "bpf/connect.skel.h"

namespace phantomd {
namespace {

// As counted on Linux 6.18, in the costliest configuration, and a tenth more. Whoever raises one
// says in the commit what it buys.
const std::map<std::string, uint32_t>& Bounds() {
  static const std::map<std::string, uint32_t> bounds = {
      {"on_cgroup_populated", 60},
      {"on_connect_return", 1830},
      {"on_destroy", 225},
      {"on_error_report", 80},
      {"on_error_report_again", 80},
      {"on_exec", 410},
      {"on_exit", 160},
      {"on_io_uring_complete", 1810},
      {"on_open_file", 145},
      {"on_pod_exit", 1110},
      {"on_receive_reset", 15},
      {"on_receive_reset_again", 15},
      {"on_retransmit", 225},
      {"on_set_state", 2780},
      {"on_set_state_again", 1640},
      {"on_tcp_socket", 410},
  };
  return bounds;
}

// Verifiers differ in what they can tell apart: that of 6.1 walks three times as far through the
// longest program. So on the others four times as much.
uint32_t BoundHere(uint32_t bound) {
  utsname names{};
  const bool reference = uname(&names) == 0 && std::string_view(names.release).starts_with("6.18.");
  return reference ? bound : 4 * bound;
}

struct Destroy {
  void operator()(connect_bpf* bpf) const { connect_bpf::destroy(bpf); }
};

// By program; empty when it does not load.
std::map<std::string, uint32_t> VerifiedInstructions(bool host, bool closes, bool successor) {
  std::map<std::string, uint32_t> out;
  const std::unique_ptr<connect_bpf, Destroy> bpf(connect_bpf::open());
  if (bpf == nullptr) return out;
  bpf->rodata->host_netns_cookie = host ? 1 : 0;
  bpf->rodata->record_closes = closes;
  bpf->rodata->own_generation = successor ? 1 : 0;
  const IoUringTracepoint io_uring = ReadIoUringTracepoint("/sys/kernel/btf/vmlinux");
  bpf->rodata->io_uring_tells_entry = io_uring == IoUringTracepoint::kEntry;
  if (io_uring == IoUringTracepoint::kNone || io_uring == IoUringTracepoint::kBlind) {
    bpf_program__set_autoload(bpf->progs.on_io_uring_complete, false);
  }
  if (connect_bpf::load(bpf.get()) != 0) return out;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->obj) {
    if (bpf_program__fd(program) < 0) continue;
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    EXPECT_EQ(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
    out[bpf_program__name(program)] = info.verified_insns;
  }
  return out;
}

TEST(LoadCostTest, NoProgramCostsTheVerifierMoreThanItsBound) {
  std::map<std::string, uint32_t> most;
  for (const bool host : {false, true}) {
    for (const bool closes : {false, true}) {
      for (const bool successor : {false, true}) {
        const auto counted = VerifiedInstructions(host, closes, successor);
        ASSERT_FALSE(counted.empty()) << host << closes << successor;
        for (const auto& [program, count] : counted) most[program] = std::max(most[program], count);
      }
    }
  }
  for (const auto& [program, count] : most) {
    const auto bound = Bounds().find(program);
    ASSERT_NE(bound, Bounds().end()) << program << " has no bound, and costs " << count;
    std::printf("%-22s %5u verified instructions, at most %u\n", program.c_str(), count,
                BoundHere(bound->second));
    EXPECT_LE(count, BoundHere(bound->second)) << program;
    EXPECT_GT(count, 0u) << program;
  }
  EXPECT_LE(most.size(), Bounds().size());
}

}  // namespace
}  // namespace phantomd
