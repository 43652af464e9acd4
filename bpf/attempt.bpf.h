// What is remembered of a socket that connected: in the socket's own storage, which goes with it.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_ATTEMPT_BPF_H
#define PHANTOMD_BPF_ATTEMPT_BPF_H

enum attempt_state { ATTEMPT_NONE, ATTEMPT_CONNECTING, ATTEMPT_ESTABLISHED };

struct attempt {
  __u64 started_ns;
  __u64 established_ns;
  __u64 cgroup_id;
  __u64 process_start_ns;
  __u32 process_id;
  __u32 thread_id;
  __u8 state;  // enum attempt_state
  __u8 flags;  // enum connect_record_flags
  __u8 icmp_type;
  __u8 icmp_code;
  __u16 icmp_error;
  bool stalled;
  __u8 begun_by;  // low bits of the agent's generation
};

struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct attempt);
} attempts SEC(".maps");

#endif
