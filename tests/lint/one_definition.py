"""No two files define a type of the same name in namespace phantomd.

The linker merges the inline functions of two such types without a word, and one of them then works on the other's layout.
Types in an unnamed namespace or inside another type are safe.
"""
import re

import source_tree

TYPE = re.compile(r"^(?:template .*)?(?:class|struct|union|enum class|enum)\s+(?:PHANTOMD_\w+(?:\([^)]*\))?\s+)?(\w+)"
                  r"(?:\s+final)?\s*(?::[^:;]*)?\{")
OPEN = re.compile(r"^namespace\s*([\w:]*)\s*\{")


def definitions(path):
    """(qualified name, line) of every type that begins at the margin: inside named namespaces alone."""
    namespaces = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        opened = OPEN.match(line)
        if opened:
            namespaces.append(opened.group(1))
        elif re.match(r"^\}\s*// namespace", line) and namespaces:
            namespaces.pop()
        elif namespaces and "" not in namespaces:
            match = TYPE.match(line)
            if match:
                yield "::".join(namespaces + [match.group(1)]), number


def find_complaints(root):
    first = {}
    complaints = []
    for path in source_tree.sources(root, ("agent",)):
        for name, number in definitions(path):
            where = f"{path.relative_to(root)}:{number}"
            if name in first:
                complaints.append(f"{where}: {name} is also defined at {first[name]}")
            else:
                first[name] = where
    return complaints


if __name__ == "__main__":
    source_tree.run("one definition", find_complaints)
