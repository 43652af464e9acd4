// InputSink: whoever keeps what an engine is told, to tell it to another one later.
//
// What is kept begins with an export; then come the inputs in the order in which they are applied.
// Another export may come at any time: it says in fewer inputs what all before it have led to. A
// sink takes it in place of them, or passes over it.
//
// Called by one thread, never the core's.
#pragma once

#include "agent/engine/input.h"

namespace phantomd {

class InputSink {
 public:
  virtual ~InputSink() = default;
  // Between these two Write() gets the inputs of an export (Engine::Export), header first.
  virtual void BeginExport() = 0;
  virtual void EndExport() = 0;
  virtual void Write(const Input& input) = 0;
  // A burst is over: what was written need not wait for more.
  virtual void Flush() {}
  // About once a second, never within an export. When it returns, what was written is kept, or
  // stats say why it is not.
  virtual void Commit() {}
};

}  // namespace phantomd
