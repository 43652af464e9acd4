#include "agent/lifecycle/pod_index.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "agent/base/check.h"
#include "agent/lifecycle/address_facts.h"

namespace phantomd {
namespace {

constexpr size_t kUuidLength = 36;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool IsDash(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

std::string UnpackUuid(const std::array<uint8_t, 16>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(kUuidLength);
  for (const uint8_t byte : bytes) {
    if (IsDash(text.size())) text += '-';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void PutTextId(uint32_t id, std::array<uint8_t, 16>* bytes) {
  bytes->fill(0);
  std::memcpy(bytes->data(), &id, sizeof(id));
}

uint32_t TextId(const std::array<uint8_t, 16>& bytes) {
  uint32_t id = 0;
  std::memcpy(&id, bytes.data(), sizeof(id));
  return id;
}

}  // namespace

size_t PodIndex::ByUidHash::operator()(uint32_t slot) const {
  return absl::HashOf(index->records_[slot].uid);
}
size_t PodIndex::ByUidHash::operator()(const PackedUid& uid) const {
  return absl::HashOf(uid.bytes);
}
bool PodIndex::ByUidEqual::operator()(uint32_t a, const PackedUid& b) const {
  const PodRecord& record = index->records_[a];
  return record.uid == b.bytes && record.uid_is_text == b.is_text;
}
size_t PodIndex::ByHandleHash::operator()(uint32_t slot) const {
  return (*this)(index->records_[slot].handle);
}
size_t PodIndex::ByHandleHash::operator()(PodHandle handle) const {
  return absl::HashOf(static_cast<uint32_t>(handle));
}
bool PodIndex::ByHandleEqual::operator()(uint32_t a, PodHandle b) const {
  return index->records_[a].handle == b;
}

PodIndex::PodIndex()
    : by_uid_(0, ByUidHash{this}, ByUidEqual{this}),
      by_handle_(0, ByHandleHash{this}, ByHandleEqual{this}) {}

// A UUID in its usual form fits into 16 bytes. False: another text (static pods have a hash).
bool PodIndex::Pack(const PodUid& uid, PackedUid* packed) {
  const std::string& text = uid.value();
  if (text.size() != kUuidLength) return false;
  size_t nibble = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDash(i)) {
      if (text[i] != '-') return false;
      continue;
    }
    const int digit = HexDigit(text[i]);
    if (digit < 0) return false;
    packed->bytes[nibble / 2] |= static_cast<uint8_t>(nibble % 2 == 0 ? digit << 4 : digit);
    ++nibble;
  }
  return true;
}

uint32_t PodIndex::Find(const PodUid& uid) const {
  PackedUid packed;
  if (!Pack(uid, &packed)) {
    const uint32_t text = strings_.Find(uid.value());
    if (text == 0) return 0;
    PutTextId(text, &packed.bytes);
    packed.is_text = true;
  }
  const auto it = by_uid_.find(packed);
  return it == by_uid_.end() ? 0 : *it;
}

uint32_t PodIndex::Find(PodHandle handle) const {
  const auto it = by_handle_.find(handle);
  return it == by_handle_.end() ? 0 : *it;
}

uint32_t PodIndex::Intern(const PodUid& uid) {
  if (const uint32_t slot = Find(uid); slot != 0) return slot;
  const uint32_t slot = records_.Add();
  PodRecord& record = records_[slot];
  PackedUid packed;
  if (!Pack(uid, &packed)) {
    PutTextId(strings_.Acquire(uid.value()), &packed.bytes);
    record.uid_is_text = true;
  }
  record.uid = packed.bytes;
  record.handle = PodHandle{++last_handle_};
  by_uid_.insert(slot);
  by_handle_.insert(slot);
  return slot;
}

bool PodIndex::Describe(uint32_t slot, const PodRef& ref) {
  PodRecord& record = records_[slot];
  if (record.told && ref.name == NameOf(record) && ref.ns == Text(record.ns) &&
      ref.workload == workloads_.Ref(record.workload) && ref.revision == Text(record.revision) &&
      ref.node_name == Text(record.node)) {
    return false;
  }
  DropRef(slot);
  const auto replace = [&](uint32_t& id, std::string_view text) {
    const uint32_t fresh = strings_.Acquire(text);
    strings_.Release(std::exchange(id, fresh));
  };
  replace(record.ns, ref.ns);
  replace(record.revision, ref.revision);
  replace(record.node, ref.node_name);
  const uint32_t workload = workloads_.Acquire(ref.workload);
  workloads_.Release(std::exchange(record.workload, workload));
  record.short_name = !ref.workload.name.empty() && ref.name.starts_with(ref.workload.name);
  const std::string_view kept =
      std::string_view(ref.name).substr(record.short_name ? ref.workload.name.size() : 0);
  record.name = std::make_unique<char[]>(kept.size() + 1);
  std::memcpy(record.name.get(), kept.data(), kept.size());
  return true;
}

void PodIndex::SetNamespace(uint32_t slot, std::string_view ns) {
  PodRecord& record = records_[slot];
  if (record.ns != 0) return;
  DropRef(slot);
  record.ns = strings_.Acquire(ns);
}

void PodIndex::Forget(uint32_t slot) {
  DropRef(slot);
  PodRecord& record = records_[slot];
  PHANTOMD_CHECK(record.handle != PodHandle::kNone);
  by_uid_.erase(slot);
  by_handle_.erase(slot);
  if (record.uid_is_text) strings_.Release(TextId(record.uid));
  strings_.Release(record.ns);
  strings_.Release(record.revision);
  strings_.Release(record.node);
  workloads_.Release(record.workload);
  records_.Free(slot);
}

std::string PodIndex::NameOf(const PodRecord& record) const {
  if (record.name == nullptr) return "";
  return record.short_name ? workloads_.Ref(record.workload).name + record.name.get()
                           : std::string(record.name.get());
}

PodUid PodIndex::Uid(uint32_t slot) const {
  const PodRecord& record = records_[slot];
  return PodUid(record.uid_is_text ? Text(TextId(record.uid)) : UnpackUuid(record.uid));
}

const PodRef* LazyPodRef::get() const { return is_null() ? nullptr : index_->Ref(slot_); }

const PodRef* PodIndex::Ref(uint32_t slot) const {
  const PodRecord& record = records_[slot];
  if (record.kept_ref != 0) return &kept_[record.kept_ref - 1].ref;
  if (kept_free_.empty()) {
    kept_.emplace_back();
    record.kept_ref = static_cast<uint32_t>(kept_.size());
  } else {
    record.kept_ref = kept_free_.back() + 1;
    kept_free_.pop_back();
  }
  KeptRef& kept = kept_[record.kept_ref - 1];
  kept.slot = slot;
  kept.ref = PodRef{.uid = Uid(slot),
                    .ns = Text(record.ns),
                    .name = NameOf(record),
                    .workload = workloads_.Ref(record.workload),
                    .revision = Text(record.revision),
                    .node_name = Text(record.node)};
  return &kept.ref;
}

void PodIndex::DropRef(uint32_t slot) {
  uint32_t& kept = records_[slot].kept_ref;
  if (kept == 0) return;
  kept_[kept - 1] = KeptRef();
  kept_free_.push_back(kept - 1);
  kept = 0;
}

void PodIndex::Trim() {
  if (kept_.size() - kept_free_.size() <= kKeptRefs) return;
  for (const KeptRef& kept : kept_) {
    if (kept.slot != 0) records_[kept.slot].kept_ref = 0;
  }
  kept_.clear();
  kept_free_.clear();
}

}  // namespace phantomd
