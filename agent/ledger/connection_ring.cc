#include "agent/ledger/connection_ring.h"

#include <utility>

namespace phantomd {

void ConnectionRing::Add(std::shared_ptr<const Connection> connection) {
  growing_.push_back(std::move(connection));
  ++size_;
  if (growing_.size() == chunk_) {
    full_.push_back(std::make_shared<const ConnectionChunk>(std::move(growing_)));
    growing_.clear();
  }
  while (size_ > capacity_) {
    --size_;
    ++dropped_;
    ++skip_;
    const size_t oldest = full_.empty() ? growing_.size() : full_.front()->size();
    if (skip_ < oldest) continue;
    skip_ = 0;
    if (full_.empty()) {
      growing_.clear();
    } else {
      full_.pop_front();
    }
  }
}

ConnectionChunks ConnectionRing::Chunks() const {
  ConnectionChunks chunks(full_.begin(), full_.end());
  if (!growing_.empty()) chunks.push_back(std::make_shared<const ConnectionChunk>(growing_));
  if (skip_ > 0) {
    const ConnectionChunk& oldest = *chunks.front();
    chunks.front() = std::make_shared<const ConnectionChunk>(
        oldest.begin() + static_cast<std::ptrdiff_t>(skip_), oldest.end());
  }
  return chunks;
}

}  // namespace phantomd
