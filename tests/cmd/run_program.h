// Runs a program of the build as a user does: arguments in, exit code and both outputs out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace phantomd::testing {

struct Ran {
  int code = -1;  // 128 + signal if one ended it
  std::string out;
  std::string err;
};

// bin/`program` of this build, or what an absolute path names.
std::string PathOf(const std::string& program);

// Runs PathOf(program) in the time zone UTC. `input` is its standard input.
Ran RunProgram(const std::string& program, const std::vector<std::string>& arguments,
               const std::string& input = "");

// A program that goes on: its standard output is read line by line.
class RunningProgram {
 public:
  RunningProgram(const std::string& program, const std::vector<std::string>& arguments);
  ~RunningProgram();  // kills what still runs
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // The next line without its break; waits 20 s at most, then an empty one.
  std::string ReadLine();
  void Signal(int number);
  int Wait();                  // its exit code, as in Ran
  std::string Errors() const;  // standard error so far

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string buffered_;
};

}  // namespace phantomd::testing
