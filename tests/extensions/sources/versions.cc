// What a source in C++ beside kernels for CUDA devices may call.
#include "paddle/extension.h"

std::vector<paddle::Tensor> Version(const paddle::Tensor& x) {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return {paddle::full_like(x, version)};
}

PD_BUILD_OP(cuda_version).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Version));
