// How fast pods are decoded from what an API server sends, up to the values that the engine gets.
//
// The pods are the recorded ones of tests/data/kube/, filled up to 5 to 6 kB in protobuf.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "agent/base/check.h"
#include "agent/kube/event_splitter.h"
#include "agent/kube/pb_streams.h"
#include "agent/kube/watch_event.h"
#include "bench/kube/bulky_pod.h"
#include "tests/kube/kube_data.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

constexpr size_t kPods = 1000;

std::vector<std::string> Pods() {
  PbListSplitter list;
  list.Add(testing::KubeData("pods.list.pb"));
  std::vector<std::string> recorded;
  while (const auto piece = list.Next().value()) {
    if (piece->type == PbListSplitter::Piece::Type::kItem) {
      recorded.push_back(bench::WithBulk(piece->message));
    }
  }
  std::vector<std::string> out;
  while (out.size() < kPods) out.push_back(recorded[out.size() % recorded.size()]);
  return out;
}

void CountPods(benchmark::State& state, size_t bytes) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPods));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void BM_WatchInProtobuf(benchmark::State& state) {
  std::string stream;
  for (const std::string& pod : Pods()) {
    stream += testing::PbFrameOf(testing::PbEventOf("MODIFIED", testing::PbEnvelopeOf("Pod", pod)));
  }
  for (auto _ : state) {
    PbFrameSplitter splitter;
    for (size_t at = 0; at < stream.size(); at += 16 << 10) {
      splitter.Add(std::string_view(stream).substr(at, 16 << 10));
      while (const auto frame = splitter.Next().value()) {
        const auto event = ParseWatchFrame(*frame);
        PHANTOMD_CHECK(event.ok() && event->trouble.empty());
        benchmark::DoNotOptimize(event);
      }
    }
  }
  CountPods(state, stream.size());
}
BENCHMARK(BM_WatchInProtobuf)->Unit(benchmark::kMillisecond);

void BM_ListInProtobuf(benchmark::State& state) {
  const std::string body = testing::PbListOf("PodList", "1", "", Pods());
  for (auto _ : state) {
    PbListSplitter splitter;
    for (size_t at = 0; at < body.size(); at += 16 << 10) {
      splitter.Add(std::string_view(body).substr(at, 16 << 10));
      while (const auto piece = splitter.Next().value()) {
        if (piece->type != PbListSplitter::Piece::Type::kItem) continue;
        const DecodedObject object = DecodeObject(Feed::kPods, piece->message);
        PHANTOMD_CHECK(object.trouble.empty());
        benchmark::DoNotOptimize(object);
      }
    }
  }
  CountPods(state, body.size());
}
BENCHMARK(BM_ListInProtobuf)->Unit(benchmark::kMillisecond);

// The recorded pods as they are, without bulk: what kubectl prints.
void BM_WatchInJson(benchmark::State& state) {
  const std::vector<std::string> recorded = testing::EventTexts(testing::KubeData("pods.json"));
  std::string stream;
  for (size_t i = 0; i < kPods; ++i) stream += recorded[i % recorded.size()] + "\n";
  for (auto _ : state) {
    EventSplitter splitter;
    WatchEventParser parser;
    for (size_t at = 0; at < stream.size(); at += 16 << 10) {
      splitter.Add(std::string_view(stream).substr(at, 16 << 10));
      while (const auto piece = splitter.Next()) {
        const auto event = parser.Parse(piece->text);
        PHANTOMD_CHECK(event.ok() && event->trouble.empty());
        benchmark::DoNotOptimize(event);
      }
    }
  }
  CountPods(state, stream.size());
}
BENCHMARK(BM_WatchInJson)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace phantomd
