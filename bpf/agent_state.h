/* What the agent leaves in the kernel for its successor: how far it has come. The programs read
 * the first three.
 *
 * Part of connect_event.h, which says what holds for both.
 */
#ifndef PHANTOMD_BPF_AGENT_STATE_H
#define PHANTOMD_BPF_AGENT_STATE_H

/* The version of every record and map value here. Raise it with each change of one of them: maps
 * that an older agent has pinned are then left alone.
 */
enum { CONNECT_LAYOUT_VERSION = 3 };

/* Value of the map `agent_state`, of one element, which the agent maps into its memory. */
struct agent_state {
  __u64 generation;                  /* whose programs record what leaves no trace in a socket */
  __u64 next_generation;             /* whose will, while handing_over */
  __u64 handing_over;                /* 0: no */
  __u64 settled_ns;                  /* when the rest was written; 0: never */
  __u64 skipped_runs;                /* of programs that were attached then, as told by the agent */
  __u64 read[CONNECT_COUNTER_KINDS]; /* records, by connect_record_kind */
  __u64 lost[CONNECT_COUNTER_KINDS]; /* all causes together, as told by the agent */
};

#endif
