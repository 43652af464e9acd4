// Outcomes that no program was run for: the socket goes, or connects once more, and its storage
// still waits for one.
//
//   tcp_destroy_sock   count what passed unseen as lost
//
// A kernel may run no program, and count none as skipped, on top of a task that it protects (a
// guest's first process, where that is the host's agent); and a timer or a packet comes on top of
// any task. A socket that somebody holds goes later, when it is closed. An orphan's goes in the
// same instant as its last state: that stays unseen for good.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_UNSEEN_BPF_H
#define PHANTOMD_BPF_UNSEEN_BPF_H

// When it happened nobody knows: after the SYN.
static __always_inline void count_unseen(__u32 kind, const struct attempt* attempt) {
  struct connect_counters* counter = counters_of(kind);
  if (!counter) return;
  const __u64 age_ns = bpf_ktime_get_boot_ns() - attempt->started_ns;
  if (age_ns > counter->unseen_for_ns) *(volatile __u64*)&counter->unseen_for_ns = age_ns;
  count_loss(counter, &counter->unseen);
}

static __always_inline void attempt_unseen(const struct attempt* attempt, bool established) {
  count_unseen(CONNECT_RECORD_ATTEMPT, attempt);
  count_attempt(attempt, established, true);
}

// A socket connects once more. Of the programs of two agents the newer finds what the older has
// just written: only what the same agent's have begun is told.
static __always_inline void connects_again(const struct attempt* attempt) {
  if (attempt->begun_by != (__u8)own_generation) return;
  if (attempt->state == ATTEMPT_CONNECTING) attempt_unseen(attempt, false);
  if (attempt->state == ATTEMPT_ESTABLISHED) count_unseen(CONNECT_RECORD_END, attempt);
}

// As ended_by_fin(), as far as the socket still shows it: the peer's FIN has arrived, or the
// caller's was acknowledged, as its SYN and all that it sent.
static __always_inline bool was_ended_by_fin(struct sock* sk, const struct tcp_sock* tcp) {
  if (sk->__sk_common.skc_flags & (1 << SOCK_DONE)) return true;
  return tcp->bytes_acked > tcp->bytes_sent - tcp->bytes_retrans + 1;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(on_destroy, struct sock* sk) {
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (!attempt || attempt->state == ATTEMPT_NONE) return 0;
  const __u8 state = attempt->state;
  attempt->state = ATTEMPT_NONE;
  const __u64 netns_cookie = sk->__sk_common.skc_net.net->net_cookie;
  if (!bpf_map_lookup_elem(&watched, &netns_cookie)) return 0;
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp) return 0;
  if (state == ATTEMPT_CONNECTING) {
    if (!tcp->segs_out) return 0;                    // TCP_FASTOPEN_CONNECT that never had any data
    const bool established = tcp->bytes_acked != 0;  // the SYN counts as one
    attempt_unseen(attempt, established);
    if (!established) return 0;
  }
  if (record_closes || !was_ended_by_fin(sk, tcp)) count_unseen(CONNECT_RECORD_END, attempt);
  return 0;
}

#endif
