"""Each lint check finds what it is there to find."""
import pathlib
import tempfile
import unittest

import format as format_check
import include_direction
import locks_live_in_base
import one_definition


class LintChecks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_an_arrow_that_points_outward_is_found(self):
        self.write("agent/base/x.h", '#include "agent/engine/engine.h"\n')
        self.assertEqual(len(include_direction.find_complaints(self.root)), 1)

    def test_an_edge_that_includes_another_is_found(self):
        self.write("agent/kube/x.cc", '#include "agent/envoy/poller.h"\n')
        self.assertEqual(len(include_direction.find_complaints(self.root)), 1)

    def test_io_in_a_pure_room_is_found(self):
        self.write("agent/verdict/x.cc", "#include <curl/curl.h>\n#include <fstream>\n")
        self.assertEqual(len(include_direction.find_complaints(self.root)), 2)

    def test_an_arrow_that_points_inward_is_allowed(self):
        self.write("agent/engine/x.cc", '#include "agent/verdict/verdict.h"\n#include <vector>\n')
        self.assertEqual(include_direction.find_complaints(self.root), [])

    def test_a_lock_outside_base_is_found(self):
        self.write("agent/serve/x.h", "std::mutex m;\n")
        self.write("agent/base/mutex.h", "std::mutex m;\n")
        self.assertEqual(len(locks_live_in_base.find_complaints(self.root)), 1)

    def test_two_types_of_one_name_are_found(self):
        self.write("agent/verdict/x.h", "namespace phantomd {\nstruct Listing {\n};\n}  // namespace phantomd\n")
        self.write("agent/lifecycle/x.cc", "namespace phantomd {\nclass Listing final : Base {\n};\n}  // namespace phantomd\n")
        self.assertEqual(len(one_definition.find_complaints(self.root)), 1)

    def test_types_that_no_other_file_can_see_are_allowed(self):
        hidden = "namespace phantomd {\nnamespace {\nstruct Row {\n};\n}  // namespace\n}  // namespace phantomd\n"
        self.write("agent/verdict/x.cc", hidden)
        self.write("agent/lifecycle/x.cc", hidden)
        self.assertEqual(one_definition.find_complaints(self.root), [])

    def test_bad_formatting_is_found(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("agent/base/x.h", "int   f( );\n")
        self.assertTrue(format_check.find_complaints(self.root))


if __name__ == "__main__":
    unittest.main()
