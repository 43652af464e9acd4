// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
//
// Records every TCP connect of the watched network namespaces, from its SYN to its outcome.
//
// The least that must happen in the kernel: filter by namespace, remember who connected, submit one
// record of raw facts when the outcome is known. The kernel's own state machine drives it:
//
//   inet_sock_set_state  -> SYN_SENT     remember time and identity in the socket's storage
//                        -> ESTABLISHED  submit; or, on a listener's child, submit an accept
//                        -> CLOSE        submit
//   inet_sk_error_report in SYN_SENT     remember the ICMP error
//   tcp_receive_reset                    remember the RST
//
// connection_end.bpf.h has what becomes of the connection afterwards, unseen.bpf.h what passed
// without a program being run, adoption.bpf.h the connections that were there before,
// sync_failure.bpf.h the programs for connects that never reach SYN_SENT, process.bpf.h those that
// follow the proxies' processes, pod.bpf.h those that tell when a pod ends.
//
// At inet_sock_set_state the socket still holds the old state, and `current` is the connecting
// task only on the way to SYN_SENT: identity is taken there and nowhere else.
//
// A processor does not run a program that it is running already. A packet or a timer that
// interrupts one would pass it unseen; so what they can reach is attached twice, but for
// retransmissions, of which the next one tells as much. Interrupts are one deep: of two programs,
// one after the other, one at least sees each event. The second does what the first has not, as the
// socket shows: the programs whose name ends in _again. (Before 6.1 both run in any case.)

