/* What PaddlePaddle calls the context of a device: here it tells its place. Kernels of a CPU are done when they return. */
#pragma once
#include "paddle/extension.h"

UMIAK_BEGIN
namespace phi {

class DeviceContext {
 public:
  explicit DeviceContext(const Place& place) : place_(place) {}
  virtual ~DeviceContext() = default;
  const Place& GetPlace() const { return place_; }
  void Wait() const {}

 private:
  Place place_;
};

class CPUContext : public DeviceContext {
 public:
  using DeviceContext::DeviceContext;
};

class DeviceContextPool {
 public:
  static DeviceContextPool& Instance() {
    static DeviceContextPool pool;
    return pool;
  }
  CPUContext* Get(const Place& place) {
    PD_CHECK(place.GetType() == AllocationType::CPU,
             "[DeviceContextPool.Get] requires a place of the CPU, got " + place.DebugString() +
                 ". The stream of a tensor on another device is tensor.stream().");
    return &cpu_;
  }

 private:
  CPUContext cpu_{Place(AllocationType::CPU)};
};

}  // namespace phi

namespace paddle {
namespace experimental {

class DeviceContextPool {
 public:
  static DeviceContextPool& Instance() {
    static DeviceContextPool pool;
    return pool;
  }
  template <phi::AllocationType T>
  const phi::CPUContext* Get(const phi::Place& place) {
    static_assert(T == phi::AllocationType::CPU, "contexts of CPUs alone are here");
    return phi::DeviceContextPool::Instance().Get(place);
  }
};

}  // namespace experimental
}  // namespace paddle
UMIAK_END
