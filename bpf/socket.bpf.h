// How addresses are read from sockets and from connect(2)'s argument, and which of them stay inside
// a pod.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_SOCKET_BPF_H
#define PHANTOMD_BPF_SOCKET_BPF_H

static __always_inline void map_v4(__u8 out[16], __be32 v4) {
  __u32* words = (__u32*)out;
  words[0] = 0;
  words[1] = 0;
  words[2] = bpf_htonl(0xffff);
  words[3] = v4;
}

static __always_inline void copy_v6(__u8 out[16], const struct in6_addr* v6) {
  __u32* words = (__u32*)out;
  words[0] = v6->in6_u.u6_addr32[0];
  words[1] = v6->in6_u.u6_addr32[1];
  words[2] = v6->in6_u.u6_addr32[2];
  words[3] = v6->in6_u.u6_addr32[3];
}

// `sk` must be one that the tracepoint itself was given: only that one is read without a probe.
static __always_inline void copy_addresses(struct sock* sk, __u8 local[16], __u8 remote[16]) {
  if (sk->__sk_common.skc_family == AF_INET6) {
    copy_v6(local, &sk->__sk_common.skc_v6_rcv_saddr);
    copy_v6(remote, &sk->__sk_common.skc_v6_daddr);
  } else {
    map_v4(local, sk->__sk_common.skc_rcv_saddr);
    map_v4(remote, sk->__sk_common.skc_daddr);
  }
}

static __always_inline bool is_mapped(const __u8 address[16]) {
  const __u32* words = (const __u32*)address;
  return words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff);
}

static __always_inline bool is_loopback(const __u8 address[16]) {
  const __u32* words = (const __u32*)address;
  if (is_mapped(address)) return address[12] == 127;
  return words[0] == 0 && words[1] == 0 && words[2] == 0 && words[3] == bpf_htonl(1);
}

// Traffic inside a pod: to loopback, to the pod's own address, or from Istio's inbound side (which
// connects from 127.0.0.6, ::6 in IPv6, to the application).
static __always_inline bool stays_in_pod(const __u8 source[16], const __u8 destination[16]) {
  const __u32* s = (const __u32*)source;
  const __u32* d = (const __u32*)destination;
  if (is_loopback(destination)) return true;
  if (s[0] == d[0] && s[1] == d[1] && s[2] == d[2] && s[3] == d[3]) return true;
  if (is_mapped(source)) return s[3] == bpf_htonl(0x7f000006);
  return s[0] == 0 && s[1] == 0 && s[2] == 0 && s[3] == bpf_htonl(6);
}

static __always_inline struct sock* socket_of(struct task_struct* task, __u32 fd) {
  struct fdtable* table = BPF_CORE_READ(task, files, fdt);
  if (fd >= BPF_CORE_READ(table, max_fds)) return 0;
  struct file** files = BPF_CORE_READ(table, fd);
  struct file* file = 0;
  if (bpf_probe_read_kernel(&file, sizeof(file), files + fd)) return 0;
  struct socket* socket = BPF_CORE_READ(file, private_data);
  return BPF_CORE_READ(socket, sk);
}

struct socket_address {
  __u16 family;
  __be16 port;
  union {
    __be32 v4;
    struct {
      __be32 flow;
      __u8 v6[16];
    };
  };
};

#endif
