"""Locks exist in agent/base alone, where they carry thread-safety attributes."""
import re

import source_tree

LOCK = re.compile(r"\b(std::(recursive_|shared_|timed_)?mutex|std::condition_variable|std::(scoped|unique|shared)_lock|"
                  r"std::lock_guard|absl::Mutex|pthread_mutex|std::atomic_flag)\b|#include <(mutex|condition_variable)>")


def find_complaints(root):
    complaints = []
    for path in source_tree.sources(root, ("agent",)):
        if path.relative_to(root).parts[1] == "base":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if LOCK.search(line):
                complaints.append(f"{path.relative_to(root)}:{number}: use base::Mutex, Mailbox or Published")
    return complaints


if __name__ == "__main__":
    source_tree.run("locks live in base", find_complaints)
