// A kernel for CUDA devices, as users write it.
#include "paddle/extension.h"

template <typename T>
__global__ void relu_kernel(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] > static_cast<T>(0) ? x[i] : static_cast<T>(0);
}

std::vector<paddle::Tensor> Relu(const paddle::Tensor& x) {
  PD_CHECK(x.is_gpu(), "x must be on a gpu");
  auto y = paddle::empty_like(x);
  const unsigned blocks = static_cast<unsigned>((x.numel() + 255) / 256);
  PD_DISPATCH_FLOATING_TYPES(x.dtype(), "relu", ([&] {
    relu_kernel<data_t><<<blocks, 256, 0, x.stream()>>>(x.data<data_t>(), y.data<data_t>(), x.numel());
  }));
  const cudaError_t code = cudaGetLastError();
  PD_CHECK(code == cudaSuccess, cudaGetErrorString(code));
  return {y};
}

PD_BUILD_OP(cuda_relu).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Relu));
