// Discovery on the real /proc.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "agent/probe/network_namespace.h"
#include "agent/probe/proc_reader.h"
#include "agent/probe/proxy_discovery.h"

namespace phantomd {
namespace {

// Who may not look at a process of root's still reads its stat.
TEST(RealProcDiscoveryTest, UnreadableProxyLivesOnAsTheKernelToldOfIt) {
  const pid_t test = getpid();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    SystemNamespaceReader namespaces;
    ProxyDiscovery discovery({}, namespaces);
    process_record record{};
    record.process_id = static_cast<uint32_t>(test);
    record.process_start_ns = ProcReader().Start(record.process_id)->nanos();
    std::strcpy(record.comm, "envoy");
    if (ProcReader().Executable(record.process_id).ok()) _exit(3);
    discovery.OnExec(record);
    if (discovery.TakeChanges().size() != 1) _exit(4);
    discovery.Scan(BootTime::FromNanos(record.process_start_ns) + std::chrono::seconds(10));
    _exit(discovery.TakeChanges().empty() && !discovery.limitations().empty() ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace phantomd
