// Where the server listens: sockets that are taken, left over or no sockets, ports, TLS.

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "agent/base/strings.h"
#include "tests/serve/test_server.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using testing::GiveUpAfterTwentySeconds;
using testing::TempFolder;
using testing::TestServer;

grpc::Status AskStatus(const std::string& address,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                       const std::string& tls_name = "") {
  grpc::ChannelArguments arguments;
  if (!tls_name.empty()) arguments.SetSslTargetNameOverride(tls_name);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub =
      pb::PhantomService::NewStub(grpc::CreateCustomChannel(address, credentials, arguments));
  grpc::ClientContext context;
  GiveUpAfterTwentySeconds(&context);
  pb::Status out;
  return stub->GetStatus(&context, {}, &out);
}

class ListenTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<PhantomServer>> Start(PhantomServer::Options options) {
    return PhantomServer::Start(options, {report_, health_, questions_});
  }
  std::string SocketPath() const { return folder_ / "run/phantomd.sock"; }
  std::string SocketAddress() const { return "unix:" + SocketPath(); }

  TempFolder folder_;
  Published<Report> report_;
  Published<AgentHealth> health_;
  ExplainQuestions questions_{1};
};

TEST_F(ListenTest, SocketIsForOwnerAndGroupAndGoesWithTheServer) {
  {
    const auto server = Start({.listen = {SocketAddress()}});
    ASSERT_TRUE(server.ok()) << server.status();
    struct stat info;
    ASSERT_EQ(stat(SocketPath().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0660u);
    EXPECT_TRUE(AskStatus(SocketAddress(), grpc::InsecureChannelCredentials()).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(SocketPath()));
}

TEST_F(ListenTest, SecondAgentOnTheSameSocketIsTurnedAwayAndTheFirstGoesOn) {
  const auto first = Start({.listen = {SocketAddress()}});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start({.listen = {SocketAddress()}});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(second.status().message(),
            SocketAddress() + ": another agent is running and answers there");
  EXPECT_TRUE(AskStatus(SocketAddress(), grpc::InsecureChannelCredentials()).ok());
}

TEST_F(ListenTest, SocketThatAKilledAgentLeftIsTakenOver) {
  std::filesystem::create_directory(folder_ / "run");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path, SocketPath().c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  close(fd);
  ASSERT_TRUE(std::filesystem::exists(SocketPath()));
  const auto server = Start({.listen = {SocketAddress()}});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(AskStatus(SocketAddress(), grpc::InsecureChannelCredentials()).ok());
}

TEST_F(ListenTest, FileThatIsNoSocketIsLeftAlone) {
  std::filesystem::create_directory(folder_ / "run");
  std::ofstream(SocketPath()) << "precious";
  const auto server = Start({.listen = {SocketAddress()}});
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message(), SocketAddress() + ": exists and is no socket");
  std::ifstream file(SocketPath());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
}

TEST_F(ListenTest, PathThatIsTooLongIsNamed) {
  const std::string path = folder_ / std::string(200, 'x');
  EXPECT_EQ(Start({.listen = {"unix:" + path}}).status().message(),
            "\"unix:" + path + "\": a socket's path has 1 to 107 bytes");
}

TEST_F(ListenTest, FolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_ / "run") << "a file";
  const auto server = Start({.listen = {"unix:" + folder_ / "run/x/phantomd.sock"}});
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message(), "unix:" + folder_ / "run/x/phantomd.sock" +
                                           ": cannot create the folder: Not a directory");
}

TEST_F(ListenTest, TcpPortInUseIsNamed) {
  const auto first = Start({.listen = {"127.0.0.1:0"}});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ((*first)->ports().size(), 1u);
  const std::string address = "127.0.0.1:" + std::to_string((*first)->ports()[0]);
  EXPECT_TRUE(AskStatus(address, grpc::InsecureChannelCredentials()).ok());
  const auto second = Start({.listen = {SocketAddress(), address}});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            address +
                ": cannot listen there: the address is in use, not of this machine or not "
                "allowed");
  EXPECT_FALSE(std::filesystem::exists(SocketPath()));
}

