/* The current CUDA device of a scope, under PyTorch's names. */
#pragma once

#include <optional>

#include "c10/cuda/CUDAStream.h"

UMIAK_BEGIN
namespace c10::cuda {

class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex index) { set_index(index); }
  explicit CUDAGuard(const Device& device) { set_index(device.index()); }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  ~CUDAGuard() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  void set_index(DeviceIndex index) {
    if (index < 0) return;
    if (before_ < 0 && cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    const cudaError_t code = cudaSetDevice(index);
    if (code != cudaSuccess) throw ::umiak::Error(::umiak::text_of("CUDAGuard: ", cudaGetErrorString(code)));
  }

 private:
  int before_ = -1;
};

class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(const std::optional<Device>& device) {
    if (device) guard_.emplace(*device);
  }
  explicit OptionalCUDAGuard(const Device& device) { guard_.emplace(device); }

 private:
  std::optional<CUDAGuard> guard_;
};

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda
UMIAK_END