// libbpf's headers need the kernel types before them.
// clang-format off
#include "bpf/vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/connect_event.h"
#include "bpf/attempt.bpf.h"
#include "bpf/connect_maps.bpf.h"
#include "bpf/followed.bpf.h"
#include "bpf/process.bpf.h"
#include "bpf/pod.bpf.h"
#include "bpf/socket.bpf.h"
#include "bpf/adoption.bpf.h"
#include "bpf/unseen.bpf.h"
#include "bpf/connection_end.bpf.h"
#include "bpf/sync_failure.bpf.h"
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void begin_attempt(struct sock* sk, const struct watch_entry* watch,
                                          __u64 netns_cookie) {
  __u8 source[16] = {};
  __u8 destination[16] = {};
  copy_addresses(sk, source, destination);
  struct task_struct* task = bpf_get_current_task_btf();
  struct attempt* attempt;
  // A kernel thread connects for a file system, or for a further subflow of an MPTCP connection
  // whose first one was the attempt.
  if ((task->flags & PF_KTHREAD) || stays_in_pod(source, destination) ||
      ((watch->flags & WATCH_BY_CGROUP) && !cgroup_is_watched(netns_cookie) &&
       !current_is_followed())) {
    // A socket may be connected again: what an earlier attempt left is not about this one.
    attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
    if (!attempt) return;
    connects_again(attempt);
    attempt->state = ATTEMPT_NONE;
    return;
  }
  attempt = bpf_sk_storage_get(&attempts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
  if (!attempt) {
    struct connect_counters* counter = counters_of(CONNECT_RECORD_ATTEMPT);
    if (counter) count_loss(counter, &counter->storage_failed);
    count_attempt_of(bpf_get_current_task_btf(), true);
    return;
  }
  connects_again(attempt);
  attempt->started_ns = bpf_ktime_get_boot_ns();
  attempt->cgroup_id = bpf_get_current_cgroup_id();
  attempt->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  attempt->process_id = task->tgid;
  attempt->thread_id = task->pid;
  attempt->state = ATTEMPT_CONNECTING;
  attempt->flags = 0;
  attempt->icmp_type = 0;
  attempt->icmp_code = 0;
  attempt->icmp_error = 0;
  attempt->stalled = false;
  attempt->begun_by = own_generation;
}

// Whether connect(2) is going to report the failure, or to do so when it is called again, in a way
// that looks like a failure before any SYN. Whoever closes or resets the socket will not see it.
static __always_inline bool will_be_reported(struct sock* sk, const struct tcp_sock* tcp) {
  if (sk->sk_shutdown) return false;
  // connect(2) itself gives up, for want of a port for one; sk_err is still an earlier connect's.
  if (tcp->segs_out == 0) return true;
  return may_precede_syn(sk->sk_err);
}

static __always_inline void end_attempt(struct sock* sk, struct tcp_sock* tcp,
                                        struct attempt* attempt, __u64 netns_cookie,
                                        bool established) {
  const __u64 socket_cookie = bpf_get_socket_cookie(sk);
  // TCP_FASTOPEN_CONNECT waits for data with its SYN: one that never had any was no attempt.
  if (!established && !tcp->segs_out && sk->sk_shutdown == SHUTDOWN_MASK) return;
  __u8 flags = attempt->flags;
  if (established) flags |= CONNECT_FLAG_ESTABLISHED;
  if (tcp->segs_out) flags |= CONNECT_FLAG_SYN_SENT;

  if (!established && will_be_reported(sk, tcp)) {
    const __u8 one = 1;
    bpf_map_update_elem(&unreturned, &socket_cookie, &one, BPF_ANY);
  }

  const __u64 now_ns = bpf_ktime_get_boot_ns();
  attempt->established_ns = now_ns;
  struct connect_record* record = reserve(CONNECT_RECORD_ATTEMPT, sizeof(*record));
  if (!record) {
    count_attempt(attempt, established, true);
    return;
  }
  count_attempt(attempt, established, false);
  record->kind = CONNECT_RECORD_ATTEMPT;
  record->flags = flags;
  record->shutdown = sk->sk_shutdown;
  record->icmp_type = attempt->icmp_type;
  record->icmp_code = attempt->icmp_code;
  record->pad[0] = record->pad[1] = record->pad[2] = 0;
  record->started_ns = attempt->started_ns;
  record->ended_ns = now_ns;
  record->netns_cookie = netns_cookie;
  record->socket_cookie = socket_cookie;
  record->cgroup_id = attempt->cgroup_id;
  record->process_start_ns = attempt->process_start_ns;
  record->process_id = attempt->process_id;
  record->thread_id = attempt->thread_id;
  record->uid = sk->sk_uid.val;
  // The timer's count is cleared by the answer and the total is not raised when sending fails.
  __u32 retransmits = tcp->total_retrans;
  if (tcp->inet_conn.icsk_retransmits > retransmits) retransmits = tcp->inet_conn.icsk_retransmits;
  record->retransmits = retransmits;
  copy_addresses(sk, record->source, record->destination);
  // skc_num is already 0 on the way to CLOSE; inet_sport is still right.
  record->source_port = bpf_ntohs(tcp->inet_conn.icsk_inet.inet_sport);
  record->destination_port = bpf_ntohs(sk->__sk_common.skc_dport);
  record->error = sk->sk_err;
  record->soft_error = sk->sk_err_soft;
  record->icmp_error = attempt->icmp_error;
  record->pad2 = 0;
  record->client_isn = established ? tcp->snd_una : 0;
  record->server_isn = established ? tcp->rcv_nxt : 0;
  record->pad3 = 0;
  submit(record);
}

// The child of a listening socket inherits its owner's uid and cgroup when it is cloned, before
// anybody calls accept(2). Asking for its cookie, which it has none of yet, marks it as seen; so
// where somebody else has asked for it before, an accept that on_set_state is not run for is
// missed.
static __always_inline void accepted(struct sock* sk, struct tcp_sock* tcp, __u64 netns_cookie) {
  bpf_get_socket_cookie(sk);
  struct accept_record* record = reserve(CONNECT_RECORD_ACCEPT, sizeof(*record));
  if (!record) return;
  record->kind = CONNECT_RECORD_ACCEPT;
  record->pad[0] = record->pad[1] = record->pad[2] = 0;
  record->uid = sk->sk_uid.val;
  record->accepted_ns = bpf_ktime_get_boot_ns();
  record->netns_cookie = netns_cookie;
  record->cgroup_id = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
  record->client_isn = tcp->rcv_nxt;
  record->server_isn = tcp->snd_una;
  copy_addresses(sk, record->local, record->remote);
  record->local_port = sk->__sk_common.skc_num;
  record->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
  record->pad2 = 0;
  submit(record);
}

static __always_inline void left_handshake(struct sock* sk, struct tcp_sock* tcp,
                                           struct attempt* attempt, bool established) {
  end_attempt(sk, tcp, attempt, sk->__sk_common.skc_net.net->net_cookie, established);
  attempt->state = established ? ATTEMPT_ESTABLISHED : ATTEMPT_NONE;
}

static __always_inline bool is_connecting(int state) {
  return state == TCP_SYN_SENT || state == TCP_SYN_RECV;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_set_state, struct sock* sk, int old_state, int new_state) {
  const bool was_connecting = is_connecting(old_state);
  if (new_state == TCP_CLOSE && !was_connecting) {
    connection_closed(sk, old_state);
    return 0;
  }
  if (new_state != TCP_SYN_SENT && new_state != TCP_LISTEN &&
      !(was_connecting && (new_state == TCP_ESTABLISHED || new_state == TCP_CLOSE)))
    return 0;
  if (sk->sk_protocol != IPPROTO_TCP) return 0;
  __u64 netns_cookie = sk->__sk_common.skc_net.net->net_cookie;
  if (new_state == TCP_LISTEN) {
    listens(netns_cookie);
    return 0;
  }
  struct watch_entry* watch = bpf_map_lookup_elem(&watched, &netns_cookie);
  if (!watch && new_state == TCP_SYN_SENT) watch = connects_unwatched(netns_cookie);
  if (!watch) return 0;

  if (new_state == TCP_SYN_SENT) {
    begin_attempt(sk, watch, netns_cookie);
    return 0;
  }
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp) return 0;
  // A simultaneous open reaches ESTABLISHED through SYN_RECV too, but only a socket that connected
  // has storage.
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (attempt && attempt->state == ATTEMPT_CONNECTING) {
    left_handshake(sk, tcp, attempt, new_state == TCP_ESTABLISHED);
  } else if (!attempt && old_state == TCP_SYN_RECV && new_state == TCP_ESTABLISHED &&
             !(watch->flags & WATCH_BY_CGROUP)) {
    accepted(sk, tcp, netns_cookie);
  }
  return 0;
}

