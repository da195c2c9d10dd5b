/* Tensors over memory of one's own. */
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "umiak/tensor.h"

UMIAK_BEGIN
namespace umiak {

struct Lent {
  void* data;
  std::function<void(void*)> deleter;
};

inline void give_back(void* context) noexcept {
  const std::unique_ptr<Lent> lent(static_cast<Lent*>(context));
  if (lent->deleter) lent->deleter(lent->data);
}

inline paddle::Tensor lend(void* data, const paddle::IntArray& shape, const int64_t* strides, phi::DataType dtype, const phi::Place& place,
                           const std::function<void(void*)>& deleter) {
  // Memory of no place is the host's, and so is what is pinned for a device.
  const bool elsewhere = place.GetType() != phi::AllocationType::UNDEFINED && place.GetType() != phi::AllocationType::GPUPINNED;
  const std::string type = elsewhere ? place.GetDeviceType() : "cpu";
  auto lent = std::make_unique<Lent>(Lent{data, deleter});
  umiak_tensor* x = host().lend(data, static_cast<int32_t>(dtype), static_cast<int32_t>(shape.size()), shape.GetData().data(), strides,
                                type.c_str(), place.GetDeviceId(), lent.get(), give_back);
  if (!x) raise_host_error();
  lent.release();
  return paddle::Tensor::own(x);
}

}  // namespace umiak

namespace paddle {

using Deleter = std::function<void(void*)>;

/* Over memory of one's own, without a copy. It stays where it is until `deleter` gets its address, once, on any thread, when no tensor
   uses it any more; where from_blob throws, the deleter is not called. The deleter may not throw. Elements lie one after the other, or
   `strides` apart, in elements. Memory of a device requires its place. */
inline Tensor from_blob(void* data, const IntArray& shape, DataType dtype, DataLayout = DataLayout::NCHW, const Place& place = {},
                        const Deleter& deleter = nullptr) {
  return ::umiak::lend(data, shape, nullptr, dtype, place, deleter);
}

inline Tensor from_blob(void* data, const IntArray& shape, const IntArray& strides, DataType dtype, DataLayout = DataLayout::NCHW,
                        const Place& place = {}, const Deleter& deleter = nullptr) {
  if (strides.size() != shape.size()) {
    throw ::umiak::Error("ValueError", ::umiak::text_of("[from_blob] requires a stride for each of ", shape.size(), " axes, got ", strides.size()),
                         nullptr, 0);
  }
  return ::umiak::lend(data, shape, strides.GetData().data(), dtype, place, deleter);
}

}  // namespace paddle
UMIAK_END
