// Export says everything that is known again, as the changes that lead a new Lifecycle to the same
// answers.
//
// A pod is told at each instant that one of its facts was; what slices said of it in the past is
// told by one small slice of its own per Service ("<service>.remembered.<uid>.<address>"), which
// goes when the slices as they are now have been told. Example: pod A with an address at 10 s,
// deletion requested 50 s, deleted 55 s becomes three PodChanges at those instants.
//
// A list of small entries is sorted first and each change made only when it is handed out: 200,000
// pods as messages would take many times the memory of the index.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/lifecycle/lifecycle_impl.h"
#include "fmt/format.h"

namespace phantomd {
namespace {

// Also the order of what was observed at the same instant.
enum class What : uint8_t {
  kBroken,
  kNode,
  kPod,
  kPodEnd,
  kRemembered,  // a remembered slice, as it was told then
  kManual,      // the same of an address without a pod
  kManualGone,
  kSlice,  // a slice as it is now
  kRememberedGone,
  kSynced,
};

struct Entry {
  BootTime observed;
  What what;
  uint32_t order;   // handle of the pod, or position: the same in every run
  uint32_t id = 0;  // slot, or position
  uint32_t detail = 0;
};

enum RememberedState : uint32_t { kUnready = 0, kTerminating = 1, kGone = 2, kReady = 3 };

}  // namespace

class Lifecycle::Impl::Exporter {
 public:
  Exporter(const Impl& impl, const ExportSink& sink) : impl_(impl), sink_(sink) {}

