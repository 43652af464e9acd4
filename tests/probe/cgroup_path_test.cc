#include "agent/probe/cgroup_path.h"

#include <gtest/gtest.h>

namespace phantomd {
namespace {

constexpr char kUid[] = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
constexpr char kId[] = "4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e";
#define UID "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define UID_ "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
#define CID "4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e"

struct PathRow {
  const char* path;
  const char* uid;
  const char* container_id;
};

const PathRow kPathRows[] = {
    {"/kubepods/burstable/pod" UID "/" CID, kUid, kId},
    {"/kubepods/pod" UID "/" CID, kUid, kId},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
     ".slice/cri-containerd-" CID ".scope",
     kUid, kId},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" CID ".scope", kUid, kId},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" CID ".scope", kUid, kId},
    {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
     "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" CID ".scope",
     kUid, kId},
    {"/docker/99887766554433221100/kubelet/kubepods/besteffort/pod" UID "/" CID, kUid, kId},
    {"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" CID,
     kUid, kId},
    {"/../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" CID
     ".scope",
     kUid, kId},
    // CRI-O puts a payload below the container, which is not another container.
    {"/kubepods/pod" UID "/crio-" CID "/container", kUid, kId},
    // A static pod's UID is a hash.
    {"/kubepods/pod00112233445566778899aabbccddeeff/" CID, "00112233445566778899aabbccddeeff", kId},
    {"/kubepods/burstable/pod" UID, kUid, ""},
    {"/kubepods/burstable/pod" UID "/not-hexadecimal", kUid, ""},
    {"/user.slice/user-1000.slice/session-3.scope", "", ""},
    {"/machine.slice/libpod-" CID ".scope", "", ""},
    {"/kubepods/pod0a1b2c3d", "", ""},
    {"/", "", ""},
    {"", "", ""},
};

TEST(CgroupPathTest, PodAndContainerAreFoundInEveryForm) {
  for (const PathRow& row : kPathRows) {
    const CgroupOwner owner = OwnerOfCgroupPath(row.path);
    EXPECT_EQ(owner.pod_uid.value(), row.uid) << row.path;
    EXPECT_EQ(owner.container_id, row.container_id) << row.path;
  }
}

TEST(CgroupPathTest, AnyHierarchyMayNameThePod) {
  const CgroupOwner owner =
      OwnerOfCgroups("9:name=systemd:/\n4:memory:/kubepods/pod" UID "/" CID "\n0::/\n");
  EXPECT_EQ(owner, (CgroupOwner{PodUid(kUid), kId}));
  EXPECT_EQ(OwnerOfCgroups("0::/kubepods/pod" UID "/" CID "\n").pod_uid, PodUid(kUid));
  EXPECT_EQ(OwnerOfCgroups("4:memory:/user.slice\n0::/\n"), CgroupOwner());
  EXPECT_EQ(OwnerOfCgroups("garbage\n\n::"), CgroupOwner());
}

TEST(CgroupPathTest, UnifiedPathIsTheLineWithoutControllers) {
  EXPECT_EQ(UnifiedCgroupPath("4:memory:/a\n0::/b/c\n"), "/b/c");
  EXPECT_EQ(UnifiedCgroupPath("4:memory:/a\n1:name=systemd:/x\n"), "");
}

struct MemberRow {
  const char* path;
  const char* member;  // null: no cgroup of a pod
  bool inside;
};

TEST(PodCgroupTest, NamesTheContainersCgroup) {
  const MemberRow rows[] = {
      {"/kubepods/burstable/pod" UID, "", false},
      {"/kubepods/burstable/pod" UID "/" CID, CID, false},
      {"/kubepods/burstable/pod" UID "/" CID "/init.scope", CID, true},
      {"/kubepods.slice/kubepods-pod" UID_ ".slice", "", false},
      {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" CID ".scope", "crio-" CID ".scope",
       false},
      {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" CID ".scope/container",
       "crio-" CID ".scope", true},
      {"/../../kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" CID ".scope",
       "cri-containerd-" CID ".scope", false},
      {"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" CID,
       "kubepods-burstable-pod" UID_ ".slice:cri-containerd:" CID, false},
      // It looks after the container, and ends after it.
      {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" CID ".scope", nullptr, false},
      {"/kubepods.slice/kubepods-burstable.slice", nullptr, false},
      {"/system.slice/podman.service", nullptr, false},
      {"/", nullptr, false},
      {"", nullptr, false},
  };
  for (const MemberRow& row : rows) {
    SCOPED_TRACE(row.path);
    const std::optional<PodCgroup> found = PodCgroupOfPath(row.path);
    ASSERT_EQ(found.has_value(), row.member != nullptr);
    if (row.member == nullptr) continue;
    EXPECT_EQ(*found, (PodCgroup{PodUid(kUid), row.member, row.inside}));
  }
}

TEST(PodCgroupTest, FirstLineThatNamesAPodDecides) {
  EXPECT_EQ(
      PodCgroupOfProcess("12:pids:/\n4:memory:/kubepods/pod" UID "/" CID "\n0::/init.scope\n"),
      (PodCgroup{PodUid(kUid), kId, false}));
  EXPECT_EQ(PodCgroupOfProcess("0::/system.slice/sshd.service\n"), std::nullopt);
}

}  // namespace
}  // namespace phantomd
