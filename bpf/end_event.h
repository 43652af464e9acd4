/* What the BPF programs and the agent share about established connections: how they
 * end, and which there were before.
 *
 * Part of connect_event.h, which says what holds for both.
 */
#ifndef PHANTOMD_BPF_END_EVENT_H
#define PHANTOMD_BPF_END_EVENT_H

enum end_record_flags {
  END_FLAG_STALLED = 1,  /* not an end yet: the third retransmission of the same data went out */
  END_FLAG_RST = 2,      /* a RST arrived */
  END_FLAG_PEER_FIN = 4, /* the peer's FIN had arrived; bytes_received counts it as one byte */
  END_FLAG_ADOPTED = 8,  /* established before the programs were loaded: established_ns is later */
};

/* What became of a connection whose attempt was recorded, or that was adopted. `state` is the one
 * that it was in (net/tcp_states.h), `error` is sk_err.
 */
struct end_record {
  __u8 kind;
  __u8 flags;
  __u8 shutdown;
  __u8 state;
  __u16 error;
  __u16 destination_port;
  __u64 established_ns;
  __u64 ended_ns;
  __u64 netns_cookie;
  __u64 socket_cookie;
  __u64 cgroup_id; /* this and the next three: of the task at the SYN, as in connect_record */
  __u64 process_start_ns; /* 0, like the two IDs: adopted, nobody knows the task any more */
  __u32 process_id;
  __u32 thread_id;
  __u64 bytes_sent; /* payload, each byte once */
  __u64 bytes_received;
  __u8 source[16];
  __u8 destination[16];
  __u16 source_port;
  __u16 pad;
  __u32 uid; /* of the socket */
};
PHANTOMD_ASSERT_OFFSET(end_record, established_ns, 8);
PHANTOMD_ASSERT_OFFSET(end_record, process_id, 56);
PHANTOMD_ASSERT_OFFSET(end_record, source, 80);
PHANTOMD_ASSERT_OFFSET(end_record, uid, 116);
PHANTOMD_STATIC_ASSERT(sizeof(struct end_record) == 120, "end_record changed size");

/* A connecting or established socket of a watched namespace, as the program on_tcp_socket tells
 * it. uid and cgroup_id are those of the creator: of the listener's, where it was accepted.
 */
struct socket_record {
  __u64 socket_cookie;
  __u64 netns_cookie;
  __u64 cgroup_id;
  __u8 local[16];
  __u8 remote[16];
  __u32 uid;
  __u16 local_port;
  __u16 remote_port;
  __u8 state; /* as in the kernel's net/tcp_states.h */
  __u8 accepted;
  __u8 pad[6];
};
PHANTOMD_ASSERT_OFFSET(socket_record, local, 24);
PHANTOMD_ASSERT_OFFSET(socket_record, uid, 56);
PHANTOMD_ASSERT_OFFSET(socket_record, accepted, 65);
PHANTOMD_STATIC_ASSERT(sizeof(struct socket_record) == 72, "socket_record changed size");

#endif
