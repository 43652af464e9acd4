// The followed processes, those of proxies: who is one, and how many connects each has made.
//
// Part of connect.bpf.c, which includes what this needs.
#ifndef PHANTOMD_BPF_FOLLOWED_BPF_H
#define PHANTOMD_BPF_FOLLOWED_BPF_H

// Process IDs are used again: an entry is about the process of its start alone.
static __always_inline struct followed_process* followed(__u32 process_id, __u64 start_ns) {
  struct followed_process* process = bpf_map_lookup_elem(&proxy_processes, &process_id);
  if (!process) return 0;
  if (process->start_ns == start_ns) return process;
  const bool rounded = process->start_ns % PROCESS_START_GRAIN_NS == 0;
  return rounded && start_ns - process->start_ns < PROCESS_START_GRAIN_NS ? process : 0;
}

static __always_inline struct followed_process* followed_current(struct task_struct* task) {
  const __u32 process_id = task->tgid;
  // Most processes are nobody's proxy: only then is the start worth reading.
  if (!bpf_map_lookup_elem(&proxy_processes, &process_id)) return 0;
  return followed(process_id, BPF_CORE_READ(task, group_leader, start_boottime));
}

static __always_inline bool current_is_followed(void) {
  return followed_current(bpf_get_current_task_btf()) != 0;
}

// What a proxy did is counted apart from the records, and stays right when those are lost. The
// process may be gone by now: its entry outlives it.
static __always_inline void count_attempt(const struct attempt* attempt, bool established,
                                          bool lost) {
  struct followed_process* process = followed(attempt->process_id, attempt->process_start_ns);
  if (!process) return;
  struct attempt_totals* totals =
      attempt->thread_id == attempt->process_id ? &process->main_thread : &process->others;
  count(&totals->attempts);
  if (established) count(&totals->established);
  if (lost) count(&totals->lost);
}

static __always_inline void count_attempt_of(struct task_struct* task, bool lost) {
  const struct attempt attempt = {
      .process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
      .process_id = task->tgid,
      .thread_id = task->pid,
  };
  count_attempt(&attempt, false, lost);
}

#endif
