#include "tests/serve/test_server.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

namespace phantomd::testing {

TestServer::TestServer(Options options) : questions_(options.questions) {
  auto server = PhantomServer::Start(
      {.listen = {address()}, .explain_deadline = options.explain_deadline}, sources());
  EXPECT_TRUE(server.ok()) << server.status();
  if (server.ok()) server_ = std::move(*server);
}

std::unique_ptr<phantom::v1::PhantomService::Stub> TestServer::NewStub() const {
  // A pool of its own: the channels of a test's earlier servers are not reused.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return phantom::v1::PhantomService::NewStub(
      grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments));
}

void GiveUpAfterTwentySeconds(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
}

}  // namespace phantomd::testing
