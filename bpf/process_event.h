/* What the BPF programs and the agent share about the proxies' processes.
 *
 * Part of connect_event.h, which says what holds for both.
 */
#ifndef PHANTOMD_BPF_PROCESS_EVENT_H
#define PHANTOMD_BPF_PROCESS_EVENT_H

/* A process named like a proxy began (exec), or one of the map `proxy_processes` ended, or such a
 * one began to listen or to connect in a namespace that is not its own (elsewhere).
 */
struct process_record {
  __u8 kind;
  __u8 pad[3];
  __u32 process_id;
  __u64 observed_ns;
  __u64 process_start_ns;
  __u64 netns_cookie; /* EXEC: the process's own; ELSEWHERE: the socket's; EXIT: 0 */
  __u64 cgroup_id;
  __u32 uid;
  __u32 pad2;
  char comm[16];
};
PHANTOMD_ASSERT_OFFSET(process_record, observed_ns, 8);
PHANTOMD_ASSERT_OFFSET(process_record, uid, 40);
PHANTOMD_ASSERT_OFFSET(process_record, comm, 48);
PHANTOMD_STATIC_ASSERT(sizeof(struct process_record) == 64, "process_record changed size");

/* Key of the map `proxy_names`, filled up with zeros. */
struct process_name {
  char text[16];
};

/* Attempts of one kind of thread, whether their records came through or not. */
struct attempt_totals {
  __u64 attempts;
  __u64 established;
  __u64 lost; /* of the attempts: left no record */
};

/* Value of the map `proxy_processes`, whose key is a process ID. */
struct followed_process {
  __u64 netns_cookie; /* of the process itself */
  __u64 start_ns;     /* of the process; may be rounded down to PROCESS_START_GRAIN_NS */
  __u64 ended_ns;     /* 0: lives */
  struct attempt_totals main_thread;
  struct attempt_totals others;
};
enum { PROCESS_START_GRAIN_NS = 10000000 }; /* /proc tells it in ticks of 1/100 s */

/* A TCP socket of a followed process, as the program on_open_file tells it. */
struct socket_place {
  __u64 netns_cookie;
  __u64 socket_cookie; /* 0: nobody has asked for it yet */
  __u32 process_id;
  __u32 tcp_state; /* as in the kernel's net/tcp_states.h */
  __u32 fd;        /* of that process */
  __u32 pad;
};
PHANTOMD_STATIC_ASSERT(sizeof(struct socket_place) == 32, "socket_place changed size");

#endif