// Connects and listens are calls of a task: no interrupt begins them.
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_set_state_again, struct sock* sk, int old_state, int new_state) {
  if (!is_connecting(old_state)) {
    if (new_state == TCP_CLOSE) connection_closed(sk, old_state);
    return 0;
  }
  if (new_state != TCP_ESTABLISHED && new_state != TCP_CLOSE) return 0;
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (attempt) {
    if (attempt->state != ATTEMPT_CONNECTING) return 0;
  } else {
    if (old_state != TCP_SYN_RECV || new_state != TCP_ESTABLISHED) return 0;
    if (sk->sk_protocol != IPPROTO_TCP || sk->__sk_common.skc_cookie.counter != 0) return 0;
  }
  __u64 netns_cookie = sk->__sk_common.skc_net.net->net_cookie;
  struct watch_entry* watch = bpf_map_lookup_elem(&watched, &netns_cookie);
  if (!watch) {
    if (attempt) attempt->state = ATTEMPT_NONE;  // nobody's, also when it is watched again
    return 0;
  }
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp) return 0;
  if (attempt)
    left_handshake(sk, tcp, attempt, new_state == TCP_ESTABLISHED);
  else if (!(watch->flags & WATCH_BY_CGROUP))
    accepted(sk, tcp, netns_cookie);
  return 0;
}

// An IPv4 ICMP error is found in the socket's error queue, also when it arrives inside connect(2)
// itself: there the kernel only sets sk_err_soft, which SO_ERROR clears again, so that a later
// close looks like a caller that lost patience.
static __always_inline void remember_icmp(struct sock* sk) {
  if (sk->__sk_common.skc_state != TCP_SYN_SENT || sk->sk_protocol != IPPROTO_TCP) return;
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (!attempt || attempt->state != ATTEMPT_CONNECTING) return;
  const __u64 head = (__u64)sk + bpf_core_field_offset(struct sock, sk_error_queue);
  struct sk_buff* newest = sk->sk_error_queue.prev;
  if (!newest || (__u64)newest == head) return;  // an empty queue points to itself
  struct sock_exterr_skb* error = (void*)newest + bpf_core_field_offset(struct sk_buff, cb);
  const __u8 origin = BPF_CORE_READ(error, ee.ee_origin);
  if (origin != SO_EE_ORIGIN_ICMP && origin != SO_EE_ORIGIN_ICMP6) return;
  attempt->icmp_type = BPF_CORE_READ(error, ee.ee_type);
  attempt->icmp_code = BPF_CORE_READ(error, ee.ee_code);
  attempt->icmp_error = BPF_CORE_READ(error, ee.ee_errno);
  attempt->flags |= CONNECT_FLAG_ICMP;
}

SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(on_error_report, struct sock* sk) {
  remember_icmp(sk);
  return 0;
}

SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(on_error_report_again, struct sock* sk) {
  remember_icmp(sk);
  return 0;
}

static __always_inline void remember_reset(struct sock* sk) {
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (attempt) attempt->flags |= CONNECT_FLAG_RST;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(on_receive_reset, struct sock* sk) {
  remember_reset(sk);
  return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(on_receive_reset_again, struct sock* sk) {
  remember_reset(sk);
  return 0;
}
