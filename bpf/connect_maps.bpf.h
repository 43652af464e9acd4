// The maps of connect.bpf.c, its constants, and the one way in which records reach the ring.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_CONNECT_MAPS_BPF_H
#define PHANTOMD_BPF_CONNECT_MAPS_BPF_H

// Set before loading. A full wake-up costs more than a connect, so the consumer reads on a timer
// and is woken only above this fill of the ring.
const volatile __u64 wakeup_bytes = 512 * 1024;
// The host's own namespace holds far more than the proxy: there only the proxy's cgroup is watched.
// 0: not known.
const volatile __u64 host_netns_cookie = 0;
// Ends of connections by FIN are recorded too.
const volatile bool record_closes = false;
// Of the agent that loads this object.
const volatile __u64 own_generation = 0;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4 * 1024 * 1024);
} records SEC(".maps");

// Apart from `records`, so that a storm of connects never hides a new proxy.
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 256 * 1024);
} processes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, __u64);  // netns cookie: unlike the inode number never used again
  __type(value, struct watch_entry);
} watched SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 4096);
  __type(key, struct cgroup_key);
  __type(value, __u8);
} watched_cgroups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, __u32);  // process ID
  __type(value, struct followed_process);
} proxy_processes SEC(".maps");

// Names of processes that turned out to be proxies, beyond those that are known anyway.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 256);
  __type(key, struct process_name);
  __type(value, __u8);
} proxy_names SEC(".maps");

// Failed attempts whose connect(2) has yet to return, or will return the error when called again,
// and whose error is one that may as well come before any SYN: that return is a report, not another
// attempt. Keyed by socket cookie, which is never used again, so that an entry nobody asks for does
// no harm until it is the oldest.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, __u64);
  __type(value, __u8);
} unreturned SEC(".maps");

// CONNECT_COUNTER_KINDS for each processor, as many of these as are possible. In the agent's
// memory, which reads them some twenty times a second.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, CONNECT_COUNTER_KINDS);
  __type(key, __u32);
  __type(value, struct connect_counters);
} counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct agent_state);
} agent_state SEC(".maps");

// That the older of two agents' programs has recorded the event which the newer one meets next.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u8);
} claims SEC(".maps");

// Nothing points to these: they keep the records' types in the object's type information, for
// bpftool and for the test that compares their layout with the agent's.
struct connect_record* type_of_connect_record;
struct accept_record* type_of_accept_record;
struct end_record* type_of_end_record;
struct process_record* type_of_process_record;
struct socket_record* type_of_socket_record;
struct socket_place* type_of_socket_place;

static __always_inline bool cgroup_is_watched(__u64 netns_cookie) {
  struct cgroup_key key = {
      .netns_cookie = netns_cookie,
      .cgroup_id = bpf_get_current_cgroup_id(),
  };
  return bpf_map_lookup_elem(&watched_cgroups, &key) != 0;
}

static __always_inline struct connect_counters* counters_of(__u32 kind) {
  const __u32 index = bpf_get_smp_processor_id() * CONNECT_COUNTER_KINDS + kind;
  return bpf_map_lookup_elem(&counters, &index);
}

// A program may count where it has interrupted another one that does.
static __always_inline void count(__u64* counter) { __sync_fetch_and_add(counter, 1); }

// The instant comes first: who reads the count then finds an instant that is not before it.
static __always_inline void count_loss(struct connect_counters* counter, __u64* cause) {
  *(volatile __u64*)&counter->lost_at_ns = bpf_ktime_get_boot_ns();
  count(cause);
}

static __always_inline void count_reserved(__u32 kind, bool lost) {
  struct connect_counters* counter = counters_of(kind);
  if (!counter) return;
  if (!lost)
    count(&counter->submitted);
  else
    count_loss(counter, &counter->lost);
}

static __always_inline void* reserve(__u32 kind, __u64 size) {
  void* record = bpf_ringbuf_reserve(&records, size, 0);
  if (!record) {
    count_reserved(kind, true);
    return 0;
  }
  count_reserved(kind, false);
  return record;
}

static __always_inline void submit(void* record) {
  bpf_ringbuf_submit(record, bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= wakeup_bytes
                                 ? BPF_RB_FORCE_WAKEUP
                                 : BPF_RB_NO_WAKEUP);
}

#endif
