/* What the BPF programs and the agent share: the records of the two ring buffers and the values of
 * the maps. With agent_state.h, end_event.h, pod_event.h and process_event.h, which it
 * includes, the only header that both sides include.
 *
 * Raw facts only: what they mean is decided in agent/probe/. Instants are nanoseconds on
 * CLOCK_BOOTTIME. Addresses are 16 bytes in network order, IPv4 as ::ffff:a.b.c.d; ports are in
 * host order. Every record begins with its kind; padding is explicit and zero.
 */
#ifndef PHANTOMD_BPF_CONNECT_EVENT_H
#define PHANTOMD_BPF_CONNECT_EVENT_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#ifdef __cplusplus
#define PHANTOMD_STATIC_ASSERT static_assert
#else
#define PHANTOMD_STATIC_ASSERT _Static_assert
#endif
#define PHANTOMD_ASSERT_OFFSET(type, field, offset)                        \
  PHANTOMD_STATIC_ASSERT(__builtin_offsetof(struct type, field) == offset, \
                         #type "." #field " moved")

enum connect_record_kind {
  CONNECT_RECORD_ATTEMPT = 1,      /* struct connect_record: a SYN and what became of it */
  CONNECT_RECORD_SYNC_FAILURE = 2, /* struct connect_record: connect(2) failed before any SYN */
  CONNECT_RECORD_ACCEPT = 3,       /* struct accept_record */
  CONNECT_RECORD_EXEC = 4,         /* struct process_record, in the ring `processes` */
  CONNECT_RECORD_EXIT = 5,         /* struct process_record, in the ring `processes` */
  CONNECT_RECORD_ELSEWHERE = 6,    /* struct process_record, in the ring `processes` */
  CONNECT_RECORD_END = 7,          /* struct end_record */
};

enum connect_record_flags {
  CONNECT_FLAG_ESTABLISHED = 1, /* the handshake completed */
  CONNECT_FLAG_RST = 2,         /* a RST arrived while the SYN was unanswered */
  CONNECT_FLAG_ICMP = 4,        /* an ICMP error arrived while the SYN was unanswered */
  CONNECT_FLAG_SYN_SENT = 8,    /* at least one SYN was handed to the IP layer */
  CONNECT_FLAG_ADOPTED = 16,    /* the SYN was out before the programs were loaded: started_ns is
                                   later, and nobody knows the task any more */
};

/* One connect. `error`, `soft_error` and `shutdown` are sk_err, sk_err_soft and sk_shutdown at the
 * outcome; for a SYNC_FAILURE `error` is the errno of connect(2) and there is no source.
 *
 * client_isn and server_isn are the sequence numbers that follow the two SYNs of a completed
 * handshake. Both of its sockets know them and no NAT changes them, so that together they name
 * the connection where addresses and ports may have been rewritten on the way.
 */
struct connect_record {
  __u8 kind;
  __u8 flags;
  __u8 shutdown;
  __u8 icmp_type; /* with CONNECT_FLAG_ICMP */
  __u8 icmp_code;
  __u8 pad[3];
  __u64 started_ns; /* SYN_SENT; for a SYNC_FAILURE the return of connect(2) */
  __u64 ended_ns;
  __u64 netns_cookie;
  __u64 socket_cookie;
  __u64 cgroup_id;        /* of the task at the SYN */
  __u64 process_start_ns; /* of that task's thread group leader */
  __u32 process_id;       /* thread group, in the initial pid namespace */
  __u32 thread_id;
  __u32 uid; /* of the socket */
  __u32 retransmits;
  __u8 source[16];
  __u8 destination[16];
  __u16 source_port;
  __u16 destination_port;
  __u16 error;
  __u16 soft_error;
  __u16 icmp_error; /* the errno that the kernel made of the ICMP */
  __u16 pad2;
  __u32 client_isn;
  __u32 server_isn;
  __u32 pad3;
};
PHANTOMD_ASSERT_OFFSET(connect_record, started_ns, 8);
PHANTOMD_ASSERT_OFFSET(connect_record, process_id, 56);
PHANTOMD_ASSERT_OFFSET(connect_record, source, 72);
PHANTOMD_ASSERT_OFFSET(connect_record, source_port, 104);
PHANTOMD_ASSERT_OFFSET(connect_record, client_isn, 116);
PHANTOMD_STATIC_ASSERT(sizeof(struct connect_record) == 128, "connect_record changed size");

/* A handshake that completed on the side that listens. uid and cgroup_id are those of the
 * listening socket's creator: `current` is anybody at that instant.
 */
struct accept_record {
  __u8 kind;
  __u8 pad[3];
  __u32 uid;
  __u64 accepted_ns;
  __u64 netns_cookie;
  __u64 cgroup_id;
  __u32 client_isn; /* as in connect_record */
  __u32 server_isn;
  __u8 local[16];
  __u8 remote[16];
  __u16 local_port;
  __u16 remote_port;
  __u32 pad2;
};
PHANTOMD_ASSERT_OFFSET(accept_record, accepted_ns, 8);
PHANTOMD_ASSERT_OFFSET(accept_record, client_isn, 32);
PHANTOMD_ASSERT_OFFSET(accept_record, local_port, 72);
PHANTOMD_STATIC_ASSERT(sizeof(struct accept_record) == 80, "accept_record changed size");

/* Value of the map `watched`, whose key is a netns cookie. */
enum watch_flags {
  WATCH_BY_CGROUP = 1, /* only tasks of a cgroup in `watched_cgroups`; accepts are not recorded */
};
struct watch_entry {
  __u32 flags;
};

/* Key of the map `watched_cgroups`. */
struct cgroup_key {
  __u64 netns_cookie;
  __u64 cgroup_id;
};

/* Value of the array `counters`, indexed by processor * CONNECT_COUNTER_KINDS +
 * connect_record_kind. For every kind, what happened = submitted + lost + storage_failed +
 * unreadable + unseen; but an unseen end may have been one by FIN, which is worth no record, and
 * what unseen.bpf.h says stays unseen is in none of them.
 */
struct connect_counters {
  __u64 submitted;
  __u64 lost;           /* the ring was full */
  __u64 storage_failed; /* no memory to follow a socket */
  __u64 unreadable;     /* the address given to connect(2) was paged out */
  __u64 unseen;         /* the kernel ran no program at the outcome */
  __u64 unseen_for_ns;  /* longest time between the SYN and the end of a socket in `unseen` */
  __u64 lost_at_ns;     /* the latest of the last four; 0: none yet */
};
enum { CONNECT_COUNTER_KINDS = 8 };

#include "bpf/agent_state.h"
#include "bpf/end_event.h"
#include "bpf/pod_event.h"
#include "bpf/process_event.h"

#endif
