// The records that the kernel and the agent share.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "bpf/connect.skel.h"
#include "bpf/connect_event.h"

namespace phantomd {
namespace {

// Both compilers must lay out the shared records alike; the BPF object's own type information says
// how clang did.
class LayoutTest : public testing::Test {
 protected:
  void SetUp() override {
    bpf_.reset(connect_bpf::open());
    ASSERT_NE(bpf_, nullptr);
    btf_ = bpf_object__btf(bpf_->obj);
    ASSERT_NE(btf_, nullptr);
  }

  const btf_type* Struct(const char* name) {
    const int id = btf__find_by_name_kind(btf_, name, BTF_KIND_STRUCT);
    EXPECT_GT(id, 0) << name;
    return id > 0 ? btf__type_by_id(btf_, id) : nullptr;
  }

  // In bytes; -1: no such member.
  int OffsetOf(const btf_type* type, std::string_view member) {
    for (int i = 0; i < btf_vlen(type); ++i) {
      const btf_member& m = btf_members(type)[i];
      if (member == btf__name_by_offset(btf_, m.name_off))
        return btf_member_bit_offset(type, i) / 8;
    }
    return -1;
  }

  struct Destroy {
    void operator()(connect_bpf* bpf) const { connect_bpf::destroy(bpf); }
  };
  std::unique_ptr<connect_bpf, Destroy> bpf_;
  const btf* btf_ = nullptr;
};

#define EXPECT_SAME_OFFSET(type, member) \
  EXPECT_EQ(OffsetOf(Struct(#type), #member), int(offsetof(type, member))) << #type "." #member

TEST_F(LayoutTest, RecordsAgreeWithTheObject) {
  EXPECT_EQ(Struct("connect_record")->size, sizeof(connect_record));
  EXPECT_SAME_OFFSET(connect_record, icmp_code);
  EXPECT_SAME_OFFSET(connect_record, process_start_ns);
  EXPECT_SAME_OFFSET(connect_record, thread_id);
  EXPECT_SAME_OFFSET(connect_record, retransmits);
  EXPECT_SAME_OFFSET(connect_record, destination);
  EXPECT_SAME_OFFSET(connect_record, icmp_error);
  EXPECT_SAME_OFFSET(connect_record, server_isn);
  EXPECT_EQ(Struct("accept_record")->size, sizeof(accept_record));
  EXPECT_SAME_OFFSET(accept_record, uid);
  EXPECT_SAME_OFFSET(accept_record, server_isn);
  EXPECT_SAME_OFFSET(accept_record, remote_port);
  EXPECT_EQ(Struct("end_record")->size, sizeof(end_record));
  EXPECT_SAME_OFFSET(end_record, destination_port);
  EXPECT_SAME_OFFSET(end_record, bytes_received);
  EXPECT_SAME_OFFSET(end_record, uid);
  EXPECT_EQ(Struct("socket_record")->size, sizeof(socket_record));
  EXPECT_SAME_OFFSET(socket_record, remote_port);
  EXPECT_SAME_OFFSET(socket_record, accepted);
  EXPECT_EQ(Struct("process_record")->size, sizeof(process_record));
  EXPECT_SAME_OFFSET(process_record, cgroup_id);
  EXPECT_SAME_OFFSET(process_record, comm);
  EXPECT_EQ(Struct("watch_entry")->size, sizeof(watch_entry));
  EXPECT_EQ(Struct("cgroup_key")->size, sizeof(cgroup_key));
  EXPECT_EQ(Struct("connect_counters")->size, sizeof(connect_counters));
  EXPECT_SAME_OFFSET(connect_counters, unreadable);
  EXPECT_SAME_OFFSET(connect_counters, unseen);
  EXPECT_SAME_OFFSET(connect_counters, unseen_for_ns);
  EXPECT_SAME_OFFSET(connect_counters, lost_at_ns);
  EXPECT_EQ(Struct("followed_process")->size, sizeof(followed_process));
  EXPECT_SAME_OFFSET(followed_process, main_thread);
  EXPECT_SAME_OFFSET(followed_process, others);
  EXPECT_EQ(Struct("cgroup_record")->size, sizeof(cgroup_record));
  EXPECT_SAME_OFFSET(cgroup_record, populated);
  EXPECT_SAME_OFFSET(cgroup_record, path);
  EXPECT_EQ(Struct("pod_link")->size, sizeof(pod_link));
  EXPECT_SAME_OFFSET(pod_link, present_ns);
  EXPECT_SAME_OFFSET(pod_link, absent_ns);
  EXPECT_EQ(Struct("process_name")->size, sizeof(process_name));
  EXPECT_EQ(Struct("socket_place")->size, sizeof(socket_place));
  EXPECT_SAME_OFFSET(socket_place, tcp_state);
}

}  // namespace
}  // namespace phantomd
