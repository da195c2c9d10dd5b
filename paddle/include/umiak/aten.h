/* Tensors and functions under PyTorch's names: what kernels of extensions use, over the same interface. */
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "umiak/aten_types.h"
#include "umiak/blob.h"
#include "umiak/dispatch.h"
#include "umiak/functions.h"

UMIAK_BEGIN
namespace at {

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(paddle::Tensor x) : x_(std::move(x)) {}
  /* The tensor of the other headers. */
  const paddle::Tensor& base() const { return x_; }

  bool defined() const { return x_.defined(); }
  void reset() { x_.reset(); }
  int64_t dim() const { return x_.dims().size(); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return x_.numel(); }
  IntArrayRef sizes() const { return x_.dims().values(); }
  IntArrayRef strides() const { return x_.strides().values(); }
  int64_t size(int64_t d) const { return sizes()[axis(d)]; }
  int64_t stride(int64_t d) const { return strides()[axis(d)]; }
  ScalarType scalar_type() const { return c10::scalar_type_of(x_.dtype()); }
  ScalarType dtype() const { return scalar_type(); }
  size_t element_size() const { return phi::SizeOf(x_.dtype()); }
  int64_t itemsize() const { return static_cast<int64_t>(element_size()); }
  size_t nbytes() const { return element_size() * static_cast<size_t>(numel()); }
  Device device() const { return Device(x_.place()); }
  int64_t get_device() const { return device().index(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_contiguous() const { return x_.is_contiguous(); }
  bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }

  void* data_ptr() const { return const_cast<void*>(x_.data()); }
  const void* const_data_ptr() const { return x_.data(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data_ptr() const {
    return const_cast<T*>(x_.data<std::remove_const_t<T>>());
  }
  template <typename T>
  const T* const_data_ptr() const {
    return x_.data<std::remove_const_t<T>>();
  }
  template <typename T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <typename T>
  T item() const {
    const paddle::Tensor one = x_.cast(phi::CppTypeToDataType<T>::Type());
    if (one.numel() != 1) throw ::umiak::Error(::umiak::text_of("item() requires one element, got ", one.numel()));
    return *one.data<T>();
  }

  Tensor contiguous() const { return Tensor(x_.contiguous()); }
  Tensor clone() const { return made("clone", {x_}); }
  Tensor detach() const { return made("assign", {x_}); }
  Tensor to(ScalarType type) const { return Tensor(x_.cast(c10::dtype_of(type))); }
  Tensor to(Device device) const { return Tensor(x_.copy_to(device.place(), true)); }
  Tensor cpu() const { return to(Device(c10::kCPU)); }
  Tensor view(IntArrayRef shape) const { return reshape(shape); }
  Tensor reshape(IntArrayRef shape) const { return made("reshape", {x_, shape.vec()}); }
  Tensor flatten(int64_t from = 0, int64_t to = -1) const { return made("flatten", {x_, from, to}); }
  Tensor unsqueeze(int64_t d) const { return made("unsqueeze", {x_, d}); }
  Tensor squeeze() const { return made("squeeze", {x_}); }
  Tensor squeeze(int64_t d) const { return made("squeeze", {x_, d}); }
  Tensor expand(IntArrayRef shape) const { return made("expand", {x_, shape.vec()}); }
  Tensor permute(IntArrayRef dims) const { return made("transpose", {x_, dims.vec()}); }
  Tensor transpose(int64_t a, int64_t b) const {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < dim(); ++d) order.push_back(d);
    std::swap(order[axis(a)], order[axis(b)]);
    return permute(order);
  }
  Tensor t() const { return dim() < 2 ? *this : transpose(0, 1); }
  Tensor sum() const { return made("sum", {x_}); }
  Tensor sum(IntArrayRef dims, bool keepdim = false) const { return made("sum", {x_, dims.vec(), nullptr, keepdim}); }
  Tensor mean() const { return made("mean", {x_}); }
  Tensor mean(IntArrayRef dims, bool keepdim = false) const { return made("mean", {x_, dims.vec(), keepdim}); }
  Tensor max() const { return made("max", {x_}); }
  Tensor min() const { return made("min", {x_}); }
  Tensor matmul(const Tensor& y) const { return made("matmul", {x_, y.x_}); }
  Tensor abs() const { return made("abs", {x_}); }
  Tensor exp() const { return made("exp", {x_}); }
  Tensor log() const { return made("log", {x_}); }
  Tensor relu() const { return made("relu", {x_}); }
  Tensor neg() const { return made("neg", {x_}); }
  Tensor pow(double exponent) const { return made("pow", {x_, exponent}); }
  Tensor sqrt() const { return made("sqrt", {x_}); }
  Tensor rsqrt() const { return made("rsqrt", {x_}); }
  Tensor sin() const { return made("sin", {x_}); }
  Tensor cos() const { return made("cos", {x_}); }
  Tensor tanh() const { return made("tanh", {x_}); }
  Tensor sigmoid() const { return made("sigmoid", {x_}); }

  const Tensor& copy_(const Tensor& source) const {
    ::umiak::call("assign", {source.x_, x_});
    return *this;
  }
  const Tensor& fill_(const Scalar& value) const {
    ::umiak::call("assign", {::umiak::call("full_like", {x_, value}), x_});
    return *this;
  }
  const Tensor& zero_() const { return fill_(0); }

#define UMIAK_OPERATOR(OPERATOR, NAME)                                                                                  \
  friend Tensor operator OPERATOR(const Tensor& a, const Tensor& b) { return made(#NAME, {a.x_, b.x_}); }                \
  friend Tensor operator OPERATOR(const Tensor& a, const Scalar& b) { return made(#NAME, {a.x_, b}); }
  UMIAK_OPERATOR(+, add)
  UMIAK_OPERATOR(-, subtract)
  UMIAK_OPERATOR(*, multiply)
  UMIAK_OPERATOR(/, divide)
  UMIAK_OPERATOR(==, equal)
  UMIAK_OPERATOR(<, less_than)
  UMIAK_OPERATOR(>, greater_than)
#undef UMIAK_OPERATOR
  friend Tensor operator-(const Tensor& a) { return made("neg", {a.x_}); }

 private:
  static Tensor made(const char* name, std::vector<::umiak::Argument> arguments) {
    return Tensor(::umiak::call(name, std::move(arguments)));
  }
  size_t axis(int64_t d) const {
    const int64_t rank = dim();
    if (d < -rank || d >= rank) throw ::umiak::Error("IndexError", ::umiak::text_of("axis ", d, " of ", rank), nullptr, 0);
    return static_cast<size_t>(d < 0 ? d + rank : d);
  }

  paddle::Tensor x_;
};

using TensorList = ArrayRef<Tensor>;

inline Tensor empty(IntArrayRef shape, const TensorOptions& o = {}) {
  return Tensor(paddle::empty(shape.vec(), c10::dtype_of(o.scalar_type()), o.device().place()));
}
inline Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& o = {}) {
  Tensor out = empty(shape, o);
  out.fill_(value);
  return out;
}
inline Tensor zeros(IntArrayRef shape, const TensorOptions& o = {}) { return full(shape, 0, o); }
inline Tensor ones(IntArrayRef shape, const TensorOptions& o = {}) { return full(shape, 1, o); }
/* Over memory of one's own, which stays where it is until `deleter` is called. Strides are in elements. */
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                        const TensorOptions& o = {}) {
  const phi::DataType type = c10::dtype_of(o.scalar_type());
  return Tensor(paddle::from_blob(data, sizes.vec(), strides.vec(), type, phi::DataLayout::NCHW, o.device().place(), deleter));
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o = {}) {
  return from_blob(data, sizes, strides, nullptr, o);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter, const TensorOptions& o = {}) {
  const phi::DataType type = c10::dtype_of(o.scalar_type());
  return Tensor(paddle::from_blob(data, sizes.vec(), type, phi::DataLayout::NCHW, o.device().place(), deleter));
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& o = {}) {
  return from_blob(data, sizes, std::function<void(void*)>(), o);
}
inline TensorOptions options_of(const Tensor& x, const TensorOptions& o) {
  return TensorOptions(o.has_dtype() ? o.scalar_type() : x.scalar_type()).device(o.has_device() ? o.device() : x.device());
}
inline Tensor empty_like(const Tensor& x, const TensorOptions& o = {}) { return empty(x.sizes(), options_of(x, o)); }
inline Tensor zeros_like(const Tensor& x, const TensorOptions& o = {}) { return zeros(x.sizes(), options_of(x, o)); }
inline Tensor ones_like(const Tensor& x, const TensorOptions& o = {}) { return ones(x.sizes(), options_of(x, o)); }
inline Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& o = {}) {
  return full(x.sizes(), value, options_of(x, o));
}

#define UMIAK_UNARY(NAME) \
  inline Tensor NAME(const Tensor& x) { return Tensor(::umiak::call(#NAME, {x.base()})); }
UMIAK_UNARY(abs)
UMIAK_UNARY(cos)
UMIAK_UNARY(exp)
UMIAK_UNARY(log)
UMIAK_UNARY(relu)
UMIAK_UNARY(rsqrt)
UMIAK_UNARY(sigmoid)
UMIAK_UNARY(sin)
UMIAK_UNARY(sqrt)
UMIAK_UNARY(sum)
UMIAK_UNARY(tanh)
#undef UMIAK_UNARY
#define UMIAK_BINARY(NAME, CALLED) \
  inline Tensor NAME(const Tensor& x, const Tensor& y) { return Tensor(::umiak::call(#CALLED, {x.base(), y.base()})); }
UMIAK_BINARY(add, add)
UMIAK_BINARY(div, divide)
UMIAK_BINARY(matmul, matmul)
UMIAK_BINARY(mm, mm)
UMIAK_BINARY(mul, multiply)
UMIAK_BINARY(sub, subtract)
#undef UMIAK_BINARY
inline Tensor cat(TensorList xs, int64_t dim = 0) {
  std::vector<paddle::Tensor> all;
  for (const Tensor& x : xs) all.push_back(x.base());
  return Tensor(::umiak::call("concat", {all, dim}));
}

}  // namespace at

namespace torch {
using namespace at;  // NOLINT: these are PyTorch's names for the same
using c10::complex;
}  // namespace torch
UMIAK_END

#define UMIAK_TORCH_CHECK(KIND, CONDITION, ...)                                                        \
  do {                                                                                                 \
    if (__builtin_expect(!(CONDITION), 0)) {                                                           \
      std::string umiak_text = ::umiak::text_of(__VA_ARGS__);                                          \
      if (umiak_text.empty()) umiak_text = "it is required that " #CONDITION;                          \
      throw ::umiak::Error(KIND, umiak_text, __FILE__, __LINE__);                                      \
    }                                                                                                  \
  } while (0)
#define TORCH_CHECK(CONDITION, ...) UMIAK_TORCH_CHECK("RuntimeError", CONDITION, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(CONDITION, ...) UMIAK_TORCH_CHECK("AssertionError", CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(CONDITION, ...) UMIAK_TORCH_CHECK("ValueError", CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(CONDITION, ...) UMIAK_TORCH_CHECK("TypeError", CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(CONDITION, ...) UMIAK_TORCH_CHECK("IndexError", CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(CONDITION, ...) UMIAK_TORCH_CHECK("NotImplementedError", CONDITION, ##__VA_ARGS__)

#define UMIAK_SCALAR(...)                                    \
  [&] {                                                      \
    using scalar_t = data_t;                                 \
    return __VA_ARGS__();                                    \
  }
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  PD_DISPATCH_FLOATING_TYPES(::c10::dtype_of(TYPE), NAME, UMIAK_SCALAR(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  UMIAK_SWITCH(::c10::dtype_of(TYPE), NAME, UMIAK_FLOATING(UMIAK_SCALAR(__VA_ARGS__)) UMIAK_CASE(FLOAT16, UMIAK_SCALAR(__VA_ARGS__)))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(::c10::dtype_of(TYPE), NAME, UMIAK_SCALAR(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PD_DISPATCH_INTEGRAL_TYPES(::c10::dtype_of(TYPE), NAME, UMIAK_SCALAR(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(::c10::dtype_of(TYPE), NAME, UMIAK_SCALAR(__VA_ARGS__))
