// Follows the proxies' processes: when they begin and end, and the network namespaces in which they
// have sockets.
//
//   sched_process_exec     follow a process named like a proxy, watch its namespace
//   sched_process_exit     tell that a followed process ended
//   inet_sock_set_state    a followed process listens in another namespace, or connects in one that
//                          is not watched: watch that one too (ztunnel enters a pod's namespace,
//                          makes its sockets there and returns)
//   iter/task_file         the sockets that a followed process has already
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_PROCESS_BPF_H
#define PHANTOMD_BPF_PROCESS_BPF_H

// Names by which a proxy's process is recognised before anybody has looked at it. User space looks
// at the executable, and forgets process and namespace again where the name deceived.
static __always_inline bool named_like_proxy(const char comm[16]) {
  const bool envoy =
      comm[0] == 'e' && comm[1] == 'n' && comm[2] == 'v' && comm[3] == 'o' && comm[4] == 'y';
  const bool ztunnel = comm[0] == 'z' && comm[1] == 't' && comm[2] == 'u' && comm[3] == 'n' &&
                       comm[4] == 'n' && comm[5] == 'e' && comm[6] == 'l';
  const bool pilot_agent = comm[0] == 'p' && comm[1] == 'i' && comm[2] == 'l' && comm[3] == 'o' &&
                           comm[4] == 't' && comm[5] == '-' && comm[6] == 'a';
  return envoy || ztunnel || pilot_agent;
}

static __always_inline void submit_process(__u32 kind, struct task_struct* task,
                                           __u64 netns_cookie) {
  struct process_record* record = bpf_ringbuf_reserve(&processes, sizeof(*record), 0);
  if (!record) {
    count_reserved(kind, true);
    return;
  }
  count_reserved(kind, false);
  record->kind = kind;
  record->pad[0] = record->pad[1] = record->pad[2] = 0;
  record->process_id = task->tgid;
  record->observed_ns = bpf_ktime_get_boot_ns();
  record->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  record->netns_cookie = netns_cookie;
  record->cgroup_id = bpf_get_current_cgroup_id();
  record->uid = bpf_get_current_uid_gid();
  record->pad2 = 0;
  bpf_get_current_comm(record->comm, sizeof(record->comm));
  // Rare, and somebody new is to be looked at: wake the reader.
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

// Of the current task's sockets in this namespace.
static __always_inline void watch_namespace(__u64 netns_cookie) {
  const __u8 one = 1;
  struct watch_entry entry = {};
  if (host_netns_cookie && netns_cookie == host_netns_cookie) {
    struct cgroup_key key = {
        .netns_cookie = netns_cookie,
        .cgroup_id = bpf_get_current_cgroup_id(),
    };
    entry.flags = WATCH_BY_CGROUP;
    bpf_map_update_elem(&watched_cgroups, &key, &one, BPF_ANY);
  }
  bpf_map_update_elem(&watched, &netns_cookie, &entry, BPF_NOEXIST);
}

// A socket of the current task begins to listen: long before anybody connects to it.
static __always_inline void listens(__u64 netns_cookie) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct followed_process* process = followed_current(task);
  if (!process || process->netns_cookie == netns_cookie) return;
  watch_namespace(netns_cookie);
  submit_process(CONNECT_RECORD_ELSEWHERE, task, netns_cookie);
}

// The current task connects where nobody watches. Costs a connect there one lookup.
static __always_inline struct watch_entry* connects_unwatched(__u64 netns_cookie) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!followed_current(task)) return 0;
  watch_namespace(netns_cookie);
  submit_process(CONNECT_RECORD_ELSEWHERE, task, netns_cookie);
  return bpf_map_lookup_elem(&watched, &netns_cookie);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, pid_t old_pid, struct linux_binprm* binprm) {
  struct process_name name = {};
  bpf_get_current_comm(name.text, sizeof(name.text));
  if (!named_like_proxy(name.text) && !bpf_map_lookup_elem(&proxy_names, &name)) return 0;
  const __u32 process_id = task->tgid;
  const __u64 netns_cookie = BPF_CORE_READ(task, nsproxy, net_ns, net_cookie);
  struct followed_process process = {
      .netns_cookie = netns_cookie,
      .start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
  };
  struct followed_process* known = followed(process_id, process.start_ns);
  if (known)
    known->netns_cookie = netns_cookie;  // the same process, which executes another program
  else
    bpf_map_update_elem(&proxy_processes, &process_id, &process, BPF_ANY);
  watch_namespace(netns_cookie);
  submit_process(CONNECT_RECORD_EXEC, task, netns_cookie);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  struct followed_process* process = followed_current(task);
  if (!process) return 0;
  // Fires for every thread; the process has ended with the last one.
  if (BPF_CORE_READ(task, signal, live.counter) != 0) return 0;
  // Its sockets are closed after this: user space removes the entry when they have been counted.
  process->ended_ns = bpf_ktime_get_boot_ns();
  submit_process(CONNECT_RECORD_EXIT, task, 0);
  return 0;
}

// Which namespaces the sockets of followed processes are in; each read() of the iterator's
// descriptor gives whole values of struct socket_place.
SEC("iter/task_file")
int on_open_file(struct bpf_iter__task_file* context) {
  struct task_struct* task = context->task;
  struct file* file = context->file;
  if (!task || !file || !followed_current(task)) return 0;
  struct socket* socket = bpf_sock_from_file(file);
  if (!socket) return 0;
  struct sock* sk = socket->sk;
  if (!sk || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP) return 0;
  struct socket_place place = {
      .netns_cookie = BPF_CORE_READ(sk, __sk_common.skc_net.net, net_cookie),
      .socket_cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter),
      .process_id = task->tgid,
      .tcp_state = BPF_CORE_READ(sk, __sk_common.skc_state),
      .fd = context->fd,
  };
  bpf_seq_write(context->meta->seq, &place, sizeof(place));
  return 0;
}

#endif
