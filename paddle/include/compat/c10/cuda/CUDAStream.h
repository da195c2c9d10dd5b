/* Streams of CUDA devices under PyTorch's names. */
#pragma once

#include <cuda_runtime_api.h>

#include "umiak/aten.h"

UMIAK_BEGIN
namespace c10::cuda {

class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }  // NOLINT

 private:
  cudaStream_t stream_;
};

/* The current stream of a device; of the running call's where the index is negative. */
inline CUDAStream getCurrentCUDAStream(DeviceIndex device_index = -1) {
  void* stream = device_index < 0 ? ::umiak::stream_of(nullptr, 0) : ::umiak::stream_of("gpu", device_index);
  return CUDAStream(static_cast<cudaStream_t>(stream));
}

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
}  // namespace at::cuda
UMIAK_END
