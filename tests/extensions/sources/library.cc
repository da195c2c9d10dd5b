// Operators by schemas. These headers, those of PyTorch and those of the reference framework compile this file.
#include <torch/library.h>
#ifndef WITHOUT_META  // what the reference framework lacks
#include <torch/types.h>
#endif

#include <ATen/ATen.h>

#include <string>
#include <tuple>
#include <vector>

namespace {

at::Tensor muladd(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
  TORCH_CHECK(a.scalar_type() == at::kFloat, "a must be float32, got ", a.scalar_type());
  at::Tensor x = a.contiguous();
  at::Tensor y = b.contiguous();
  at::Tensor out = at::empty(x.sizes(), x.options());
  const float* from = x.data_ptr<float>();
  const float* with = y.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = from[i] * with[i] + static_cast<float>(c);
  return out;
}

at::Tensor muladd_meta(const at::Tensor& a, const at::Tensor& b, double c) {
  (void)b;
  (void)c;
  return at::empty_like(a);
}

void add_out(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  const float* x = a.data_ptr<float>();
  const float* y = b.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = x[i] + y[i];
}

std::tuple<at::Tensor, at::Tensor> halves(const at::Tensor& x) {
  const int64_t n = x.size(0) / 2;
  at::Tensor low = at::empty({n}, x.options());
  at::Tensor high = at::empty({x.size(0) - n}, x.options());
  for (int64_t i = 0; i < x.size(0); ++i) {
    (i < n ? low.data_ptr<float>()[i] : high.data_ptr<float>()[i - n]) = x.data_ptr<float>()[i * x.stride(0)];
  }
  return std::make_tuple(low, high);
}

at::Tensor twice(const at::Tensor& x) {
  at::Tensor from = x.contiguous();
  at::Tensor out = at::empty_like(from);
  for (int64_t i = 0; i < out.numel(); ++i) out.data_ptr<float>()[i] = 2 * from.data_ptr<float>()[i];
  return out;
}

}  // namespace

TORCH_LIBRARY(test_library, m) {
  m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("add_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
}

TORCH_LIBRARY_FRAGMENT(test_library, m) {
  m.def("halves(Tensor x) -> (Tensor, Tensor)", &halves);
  m.def("twice", &twice);
}

TORCH_LIBRARY_IMPL(test_library, CPU, m) {
  m.impl("muladd", &muladd);
  m.impl("add_out", &add_out);
}

#ifndef WITHOUT_META
TORCH_LIBRARY_IMPL(test_library, Meta, m) { m.impl("muladd", &muladd_meta); }

at::Tensor lent(const at::Tensor& x, int64_t how) {
  float* memory = new float[6]{0, 1, 2, 3, 4, 5};
  const auto deleter = [](void* p) { delete[] static_cast<float*>(p); };
  if (how == 0) return torch::from_blob(memory, {2, 3}, deleter, torch::kFloat);
  if (how == 1) return torch::from_blob(memory, x.sizes(), {1, 3}, deleter, x.options());
  delete[] memory;
  static int64_t lasting[] = {7, 8};
  return how == 2 ? torch::from_blob(lasting, {2}, torch::dtype(torch::kLong)) : torch::from_blob(lasting, {2, 2}, {0, 1}, torch::kLong);
}

TORCH_LIBRARY_FRAGMENT(test_library, m) { m.def("lent", &lent); }

at::Tensor reduced(const at::Tensor& x, int64_t how) {
  switch (how) {
    case 0: return x.squeeze();
    case 1: return x.mean({0}, true);
    case 2: return x.mean({0});
    case 3: return x.max() - x.min();
    case 4: return x.neg().pow(2.0);
    case 5: return x.abs().rsqrt();
    default: return x.sin() + x.cos();
  }
}

// A number decides the rank.
at::Tensor totals(const at::Tensor& x, int64_t keep) { return x.sum({1}, keep != 0); }

at::Tensor totals_meta(const at::Tensor& x, int64_t keep) {
  return keep ? at::empty({x.size(0), 1}, x.options()) : at::empty({x.size(0)}, x.options());
}

TORCH_LIBRARY_FRAGMENT(test_library, m) {
  m.def("reduced", &reduced);
  m.def("totals(Tensor x, int keep) -> Tensor");
}

TORCH_LIBRARY_IMPL(test_library, CPU, m) { m.impl("totals", &totals); }

TORCH_LIBRARY_IMPL(test_library, Meta, m) { m.impl("totals", &totals_meta); }
#endif