  void Run() {
    for (const auto& [key, slice] : impl_.services.slices()) {
      BootTime& last = last_told_[slice.service];
      last = std::max(last, slice.told);
    }
    CollectFeeds();
    CollectNodes();
    for (uint32_t slot = 1; slot < impl_.pods.end(); ++slot) {
      if (impl_.pods[slot].handle != PodHandle::kNone) CollectPod(slot);
    }
    CollectSlices();
    CollectManual();
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.observed, a.what, a.order, a.detail, a.id) <
             std::tie(b.observed, b.what, b.order, b.detail, b.id);
    });
    for (const Entry& entry : entries_) Emit(entry);
  }

 private:
  static constexpr Feed kFeeds[] = {Feed::kPods, Feed::kSlices, Feed::kNodes};

  void CollectFeeds() {
    for (uint32_t i = 0; i < 3; ++i) {
      const FeedLog& log = impl_.Log(kFeeds[i]);
      if (log.first_sync() == BootTime::Max()) continue;
      entries_.push_back({log.first_sync(), What::kSynced, i, i});
      for (uint32_t gap = 0; gap < log.gaps().size(); ++gap) {
        entries_.push_back({log.gaps()[gap].reported, What::kBroken, i, i, gap});
        if (log.gaps()[gap].mended == BootTime::Max()) continue;
        entries_.push_back({log.gaps()[gap].mended, What::kSynced, i, i});
      }
    }
  }

  void CollectNodes() {
    for (const auto& [name, history] : impl_.nodes.history()) nodes_.push_back(&history);
    std::sort(nodes_.begin(), nodes_.end(), [](const auto* a, const auto* b) {
      return a->front().change.name < b->front().change.name;
    });
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      for (uint32_t state = 0; state < nodes_[i]->size(); ++state) {
        entries_.push_back({(*nodes_[i])[state].observed, What::kNode, i, i, state});
      }
    }
  }

  void CollectPod(uint32_t slot) {
    const PodRecord& pod = impl_.pods[slot];
    const uint32_t order = static_cast<uint32_t>(pod.handle);
    std::vector<BootTime> told;
    if (pod.told) {
      const PodFacts& facts = pod.facts;
      told = {facts.first_told,    facts.life_told,     facts.deletion_told,
              facts.finished_told, facts.terminal_told, facts.deleted_told};
    }
    for (uint32_t at = pod.tenancies; at != 0; at = impl_.ips[at].next_of_pod) {
      const Tenancy& tenancy = impl_.ips[at];
      if (tenancy.has_loss && impl_.ips.Loss(at).exact) {
        entries_.push_back({impl_.ips.Loss(at).told, What::kPodEnd, order, at});
      } else if (pod.told && tenancy.has_loss) {
        told.push_back(impl_.ips.Loss(at).told);
      }
      if (pod.told && tenancy.linked) told.push_back(tenancy.told);
      for (uint32_t i = tenancy.listings; i != 0; i = impl_.services[i].next) {
        CollectListing(order, i);
      }
    }
    std::sort(told.begin(), told.end());
    told.erase(std::unique(told.begin(), told.end()), told.end());
    for (const BootTime instant : told) {
      if (instant.is_set()) entries_.push_back({instant, What::kPod, order, slot});
    }
  }

  void CollectListing(uint32_t order, uint32_t id) {
    const Listing& listing = impl_.services[id];
    BootTime last = impl_.services.FirstListed(id);
    const auto say = [&](BootTime when, RememberedState state) {
      entries_.push_back({when, What::kRemembered, order, id, state});
      last = std::max(last, when);
    };
    const auto span = [&](BootTime in, BootTime out, bool removal, bool terminating) {
      say(in, kReady);
      if (out.is_set()) say(out, removal ? kGone : terminating ? kTerminating : kUnready);
    };
    if (listing.ever_ready) {
      span(listing.in_told, listing.out_told, listing.by_removal, listing.by_terminating);
    }
    for (uint32_t at = listing.older; at != 0; at = impl_.services.span(at).older) {
      const ServiceSpan& older = impl_.services.span(at);
      span(older.in_told, older.out_told, older.by_removal, older.by_terminating);
    }
    if (!listing.ever_ready || listing.unseen_start) say(impl_.services.FirstListed(id), kUnready);
    // The slices that list it now have all been told by then.
    if (listing.slices > 0) last = std::max(last, last_told_[listing.service]);
    entries_.push_back({last, What::kRememberedGone, order, id});
  }

  void CollectSlices() {
    for (const auto& [key, slice] : impl_.services.slices()) slices_.push_back(&slice);
    std::sort(slices_.begin(), slices_.end(), [](const auto* a, const auto* b) {
      return std::tie(a->ns, a->name) < std::tie(b->ns, b->name);
    });
    for (uint32_t i = 0; i < slices_.size(); ++i) {
      entries_.push_back({slices_[i]->told, What::kSlice, i, i});
    }
  }

  void CollectManual() {
    for (const auto& [ip, spans] : impl_.services.manual()) {
      for (const ServiceIndex::ManualSpan& span : spans) manual_.push_back({ip, span});
    }
    std::sort(manual_.begin(), manual_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second.from, a.second.service) <
             std::tie(b.first, b.second.from, b.second.service);
    });
    for (uint32_t i = 0; i < manual_.size(); ++i) {
      const ServiceIndex::ManualSpan& span = manual_[i].second;
      BootTime gone = span.to;
      if (gone == BootTime::Max()) {
        // Still listed: by the slices as they are now, the last of which has been told by then.
        gone = std::max(span.from, last_told_[span.service]);
      }
      entries_.push_back({span.from, What::kManual, i, i});
      entries_.push_back(
          {gone, span.to == BootTime::Max() ? What::kRememberedGone : What::kManualGone, i, i, 1});
    }
  }

  void Emit(const Entry& entry) const {
    const BootTime at = entry.observed;
    switch (entry.what) {
      case What::kBroken:
        return sink_(at, FeedChange{kFeeds[entry.id], FeedState::kBroken,
                                    impl_.Log(kFeeds[entry.id]).gaps()[entry.detail].good_until});
      case What::kSynced:
        return sink_(at, FeedChange{kFeeds[entry.id], FeedState::kSynced});
      case What::kNode:
        return sink_(at, (*nodes_[entry.id])[entry.detail].change);
      case What::kPod:
        return sink_(at, PodAt(entry.id, at));
      case What::kPodEnd: {
        const AddressLoss& loss = impl_.ips.Loss(entry.id);
        const Tenancy& tenancy = impl_.ips[entry.id];
        return sink_(at, PodEnd{impl_.pods.Uid(tenancy.pod),
                                {tenancy.ip},
                                loss.bounds.not_after,
                                impl_.pods.Text(loss.evidence)});
      }
      case What::kRemembered:
        return sink_(at, Remembered(entry.id, static_cast<RememberedState>(entry.detail)));
      case What::kManual:
        return sink_(at, Manual(entry.id, false));
      case What::kManualGone:
        return sink_(at, Manual(entry.id, true));
      case What::kRememberedGone:
        return sink_(at, entry.detail == 1 ? Manual(entry.id, true) : Remembered(entry.id, kGone));
      case What::kSlice:
        return sink_(at, Now(*slices_[entry.id]));
    }
  }

  PodChange PodAt(uint32_t slot, BootTime at) const {
    const PodRecord& pod = impl_.pods[slot];
    const PodFacts& facts = pod.facts;
    const auto told = [&](BootTime instant) { return instant.is_set() && instant <= at; };
    PodChange change;
    change.pod = *impl_.pods.Ref(slot);
    change.host_network = pod.host_network;
    change.created = facts.created.is_set() ? facts.created.time() : WallTime();
    for (uint32_t i = pod.tenancies; i != 0; i = impl_.ips[i].next_of_pod) {
      const Tenancy& tenancy = impl_.ips[i];
      if (!tenancy.linked || !told(tenancy.told)) continue;
      const bool lost =
          tenancy.has_loss && !impl_.ips.Loss(i).exact && told(impl_.ips.Loss(i).told);
      if (!lost) change.ips.push_back(tenancy.ip);
    }
    change.phase = change.ips.empty() ? PodPhase::kPending : PodPhase::kRunning;
    if (told(facts.terminal_told)) {
      change.phase = pod.failed ? PodPhase::kFailed : PodPhase::kSucceeded;
    }
    if (told(facts.deletion_told)) change.deletion_requested = facts.deletion_requested.time();
    if (told(facts.finished_told)) change.containers_finished = facts.finished.time();
    if (told(facts.deleted_told)) {
      change.deleted = true;
      if (facts.deleted_in_gap()) change.not_before = facts.deleted_not_before();
    }
    const bool leaving =
        change.deleted || change.deletion_requested.is_set() || IsTerminal(change.phase);
    change.ready = !leaving && !change.ips.empty();
    // The reason's own words are not kept, only what they meant.
    if (leaving && pod.reason_is_eviction) change.departure_reason = "Evicted";
    return change;
  }

  SliceChange SliceOf(uint32_t service, std::string_view name_suffix) const {
    const std::string& full = impl_.services.ServiceName(service);
    const size_t slash = full.find('/');
    SliceChange change;
    change.ns = full.substr(0, slash);
    change.service = full.substr(slash + 1);
    change.name = fmt::format("{}.remembered.{}", change.service, name_suffix);
    return change;
  }

  SliceChange Remembered(uint32_t id, RememberedState state) const {
    const Listing& listing = impl_.services[id];
    const Tenancy& tenancy = impl_.ips[listing.tenancy];
    const PodUid uid = impl_.pods.Uid(tenancy.pod);
    SliceChange change =
        SliceOf(listing.service, fmt::format("{}.{}", uid.value(), tenancy.ip.ToString()));
    change.deleted = state == kGone;
    if (change.deleted) return change;
    change.endpoints.push_back({.addresses = {tenancy.ip},
                                .ready = state == kReady,
                                .serving = state != kUnready,
                                .terminating = state == kTerminating,
                                .pod_uid = uid});
    return change;
  }

  SliceChange Manual(uint32_t id, bool gone) const {
    const auto& [ip, span] = manual_[id];
    SliceChange change = SliceOf(span.service, fmt::format("{}.{}", id, ip.ToString()));
    change.deleted = gone;
    if (!gone) change.endpoints.push_back({.addresses = {ip}});
    return change;
  }

  SliceChange Now(const ServiceIndex::Slice& slice) const {
    SliceChange change = SliceOf(slice.service, "");
    change.name = slice.name;
    for (const ServiceIndex::Entry& entry : slice.entries) {
      SliceChange::Endpoint& endpoint = change.endpoints.emplace_back();
      endpoint.ready = entry.ready;
      endpoint.terminating = entry.terminating;
      endpoint.serving = entry.ready || entry.terminating;
      if (entry.manual) {
        endpoint.addresses = {impl_.services.ManualAddress(entry)};
      } else {
        const Tenancy& tenancy = impl_.ips[impl_.services[entry.listing].tenancy];
        endpoint.addresses = {tenancy.ip};
        endpoint.pod_uid = impl_.pods.Uid(tenancy.pod);
      }
    }
    return change;
  }

  const Impl& impl_;
  const ExportSink& sink_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<uint32_t, BootTime> last_told_;  // of each Service's slices
  std::vector<const std::vector<NodeIndex::Told>*> nodes_;
  std::vector<const ServiceIndex::Slice*> slices_;
  std::vector<std::pair<IpAddr, ServiceIndex::ManualSpan>> manual_;
};

void Lifecycle::Impl::Export(const ExportSink& sink) const { Exporter(*this, sink).Run(); }

}  // namespace phantomd
