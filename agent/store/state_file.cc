#include "agent/store/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/wire/input_wire.h"

namespace phantomd {
namespace {

constexpr int kApplication = 0x7068'746d;  // "phtm", in the file's head
constexpr char kSuffix[] = ".unusable";
constexpr char kEndedFact[] = "ended";
constexpr int64_t kLogKept = 1 << 20;  // bytes of SQLite's log that stay on disk once it is applied

std::string PathIn(const std::string& folder) { return folder + "/state.db"; }

int64_t ChecksumOf(std::string_view bytes) {
  return static_cast<int64_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string Sentence(std::string_view path, std::string_view why) {
  return fmt::format("cannot keep the state in {}: {}", path, why);
}

absl::Status Cannot(std::string_view path, std::string_view why) {
  return absl::UnavailableError(Sentence(path, why));
}

// The inputs of one chunk. False: that is none, from some byte on.
bool ForEachInput(std::string_view chunk, const std::function<absl::Status(const Input&)>& sink,
                  absl::Status& told) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(chunk.data()),
                                            static_cast<int>(chunk.size()));
  in.SetTotalBytesLimit(static_cast<int>(chunk.size()) + 1);
  phantom::v1::Input message;
  while (in.CurrentPosition() < static_cast<int>(chunk.size())) {
    uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return false;
    const auto limit = in.PushLimit(static_cast<int>(length));
    if (!message.ParseFromCodedStream(&in) || in.BytesUntilLimit() != 0) return false;
    in.PopLimit(limit);
    const absl::StatusOr<Input> input = DecodeInput(message);
    if (!input.ok()) return false;
    told = sink(*input);
    if (!told.ok()) return true;
  }
  return true;
}

}  // namespace

