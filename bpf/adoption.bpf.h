// Connections that existed before anybody watched: walked once in each namespace that is added.
//
//   iter/tcp   give a connecting or established socket the storage that it would have by now
//
// The walk covers the namespace of the thread that began it, and locks each socket while it is
// looked at, so that its state changes before or after, not in between. A socket that has storage
// is known already. Who connected is not: the task is gone from the kernel's memory, and what is
// left is the user and the cgroup of the socket's creator.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_ADOPTION_BPF_H
#define PHANTOMD_BPF_ADOPTION_BPF_H

static __always_inline bool adopt(struct sock* sk, __u64 cgroup_id, bool connecting) {
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
  if (!attempt) {
    struct connect_counters* counter =
        counters_of(connecting ? CONNECT_RECORD_ATTEMPT : CONNECT_RECORD_END);
    if (counter) count_loss(counter, &counter->storage_failed);
    return false;
  }
  if (attempt->state != ATTEMPT_NONE) return true;
  __builtin_memset(attempt, 0, sizeof(*attempt));
  attempt->started_ns = attempt->established_ns = bpf_ktime_get_boot_ns();
  attempt->cgroup_id = cgroup_id;
  attempt->flags = CONNECT_FLAG_ADOPTED;
  attempt->state = connecting ? ATTEMPT_CONNECTING : ATTEMPT_ESTABLISHED;
  return true;
}

// Each read() of the iterator's descriptor gives whole values of struct socket_record.
SEC("iter/tcp")
int on_tcp_socket(struct bpf_iter__tcp* context) {
  // Read once: the verifier forgets what was learned of a value that is read again.
  struct sock_common* common = context->sk_common;
  if (!common) return 0;
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(common);
  if (!tcp) return 0;  // of a connection that is over, or that a listener has yet to complete
  struct sock* sk = (struct sock*)tcp;
  const __u8 state = sk->__sk_common.skc_state;
  if (state != TCP_SYN_SENT && state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 &&
      state != TCP_FIN_WAIT2 && state != TCP_CLOSE_WAIT)
    return 0;
  struct cgroup_key key = {
      .netns_cookie = sk->__sk_common.skc_net.net->net_cookie,
      .cgroup_id = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id),
  };
  struct watch_entry* watch = bpf_map_lookup_elem(&watched, &key.netns_cookie);
  if (!watch) return 0;
  if ((watch->flags & WATCH_BY_CGROUP) && !bpf_map_lookup_elem(&watched_cgroups, &key)) return 0;

  struct socket_record record = {
      .socket_cookie = bpf_get_socket_cookie(sk),
      .netns_cookie = key.netns_cookie,
      .cgroup_id = key.cgroup_id,
      .uid = sk->sk_uid.val,
      .local_port = bpf_ntohs(tcp->inet_conn.icsk_inet.inet_sport),
      .remote_port = bpf_ntohs(sk->__sk_common.skc_dport),
      .state = state,
      // Only a listener has a backlog; what it accepts is made as its copy.
      .accepted = sk->sk_max_ack_backlog != 0,
  };
  copy_addresses(sk, record.local, record.remote);
  if (!record.accepted && (stays_in_pod(record.local, record.remote) ||
                           !adopt(sk, key.cgroup_id, state == TCP_SYN_SENT)))
    return 0;
  bpf_seq_write(context->meta->seq, &record, sizeof(record));
  return 0;
}

#endif
