// connect(2) that failed without a state change: no route, or a route, a filter or a policy that
// forbids it. The only trace is what the call returns: to the system call's caller, or to the
// completion queue of an io_uring.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_SYNC_FAILURE_BPF_H
#define PHANTOMD_BPF_SYNC_FAILURE_BPF_H

// Whether io_uring_complete is given the completion queue's entry (since 6.16) rather than the
// result itself. Set before loading.
const volatile bool io_uring_tells_entry = false;

static __always_inline bool may_precede_syn(__s64 error) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == EINVAL || error == EACCES ||
         error == EPERM || error == EADDRNOTAVAIL || error == ECONNABORTED;
}

// Two agents' programs may be attached at once, when one follows the other: each event then runs
// both, the older first, on one CPU. What leaves no trace in the socket is for one of them alone.
//
//   generation  handing_over   older                       newer
//   older       no             records                     -
//   older       yes            records, leaves a claim     takes the claim away
//   newer       yes            -                           records, unless there is a claim
//   newer       no             (gone soon)                 records
//
// The agent waits between two steps until no program that saw the step before is still running: so
// an event may meet two neighbouring lines, never more, and is recorded once in any case.
static __always_inline bool is_our_turn(void) {
  const __u32 zero = 0;
  const struct agent_state* state = bpf_map_lookup_elem(&agent_state, &zero);
  if (!state) return false;
  const bool ours = *(volatile __u64*)&state->generation == own_generation;
  if (!*(volatile __u64*)&state->handing_over) return ours;
  __u8* claim = bpf_map_lookup_elem(&claims, &zero);
  if (!claim) return false;
  if (own_generation < state->next_generation) {
    *claim = ours;
    return ours;
  }
  const bool claimed = *claim;
  *claim = false;
  return ours && !claimed;
}

// The socket that would have sent the SYN: an MPTCP socket leaves that to its first subflow. 0:
// there is none.
static __always_inline struct sock* connecting_socket(struct sock* sk, __u16 protocol) {
  if (protocol != IPPROTO_MPTCP) return sk;
  if (!bpf_core_type_exists(struct mptcp_sock)) return 0;
  return BPF_CORE_READ((struct mptcp_sock*)sk, first);
}

// `user_address` is connect(2)'s argument: the caller's memory, readable while it is `current`.
static __always_inline void connect_failed(struct sock* sk, __s64 error, const void* user_address) {
  const __u16 protocol = BPF_CORE_READ(sk, sk_protocol);
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) return;
  __u64 netns_cookie = BPF_CORE_READ(sk, __sk_common.skc_net.net, net_cookie);
  struct watch_entry* watch = bpf_map_lookup_elem(&watched, &netns_cookie);
  if (!watch) watch = connects_unwatched(netns_cookie);
  if (!watch) return;
  if (!is_our_turn()) return;
  struct sock* connecting = connecting_socket(sk, protocol);
  // 0: nobody has asked for it.
  __u64 socket_cookie = connecting ? BPF_CORE_READ(connecting, __sk_common.skc_cookie.counter) : 0;
  if (socket_cookie && !bpf_map_delete_elem(&unreturned, &socket_cookie)) return;
  // An io_uring may take the error of an attempt away before the socket's state has changed.
  if (connecting && BPF_CORE_READ((struct tcp_sock*)connecting, segs_out)) return;
  if (error == ECONNABORTED) return;
  struct task_struct* task = bpf_get_current_task_btf();
  if ((watch->flags & WATCH_BY_CGROUP) && !cgroup_is_watched(netns_cookie) &&
      !followed_current(task))
    return;

  struct socket_address address = {};
  if (bpf_probe_read_user(&address, sizeof(address), user_address)) {
    struct connect_counters* counter = counters_of(CONNECT_RECORD_SYNC_FAILURE);
    if (counter) count_loss(counter, &counter->unreadable);
    count_attempt_of(task, true);
    return;
  }
  __u8 destination[16] = {};
  if (address.family == AF_INET)
    map_v4(destination, address.v4);
  else if (address.family == AF_INET6)
    __builtin_memcpy(destination, address.v6, sizeof(destination));
  else
    return;  // AF_UNSPEC takes a connection down
  if (is_loopback(destination)) return;

  struct connect_record* record = reserve(CONNECT_RECORD_SYNC_FAILURE, sizeof(*record));
  if (!record) {
    count_attempt_of(task, true);
    return;
  }
  count_attempt_of(task, false);
  __builtin_memset(record, 0, sizeof(*record));
  record->kind = CONNECT_RECORD_SYNC_FAILURE;
  record->started_ns = record->ended_ns = bpf_ktime_get_boot_ns();
  record->netns_cookie = netns_cookie;
  record->socket_cookie = socket_cookie;
  record->cgroup_id = bpf_get_current_cgroup_id();
  record->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  record->process_id = task->tgid;
  record->thread_id = task->pid;
  record->uid = BPF_CORE_READ(sk, sk_uid.val);
  __builtin_memcpy(record->destination, destination, sizeof(destination));
  record->destination_port = bpf_ntohs(address.port);
  record->error = error;
  submit(record);
}

// The arguments are still in the registers that the system call saved, so no program is needed at
// its entry.
SEC("tracepoint/syscalls/sys_exit_connect")
int on_connect_return(struct sys_exit_context* context) {
  const __s64 error = -context->ret;
  if (!may_precede_syn(error)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  // These errors come from the socket layer: the descriptor was a socket.
  struct sock* sk = socket_of(task, PT_REGS_PARM1_CORE_SYSCALL(regs));
  if (sk) connect_failed(sk, error, (void*)PT_REGS_PARM2_CORE_SYSCALL(regs));
  return 0;
}

// Completions are told by the task that submitted the request, or by a worker that shares its
// memory.
SEC("tp_btf/io_uring_complete")
int on_io_uring_complete(__u64* context) {
  struct io_kiocb* request = (struct io_kiocb*)context[1];
  if (BPF_CORE_READ(request, opcode) != IORING_OP_CONNECT) return 0;
  const __s32 result = io_uring_tells_entry ? BPF_CORE_READ((struct io_uring_cqe*)context[2], res)
                                            : (__s32)context[3];
  if (!may_precede_syn(-result)) return 0;
  struct socket* socket = BPF_CORE_READ(request, file, private_data);
  struct sock* sk = BPF_CORE_READ(socket, sk);
  if (sk) connect_failed(sk, -result, BPF_CORE_READ((struct io_connect*)request, addr));
  return 0;
}

#endif
