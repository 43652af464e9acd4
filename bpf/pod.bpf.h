// Tells when the pods of the node end.
//
//   cgroup_notify_populated   a cgroup has got its first process, or lost its last one
//   sched_process_exit        whether the pod's link was still there when a process ended
//
// The kernel itself keeps count of the processes of each cgroup, v1 and v2 alike, and tells only of
// the first and the last: that many processes come and go costs nothing here. Whose cgroup it is
// stands in its path, which needs no mounted cgroup file system.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_POD_BPF_H
#define PHANTOMD_BPF_POD_BPF_H

// Not pinned: what happens without an agent is nobody's, the next one looks at what is there.
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1024 * 1024); /* KernelProbeOptions::pod_ring_bytes */
} pods SEC(".maps");

// More than a node has pods.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 4096);
  __type(key, __u64);  // netns cookie
  __type(value, struct pod_link);
} pod_links SEC(".maps");

__u64 pod_records_lost = 0;  // the ring was full

struct cgroup_record* type_of_cgroup_record;

// Of every cgroup: there are few events, and which path is a pod's is easier said in user space.
// Nothing is woken: the instant is in the record.
SEC("tp_btf/cgroup_notify_populated")
int BPF_PROG(on_cgroup_populated, struct cgroup* cgroup, const char* path, int populated) {
  struct cgroup_record* record = bpf_ringbuf_reserve(&pods, sizeof(*record), 0);
  if (!record) {
    count(&pod_records_lost);
    return 0;
  }
  record->at_ns = bpf_ktime_get_boot_ns();
  record->populated = populated != 0;
  const long size = bpf_probe_read_kernel_str(record->path, sizeof(record->path), path);
  record->size = size > 0 ? size - 1 : 0;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

// A namespace has few links; where the pod's is not among the first, nothing is said.
enum { LINKS_AT_MOST = 32 };

// 1: it is there, 0: it is not, -1: nobody knows.
static __always_inline int has_link(struct net* net, __u32 ifindex) {
  struct list_head* head = (void*)net + bpf_core_field_offset(net->dev_base_head);
  struct list_head* at = BPF_CORE_READ(net, dev_base_head.next);
  for (int i = 0; i < LINKS_AT_MOST; ++i) {
    if (!at) return -1;
    if (at == head) return 0;
    struct net_device* link = (void*)at - bpf_core_field_offset(struct net_device, dev_list);
    if (BPF_CORE_READ(link, ifindex) == ifindex) return 1;
    at = BPF_CORE_READ(at, next);
  }
  return -1;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_pod_exit, struct task_struct* task) {
  struct net* net = BPF_CORE_READ(task, nsproxy, net_ns);
  if (!net) return 0;
  const __u64 netns_cookie = BPF_CORE_READ(net, net_cookie);
  struct pod_link* link = bpf_map_lookup_elem(&pod_links, &netns_cookie);
  if (!link || BPF_CORE_READ(task, signal, live.counter) != 0) return 0;
  const int there = has_link(net, link->ifindex);
  if (there > 0)
    link->present_ns = bpf_ktime_get_boot_ns();
  else if (there == 0 && !link->absent_ns)
    link->absent_ns = bpf_ktime_get_boot_ns();
  return 0;
}

#endif
