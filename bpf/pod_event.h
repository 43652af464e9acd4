/* What the BPF programs and the agent share about the pods of the node.
 *
 * Part of connect_event.h, which says what holds for both. Records are in a ring of their own,
 * pods.
 */
#ifndef PHANTOMD_BPF_POD_EVENT_H
#define PHANTOMD_BPF_POD_EVENT_H

/* A cgroup, a pod's or not, has got its first process, or lost its last one; processes of cgroups
 * below it count. Where the kernel has several hierarchies of cgroups, each tells its own.
 */
enum { POD_CGROUP_PATH = 512 };
struct cgroup_record {
  __u64 at_ns;
  __u32 populated; /* 0: no process is left */
  __u32 size;      /* of the path, without its final zero; POD_CGROUP_PATH - 1: it may be cut */
  char path[POD_CGROUP_PATH]; /* from the root of the hierarchy, whatever the agent sees of it */
};
PHANTOMD_ASSERT_OFFSET(cgroup_record, size, 12);
PHANTOMD_STATIC_ASSERT(sizeof(struct cgroup_record) == 528, "cgroup_record changed size");

/* Value of the map `pod_links`, whose key is a netns cookie: whether the link with the pod's
 * address was still in the namespace when processes there ended. A link that has gone never comes
 * back under its number.
 */
struct pod_link {
  __u32 ifindex;
  __u32 pad;
  __u64 present_ns; /* the last end of a process before which the link was there; 0: none yet */
  __u64 absent_ns;  /* the first one before which it was not; 0: none yet */
};
PHANTOMD_STATIC_ASSERT(sizeof(struct pod_link) == 24, "pod_link changed size");

#endif