TEST_F(ListenTest, TlsFilesThatDoNotFitTogetherAreNamed) {
  const struct {
    PhantomServer::Options options;
    std::string sentence;
  } kCases[] = {
      {{.tls_cert = "c.pem"}, "TLS needs both a certificate and its key"},
      {{.tls_key = "k.pem"}, "TLS needs both a certificate and its key"},
      {{.tls_client_ca = "ca.pem"}, "a client CA needs a certificate and its key"},
      {{.tls_cert = "/none/c.pem", .tls_key = "/none/k.pem"},
       "TLS certificate /none/c.pem: cannot be read"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Start(c.options).status().message(), c.sentence);
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes a certificate and its key.
void MakeIdentity(const std::string& cert, const std::string& key) {
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj /CN=phantomd.test -addext subjectAltName=DNS:phantomd.test -keyout " +
      key + " -out " + cert + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
}

TEST_F(ListenTest, TlsFilesThatHoldSomethingElseAreNamed) {
  const std::string cert = folder_ / "cert.pem", key = folder_ / "key.pem";
  const std::string other_cert = folder_ / "c2.pem", other_key = folder_ / "k2.pem";
  MakeIdentity(cert, key);
  MakeIdentity(other_cert, other_key);
  const std::string garbage = folder_ / "garbage.pem";
  std::ofstream(garbage) << "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
  const struct {
    std::string cert, key, client_ca;
    std::string sentence;
  } kCases[] = {
      {garbage, key, "", "TLS certificate " + garbage + ": holds no certificate"},
      {key, key, "", "TLS certificate " + key + ": holds no certificate"},
      {cert, garbage, "", "TLS key " + garbage + ": holds no private key without a password"},
      {cert, other_key, "", "TLS key " + other_key + ": is not that of the certificate " + cert},
      {cert, key, garbage, "TLS client CA " + garbage + ": holds no certificate"},
  };
  for (const auto& c : kCases) {
    const auto server = Start({.listen = {"127.0.0.1:0"},
                               .tls_cert = c.cert,
                               .tls_key = c.key,
                               .tls_client_ca = c.client_ca});
    ASSERT_FALSE(server.ok()) << c.sentence;
    EXPECT_EQ(server.status().message(), c.sentence);
  }
}

TEST_F(ListenTest, Ipv6StandsInBrackets) {
  const auto server = Start({.listen = {"[::1]:0"}});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = "[::1]:" + std::to_string((*server)->ports()[0]);
  EXPECT_TRUE(AskStatus(address, grpc::InsecureChannelCredentials()).ok());
}

TEST_F(ListenTest, WhatIsNoAddressIsNamedBeforeAnythingIsMade) {
  for (const char* wrong : {"127.0.0.1:99999", "foo", ""}) {
    const auto server = Start({.listen = {SocketAddress(), wrong}});
    ASSERT_FALSE(server.ok()) << wrong;
    EXPECT_TRUE(
        FromAbsl(server.status().message()).starts_with("\"" + std::string(wrong) + "\": "));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run")) << wrong;
  }
}

TEST_F(ListenTest, TlsServerAnswersOnlyClientsThatTheCaSigned) {
  const std::string cert = folder_ / "cert.pem", key = folder_ / "key.pem";
  MakeIdentity(cert, key);
  const auto server =
      Start({.listen = {"127.0.0.1:0"}, .tls_cert = cert, .tls_key = key, .tls_client_ca = cert});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = "127.0.0.1:" + std::to_string((*server)->ports()[0]);
  grpc::SslCredentialsOptions signed_client{.pem_root_certs = ReadFile(cert),
                                            .pem_private_key = ReadFile(key),
                                            .pem_cert_chain = ReadFile(cert)};
  EXPECT_TRUE(AskStatus(address, grpc::SslCredentials(signed_client), "phantomd.test").ok());
  grpc::SslCredentialsOptions stranger{.pem_root_certs = ReadFile(cert)};
  EXPECT_FALSE(AskStatus(address, grpc::SslCredentials(stranger), "phantomd.test").ok());
  EXPECT_FALSE(AskStatus(address, grpc::InsecureChannelCredentials()).ok());
}

}  // namespace
}  // namespace phantomd
