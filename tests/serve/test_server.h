// A PhantomServer in this process on a Unix socket in a folder of its own, over values that the
// test sets. The folder goes with it.
#pragma once

#include <memory>
#include <string>

#include "agent/base/published.h"
#include "agent/serve/explain_question.h"
#include "agent/serve/server.h"
#include "phantom/v1/query.grpc.pb.h"
#include "tests/base/temporary_folder.h"

namespace phantomd::testing {

class TestServer {
 public:
  struct Options {
    size_t questions = 8;  // room in the mailbox
    Nanos explain_deadline = std::chrono::seconds(20);
  };
  TestServer() : TestServer(Options()) {}
  explicit TestServer(Options options);

  void Publish(Report report) { report_.Set(std::make_shared<const Report>(std::move(report))); }

  std::string address() const { return "unix:" + folder_ / "phantomd.sock"; }
  AnswerSources sources() { return {report_, health_, questions_}; }
  Published<AgentHealth>& health() { return health_; }
  ExplainQuestions& questions() { return questions_; }
  void Stop() { server_.reset(); }

  std::unique_ptr<phantom::v1::PhantomService::Stub> NewStub() const;

 private:
  TempFolder folder_;
  Published<Report> report_;
  Published<AgentHealth> health_;
  ExplainQuestions questions_;
  std::unique_ptr<PhantomServer> server_;
};

// A call that hangs fails its test instead of blocking it.
void GiveUpAfterTwentySeconds(grpc::ClientContext* context);

}  // namespace phantomd::testing
