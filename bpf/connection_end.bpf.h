// What became of established connections.
//
//   inet_sock_set_state -> CLOSE   submit, unless it ended by FINs
//   tcp_receive_reset              remember the RST
//   tcp_retransmit_skb             submit once, at the third retransmission of the same data
//
// Only a socket that connected while its namespace was watched, or was adopted, has storage: one
// lookup tells the others. An end by FIN says that both sides agreed; nobody is stranded by it, and
// proxies make many, so that it is not worth a record unless it is asked for.
//
// Everything that names the connection is in its storage, because at its end the process may be
// gone and the socket an orphan of the kernel's.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_CONNECTION_END_BPF_H
#define PHANTOMD_BPF_CONNECTION_END_BPF_H

// Retransmissions without an answer: 1.4 s with the least retransmission timeout of 200 ms.
enum { STALLED_AT = 3 };

static __always_inline void submit_end(struct sock* sk, struct tcp_sock* tcp,
                                       const struct attempt* attempt, __u8 state, __u8 flags) {
  struct end_record* record = reserve(CONNECT_RECORD_END, sizeof(*record));
  if (!record) return;
  record->kind = CONNECT_RECORD_END;
  record->flags = flags;
  if (attempt->flags & CONNECT_FLAG_RST) record->flags |= END_FLAG_RST;
  if (attempt->flags & CONNECT_FLAG_ADOPTED) record->flags |= END_FLAG_ADOPTED;
  if (sk->__sk_common.skc_flags & (1 << SOCK_DONE)) record->flags |= END_FLAG_PEER_FIN;
  record->shutdown = sk->sk_shutdown;
  record->state = state;
  record->error = sk->sk_err;
  record->destination_port = bpf_ntohs(sk->__sk_common.skc_dport);
  record->established_ns = attempt->established_ns;
  record->ended_ns = bpf_ktime_get_boot_ns();
  record->netns_cookie = sk->__sk_common.skc_net.net->net_cookie;
  record->socket_cookie = bpf_get_socket_cookie(sk);
  record->cgroup_id = attempt->cgroup_id;
  record->process_start_ns = attempt->process_start_ns;
  record->process_id = attempt->process_id;
  record->thread_id = attempt->thread_id;
  record->bytes_sent = tcp->bytes_sent - tcp->bytes_retrans;
  record->bytes_received = tcp->bytes_received;
  copy_addresses(sk, record->source, record->destination);
  record->source_port = bpf_ntohs(tcp->inet_conn.icsk_inet.inet_sport);
  record->pad = 0;
  record->uid = sk->sk_uid.val;
  submit(record);
}

// Both FINs, or the peer's alone when the caller then left; after both, what is still missing is
// only the answer to the last one. Of FIN_WAIT2 the kernel makes a lighter socket, without an end.
static __always_inline bool ended_by_fin(__u8 state, int error) {
  if (state == TCP_LAST_ACK || state == TCP_CLOSING) return true;
  return !error && (state == TCP_FIN_WAIT2 || state == TCP_CLOSE_WAIT || state == TCP_TIME_WAIT);
}

static __always_inline void connection_closed(struct sock* sk, int old_state) {
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (!attempt || attempt->state == ATTEMPT_NONE) return;
  if (attempt->state == ATTEMPT_CONNECTING) {
    if (old_state == TCP_CLOSE) return;
    // Whoever has not connected ends out of SYN_SENT: of the handshake nobody has told.
    attempt_unseen(attempt, true);
    attempt->established_ns = attempt->started_ns;
  }
  attempt->state = ATTEMPT_NONE;
  if (ended_by_fin(old_state, sk->sk_err) && !record_closes) return;
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);
  if (tcp) submit_end(sk, tcp, attempt, old_state, 0);
}

// The timer counts its retransmissions of the same data; whatever is acknowledged resets the count,
// and a tail loss probe is not counted.
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock* sk) {
  const __u8 state = sk->__sk_common.skc_state;
  if (state == TCP_SYN_SENT || state == TCP_LAST_ACK || state == TCP_CLOSING) return 0;
  struct attempt* attempt = bpf_sk_storage_get(&attempts, sk, 0, 0);
  if (!attempt || attempt->state != ATTEMPT_ESTABLISHED || attempt->stalled) return 0;
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp || tcp->inet_conn.icsk_retransmits < STALLED_AT) return 0;
  attempt->stalled = true;
  submit_end(sk, tcp, attempt, state, END_FLAG_STALLED);
  return 0;
}

#endif