// One prepared statement; finalised with it.
class StateFile::Statement {
 public:
  Statement(sqlite3* database, std::string_view sql)
      : code_(sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_,
                                 nullptr)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The texts and blobs must outlive the statement.
  void BindText(int at, std::string_view text) {
    Keep(sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()),
                           SQLITE_STATIC));
  }
  void BindBlob(int at, std::string_view bytes) {
    Keep(sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_STATIC));
  }
  void BindNumber(int at, int64_t number) { Keep(sqlite3_bind_int64(statement_, at, number)); }

  // SQLITE_ROW, SQLITE_DONE or what went wrong, here or before.
  int Step() { return code_ == SQLITE_OK ? sqlite3_step(statement_) : code_; }
  int64_t NumberAt(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view BytesAt(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  void Keep(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }

  sqlite3_stmt* statement_ = nullptr;
  int code_;
};

StateFile::StateFile(std::string path, sqlite3* database)
    : path_(std::move(path)), database_(database) {}

StateFile::~StateFile() { sqlite3_close(database_); }

absl::StatusOr<std::unique_ptr<StateFile>> StateFile::Open(const std::string& folder,
                                                           const StateOwner& owner) {
  const std::string path = PathIn(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Cannot(path, error.message());
  // Names of pods and of their workloads are nobody else's business. SQLite gives its log the same
  // permissions.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Cannot(path, std::strerror(errno));
  close(fd);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  PHANTOMD_CHECK(database != nullptr);  // else there is no memory
  std::unique_ptr<StateFile> file(new StateFile(path, database));
  absl::Status status = code == SQLITE_OK ? file->Prepare(owner) : file->Error(code);
  if (!status.ok()) return status;
  return file;
}

absl::Status StateFile::SetAside(const std::string& folder) {
  const std::string path = PathIn(folder);
  std::error_code error;
  // Without its log the file is another one: the two go together. A log of an earlier one must not
  // stay beside it.
  for (const std::string& of : {std::string(), std::string("-wal")}) {
    std::filesystem::remove(path + kSuffix + of, error);
    std::filesystem::rename(path + of, path + kSuffix + of, error);
    if (error && error != std::errc::no_such_file_or_directory) {
      return Cannot(path, error.message());
    }
  }
  return absl::OkStatus();
}

absl::Status StateFile::Error(int code) const {
  switch (code & 0xff) {
    case SQLITE_ERROR:  // the statements are right: it is the tables that are not
    case SQLITE_SCHEMA:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Damaged(sqlite3_errmsg(database_));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Cannot(path_, "another agent keeps its own there");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return absl::ResourceExhaustedError(Sentence(path_, Said()));
    default:
      return Cannot(path_, Said());
  }
}

std::string StateFile::Said() const {
  const int system = sqlite3_system_errno(database_);
  return system == 0 ? sqlite3_errmsg(database_)
                     : fmt::format("{} ({})", sqlite3_errmsg(database_), std::strerror(system));
}

absl::Status StateFile::Damaged(std::string_view what) const {
  return absl::DataLossError(fmt::format("the state in {} is damaged: {}", path_, what));
}

absl::Status StateFile::Run(const std::string& sql) {
  Statement statement(database_, sql);
  int code;
  do code = statement.Step();
  while (code == SQLITE_ROW);
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::StatusOr<int64_t> StateFile::Number(const std::string& sql) {
  Statement statement(database_, sql);
  const int code = statement.Step();
  if (code != SQLITE_ROW) return Error(code);
  return statement.NumberAt(0);
}

absl::StatusOr<std::string> StateFile::Fact(std::string_view name) {
  Statement statement(database_, "SELECT value FROM fact WHERE name = ?");
  statement.BindText(1, name);
  const int code = statement.Step();
  if (code == SQLITE_DONE) return Damaged(fmt::format("it does not tell its {}", name));
  if (code != SQLITE_ROW) return Error(code);
  return std::string(statement.BytesAt(0));
}

absl::Status StateFile::SetFact(std::string_view name, std::string_view value) {
  Statement statement(database_, "INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)");
  statement.BindText(1, name);
  statement.BindText(2, value);
  const int code = statement.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::Status StateFile::Prepare(const StateOwner& owner) {
  // The lock is held from the first statement on until the file is closed. Beside another agent's
  // it is tried once.
  for (const std::string& pragma : {
           std::string("PRAGMA locking_mode = EXCLUSIVE"),
           std::string("PRAGMA journal_mode = WAL"),
           std::string("PRAGMA synchronous = NORMAL"),
           fmt::format("PRAGMA journal_size_limit = {}", kLogKept),
       }) {
    if (absl::Status status = Run(pragma); !status.ok()) return status;
  }
  const absl::StatusOr<int64_t> application = Number("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const absl::StatusOr<int64_t> tables = Number("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*tables == 0 && *application == 0) return Create(owner);
  if (*application != kApplication) return Damaged("it is another program's database");
  return Check(owner);
}

absl::Status StateFile::Create(const StateOwner& owner) {
  if (absl::Status status = Begin(); !status.ok()) return status;
  for (const std::string& sql : {
           fmt::format("PRAGMA application_id = {}", kApplication),
           fmt::format("PRAGMA user_version = {}", kVersion),
           std::string("CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"),
           std::string("CREATE TABLE chunk (number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, "
                       "inputs BLOB NOT NULL) STRICT"),
       }) {
    if (absl::Status status = Run(sql); !status.ok()) return status;
  }
  const std::pair<std::string_view, std::string_view> facts[] = {
      {"boot", owner.boot_id}, {"node", owner.node_name}, {"feed", owner.feed}};
  for (const auto& [name, value] : facts) {
    if (absl::Status status = SetFact(name, value); !status.ok()) return status;
  }
  return Commit(/*ended=*/false);
}

absl::Status StateFile::Check(const StateOwner& owner) {
  const absl::StatusOr<int64_t> version = Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version != kVersion) {
    return absl::DataLossError(
        fmt::format("the state in {} has the version {}, and this agent knows {} alone", path_,
                    *version, kVersion));
  }
  // Of the whole structure; the checksums guard what is in it.
  Statement check(database_, "PRAGMA quick_check(1)");
  if (const int code = check.Step(); code != SQLITE_ROW) return Error(code);
  if (check.BytesAt(0) != "ok") return Damaged(check.BytesAt(0));
  const struct {
    std::string_view name, here, what;
  } facts[] = {{"boot", owner.boot_id, "is of another boot of this machine"},
               {"node", owner.node_name, "is of another Node"},
               {"feed", owner.feed, "is of another feed"}};
  for (const auto& fact : facts) {
    const absl::StatusOr<std::string> there = Fact(fact.name);
    if (!there.ok()) return there.status();
    if (*there == fact.here) continue;
    return absl::DataLossError(fmt::format("the state in {} {}: {:?}, and this is {:?}", path_,
                                           fact.what, *there, fact.here));
  }
  const absl::StatusOr<std::string> ended = Fact(kEndedFact);
  if (!ended.ok()) return ended.status();
  ended_ = *ended == "1";
  return absl::OkStatus();
}

absl::Status StateFile::Read(const std::function<absl::Status(const Input&)>& sink) {
  chunks_ = 0;
  Statement statement(database_, "SELECT number, checksum, inputs FROM chunk ORDER BY number");
  int code;
  while ((code = statement.Step()) == SQLITE_ROW) {
    const int64_t number = statement.NumberAt(0);
    if (number != chunks_ + 1) {
      return Damaged(fmt::format("chunk {} follows chunk {}", number, chunks_));
    }
    chunks_ = number;
    const std::string_view inputs = statement.BytesAt(2);
    if (statement.NumberAt(1) != ChecksumOf(inputs)) {
      return Damaged(fmt::format("the checksum of chunk {} is wrong", number));
    }
    absl::Status told;
    if (!ForEachInput(inputs, sink, told)) {
      return Damaged(fmt::format("chunk {} holds something else than inputs", number));
    }
    if (!told.ok()) return told;
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::Status StateFile::Begin() {
  if (in_transaction_) return absl::OkStatus();
  absl::Status status = Run("BEGIN IMMEDIATE");
  in_transaction_ = status.ok();
  return status;
}

absl::Status StateFile::Replace() {
  if (absl::Status status = Begin(); !status.ok()) return status;
  chunks_ = 0;
  return Run("DELETE FROM chunk");
}

absl::Status StateFile::Append(std::string_view inputs) {
  if (absl::Status status = Begin(); !status.ok()) return status;
  Statement statement(database_, "INSERT INTO chunk (number, checksum, inputs) VALUES (?, ?, ?)");
  statement.BindNumber(1, ++chunks_);
  statement.BindNumber(2, ChecksumOf(inputs));
  statement.BindBlob(3, inputs);
  const int code = statement.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::Status StateFile::Commit(bool ended) {
  if (absl::Status status = Begin(); !status.ok()) return status;
  if (absl::Status status = SetFact(kEndedFact, ended ? "1" : "0"); !status.ok()) return status;
  absl::Status status = Run("COMMIT");
  in_transaction_ = !status.ok();
  return status;
}

void AppendInput(const Input& input, std::string& out) {
  phantom::v1::Input message;
  EncodeInput(input, &message);
  AppendDelimited(message, &out);
}

}  // namespace phantomd
