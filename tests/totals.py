"""Prints how many test cases ran, by step and in all, from the XML that ctest and gtest left in a folder.

A gtest binary counts by its cases, any other test as one. Exits 1 when something failed, was skipped, or nothing ran.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def gtest_cases(folder):
    """binary name -> (passed, failed, skipped) of its cases."""
    out = {}
    for path in folder.glob("*.xml"):
        passed = failed = skipped = 0
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None:
                failed += 1
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                skipped += 1
            elif case.get("status") == "run":
                passed += 1
        out[path.stem] = (passed, failed, skipped)
    return out


def main(results):
    total = [0, 0, 0]
    for junit in sorted(results.glob("*.junit")):
        cases = gtest_cases(results / junit.stem)
        step = [0, 0, 0]
        for test in ElementTree.parse(junit).getroot().iter("testcase"):
            status = test.get("status")
            counts = cases.get(test.get("name"))
            if counts is None or (status != "run" and counts[1] == 0):
                # Not a gtest binary, or one that died before or after its cases.
                ran = counts or (0, 0, 0)
                counts = (ran[0] + (status == "run"), ran[1] + (status == "fail"),
                          ran[2] + (status not in ("run", "fail")))
            step = [a + b for a, b in zip(step, counts)]
            if status != "run":
                print(f"{junit.stem}: {test.get('name')}: {status}")
        print(f"{junit.stem}: {step[0]} passed, {step[1]} failed, {step[2]} skipped")
        total = [a + b for a, b in zip(total, step)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 0 if total[0] and not total[1] and not total[2] else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
