/* The kernel types that the BPF programs read, and nothing else.
 *
 * Written by hand rather than dumped from a build host: every field is relocated by CO-RE against
 * the running kernel's BTF at load time, so that only names and types matter here, neither order
 * nor offsets nor the fields left out. Every field exists under this name from 5.15 on.
 */
#ifndef __VMLINUX_H__ /* the name by which libbpf's headers know that kernel types are present */
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __s32 pid_t;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* Values of the kernel's user-space interface, which never change. */
enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_SK_STORAGE = 24,
  BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

enum { AF_INET = 2, AF_INET6 = 10 };
enum { IPPROTO_TCP = 6, IPPROTO_MPTCP = 262 };
enum { SHUTDOWN_MASK = 3 };
enum { SOCK_DONE = 1 }; /* bit of skc_flags: the peer's FIN has arrived */
enum { PF_KTHREAD = 0x00200000 };
enum { IORING_OP_CONNECT = 16 };
enum {
  TCP_ESTABLISHED = 1,
  TCP_SYN_SENT = 2,
  TCP_SYN_RECV = 3,
  TCP_FIN_WAIT1 = 4,
  TCP_FIN_WAIT2 = 5,
  TCP_TIME_WAIT = 6,
  TCP_CLOSE = 7,
  TCP_CLOSE_WAIT = 8,
  TCP_LAST_ACK = 9,
  TCP_LISTEN = 10,
  TCP_CLOSING = 11,
};
enum { SO_EE_ORIGIN_ICMP = 2, SO_EE_ORIGIN_ICMP6 = 3 };
enum {
  EPERM = 1,
  EACCES = 13,
  EINVAL = 22,
  EADDRNOTAVAIL = 99,
  ENETUNREACH = 101,
  ECONNABORTED = 103,
  EHOSTUNREACH = 113,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

typedef struct {
  __s64 counter;
} atomic64_t;

typedef struct {
  __u32 val;
} kuid_t;

struct kernfs_node {
  __u64 id;
};

struct cgroup {
  struct kernfs_node* kn;
};

struct sock_cgroup_data {
  struct cgroup* cgroup;
};

struct list_head {
  struct list_head* next;
};

struct net_device {
  struct list_head dev_list;
  int ifindex;
};

struct net {
  __u64 net_cookie;
  struct list_head dev_base_head;
};

typedef struct {
  struct net* net;
} possible_net_t;

struct in6_addr {
  union {
    __u8 u6_addr8[16];
    __be32 u6_addr32[4];
  } in6_u;
};

struct sk_buff {
  char cb[48];
};

struct sk_buff_head {
  struct sk_buff* prev;
};

struct sock_extended_err {
  __u32 ee_errno;
  __u8 ee_origin;
  __u8 ee_type;
  __u8 ee_code;
};

struct sock_exterr_skb {
  struct sock_extended_err ee;
};

struct sock_common {
  __be32 skc_daddr;
  __be32 skc_rcv_saddr;
  __be16 skc_dport;
  __u16 skc_num;
  unsigned short skc_family;
  volatile unsigned char skc_state;
  unsigned long skc_flags;
  possible_net_t skc_net;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
  atomic64_t skc_cookie;
};

struct sock {
  struct sock_common __sk_common;
  struct sk_buff_head sk_error_queue;
  int sk_err;
  int sk_err_soft;
  kuid_t sk_uid;
  __u16 sk_protocol;
  __u8 sk_shutdown;
  __u32 sk_max_ack_backlog;
  struct sock_cgroup_data sk_cgrp_data;
};

struct inet_sock {
  __be16 inet_sport;
};

struct inet_connection_sock {
  struct inet_sock icsk_inet;
  __u8 icsk_retransmits;
};

struct tcp_sock {
  struct inet_connection_sock inet_conn;
  __u32 segs_out;
  __u32 rcv_nxt;
  __u32 snd_una;
  __u32 total_retrans;
  __u64 bytes_acked;
  __u64 bytes_sent;
  __u64 bytes_retrans;
  __u64 bytes_received;
};

struct mptcp_sock {
  struct sock* first;
};

struct socket {
  struct sock* sk;
};

struct file {
  void* private_data;
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

struct nsproxy {
  struct net* net_ns;
};

struct signal_struct {
  atomic_t live;
};

struct task_struct {
  unsigned int flags;
  pid_t pid;
  pid_t tgid;
  __u64 start_boottime;
  struct task_struct* group_leader;
  struct files_struct* files;
  struct nsproxy* nsproxy;
  struct signal_struct* signal;
  char comm[16];
};

struct linux_binprm;

struct sockaddr;

/* A request begins with the struct of its operation, of which only the file is common. */
struct io_kiocb {
  struct file* file;
  __u8 opcode;
};

struct io_connect {
  struct sockaddr* addr;
};

struct io_uring_cqe {
  __s32 res;
};

struct seq_file;

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__tcp {
  struct bpf_iter_meta* meta;
  struct sock_common* sk_common;
};

struct bpf_iter__task_file {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
  __u32 fd;
  struct file* file;
};

/* x86-64; arm64 keeps what libbpf's macros read in user_pt_regs. */
struct pt_regs {
  unsigned long di;
  unsigned long si;
};

struct user_pt_regs {
  __u64 regs[31];
};

#pragma clang attribute pop

/* Context of the syscalls:sys_exit_* tracepoints. */
struct sys_exit_context {
  __u64 common;
  __s64 syscall_number;
  __s64 ret;
};

#endif
