/* Functions of tensors: those of the library in Python, under the same names. */
#pragma once

#include <tuple>

#include "umiak/call.h"

UMIAK_BEGIN
namespace paddle {
namespace experimental {

using ::umiak::call;

/* --- new tensors */

inline Tensor empty(const IntArray& shape, DataType dtype = DataType::FLOAT32, const Place& place = CPUPlace()) {
  const std::string type = place.GetDeviceType();
  umiak_tensor* x = ::umiak::host().empty(static_cast<int32_t>(dtype), static_cast<int32_t>(shape.size()), shape.GetData().data(),
                                          type.empty() ? nullptr : type.c_str(), place.GetDeviceId());
  if (!x) ::umiak::raise_host_error();
  return Tensor::own(x);
}

inline Tensor full(const IntArray& shape, const Scalar& value, DataType dtype = DataType::FLOAT32, const Place& place = CPUPlace()) {
  Tensor out = empty(shape, dtype, place);
  call("assign", {call("full_like", {out, value}), out});
  return out;
}

inline Tensor zeros(const IntArray& shape, DataType dtype = DataType::FLOAT32, const Place& place = CPUPlace()) {
  return full(shape, 0, dtype, place);
}

inline Tensor ones(const IntArray& shape, DataType dtype = DataType::FLOAT32, const Place& place = CPUPlace()) {
  return full(shape, 1, dtype, place);
}

inline DataType dtype_or(DataType dtype, const Tensor& x) { return dtype == DataType::UNDEFINED ? x.dtype() : dtype; }
inline const Place& place_or(const Place& place, const Tensor& x) {
  return place.GetType() == AllocationType::UNDEFINED ? x.place() : place;
}

inline Tensor empty_like(const Tensor& x, DataType dtype = DataType::UNDEFINED, const Place& place = {}) {
  return empty(x.shape(), dtype_or(dtype, x), place_or(place, x));
}

inline Tensor full_like(const Tensor& x, const Scalar& value, DataType dtype = DataType::UNDEFINED, const Place& place = {}) {
  return full(x.shape(), value, dtype_or(dtype, x), place_or(place, x));
}

inline Tensor zeros_like(const Tensor& x, DataType dtype = DataType::UNDEFINED, const Place& place = {}) {
  return full_like(x, 0, dtype, place);
}

inline Tensor ones_like(const Tensor& x, DataType dtype = DataType::UNDEFINED, const Place& place = {}) {
  return full_like(x, 1, dtype, place);
}

inline Tensor arange(const Tensor& start, const Tensor& end, const Tensor& step, DataType dtype, const Place& place = {}) {
  const Tensor out = call("arange", {start, end, step, dtype});
  return place.GetType() == AllocationType::UNDEFINED ? out : out.copy_to(place, true);
}

inline Tensor fill(const Tensor& x, const Scalar& value = 0) { return full_like(x, value); }

/* --- element by element */

#define UMIAK_UNARY(NAME) \
  inline Tensor NAME(const Tensor& x) { return call(#NAME, {x}); }
UMIAK_UNARY(abs)
UMIAK_UNARY(acos)
UMIAK_UNARY(acosh)
UMIAK_UNARY(asin)
UMIAK_UNARY(asinh)
UMIAK_UNARY(assign)
UMIAK_UNARY(atan)
UMIAK_UNARY(atanh)
UMIAK_UNARY(bitwise_not)
UMIAK_UNARY(ceil)
UMIAK_UNARY(conj)
UMIAK_UNARY(cos)
UMIAK_UNARY(cosh)
UMIAK_UNARY(digamma)
UMIAK_UNARY(erf)
UMIAK_UNARY(erfinv)
UMIAK_UNARY(exp)
UMIAK_UNARY(expm1)
UMIAK_UNARY(floor)
UMIAK_UNARY(hardswish)
UMIAK_UNARY(imag)
UMIAK_UNARY(isfinite)
UMIAK_UNARY(isinf)
UMIAK_UNARY(isnan)
UMIAK_UNARY(lgamma)
UMIAK_UNARY(log)
UMIAK_UNARY(log10)
UMIAK_UNARY(log1p)
UMIAK_UNARY(log2)
UMIAK_UNARY(logical_not)
UMIAK_UNARY(real)
UMIAK_UNARY(reciprocal)
UMIAK_UNARY(relu)
UMIAK_UNARY(relu6)
UMIAK_UNARY(round)
UMIAK_UNARY(rsqrt)
UMIAK_UNARY(sigmoid)
UMIAK_UNARY(sign)
UMIAK_UNARY(silu)
UMIAK_UNARY(sin)
UMIAK_UNARY(sinh)
UMIAK_UNARY(sqrt)
UMIAK_UNARY(square)
UMIAK_UNARY(swish)
UMIAK_UNARY(tan)
UMIAK_UNARY(tanh)
UMIAK_UNARY(trunc)
#undef UMIAK_UNARY

#define UMIAK_BINARY(NAME) \
  inline Tensor NAME(const Tensor& x, const Tensor& y) { return call(#NAME, {x, y}); }
UMIAK_BINARY(add)
UMIAK_BINARY(atan2)
UMIAK_BINARY(bitwise_and)
UMIAK_BINARY(bitwise_or)
UMIAK_BINARY(bitwise_xor)
UMIAK_BINARY(bmm)
UMIAK_BINARY(divide)
UMIAK_BINARY(dot)
UMIAK_BINARY(equal)
UMIAK_BINARY(floor_divide)
UMIAK_BINARY(fmax)
UMIAK_BINARY(fmin)
UMIAK_BINARY(gather_nd)
UMIAK_BINARY(greater_equal)
UMIAK_BINARY(greater_than)
UMIAK_BINARY(kron)
UMIAK_BINARY(less_equal)
UMIAK_BINARY(less_than)
UMIAK_BINARY(logical_and)
UMIAK_BINARY(logical_or)
UMIAK_BINARY(logical_xor)
UMIAK_BINARY(masked_select)
UMIAK_BINARY(maximum)
UMIAK_BINARY(minimum)
UMIAK_BINARY(multiply)
UMIAK_BINARY(mv)
UMIAK_BINARY(not_equal)
UMIAK_BINARY(remainder)
UMIAK_BINARY(subtract)
#undef UMIAK_BINARY

inline Tensor elementwise_pow(const Tensor& x, const Tensor& y) { return call("pow", {x, y}); }
inline Tensor pow(const Tensor& x, const Scalar& y) { return call("pow", {x, y}); }
inline Tensor cast(const Tensor& x, DataType dtype) { return call("cast", {x, dtype}); }
inline Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) { return call("where", {condition, x, y}); }
inline Tensor scale(const Tensor& x, const Scalar& scale = 1.0, const Scalar& bias = 0.0, bool bias_after_scale = true) {
  return call("scale", {x, scale, bias, bias_after_scale});
}

inline Tensor clip(const Tensor& x, const Scalar& min, const Scalar& max) { return call("clip", {x, min, max}); }
inline Tensor elu(const Tensor& x, float alpha = 1.0f) { return call("elu", {x, double(alpha)}); }
inline Tensor gelu(const Tensor& x, bool approximate = false) { return call("gelu", {x, approximate}); }
inline Tensor leaky_relu(const Tensor& x, double negative_slope = 0.02) { return call("leaky_relu", {x, negative_slope}); }
inline Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0) { return call("softplus", {x, beta, threshold}); }
inline Tensor add_n(const std::vector<Tensor>& xs) { return call("add_n", {xs}); }

/* --- along axes */

inline Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false, bool transpose_y = false) {
  return call("matmul", {x, y, transpose_x, transpose_y});
}
inline Tensor sum(const Tensor& x, const IntArray& axis = {}, DataType dtype = DataType::UNDEFINED, bool keepdim = false) {
  return call("sum", {x, ::umiak::axes(axis), dtype, keepdim});
}
inline Tensor mean(const Tensor& x, const IntArray& axis = {}, bool keepdim = false) {
  return call("mean", {x, ::umiak::axes(axis), keepdim});
}
inline Tensor max(const Tensor& x, const IntArray& axis = {}, bool keepdim = false) {
  return call("max", {x, ::umiak::axes(axis), keepdim});
}
inline Tensor min(const Tensor& x, const IntArray& axis = {}, bool keepdim = false) {
  return call("min", {x, ::umiak::axes(axis), keepdim});
}
inline Tensor softmax(const Tensor& x, int axis = -1) { return call("softmax", {x, axis}); }
inline Tensor log_softmax(const Tensor& x, int axis = -1) { return call("log_softmax", {x, axis}); }
inline Tensor addmm(const Tensor& input, const Tensor& x, const Tensor& y, float beta = 1.0f, float alpha = 1.0f) {
  return call("addmm", {input, x, y, double(beta), double(alpha)});
}
#define UMIAK_REDUCTION(NAME)                                                                              \
  inline Tensor NAME(const Tensor& x, const std::vector<int64_t>& axis = {}, bool keepdim = false) {       \
    return call(#NAME, {x, ::umiak::axes(IntArray(axis)), keepdim});                                       \
  }
UMIAK_REDUCTION(all)
UMIAK_REDUCTION(amax)
UMIAK_REDUCTION(amin)
UMIAK_REDUCTION(any)
#undef UMIAK_REDUCTION
inline Tensor mean_all(const Tensor& x) { return call("mean", {x}); }
inline Tensor prod(const Tensor& x, const IntArray& axis, bool keepdim, bool reduce_all) {
  return call("prod", {x, reduce_all ? ::umiak::Argument(nullptr) : ::umiak::axes(axis), keepdim});
}
#define UMIAK_ARG(NAME)                                                                                                     \
  inline Tensor NAME(const Tensor& x, const Scalar& axis, bool keepdims = false, bool flatten = false,                      \
                     DataType dtype = DataType::INT64) {                                                                    \
    return call(#NAME, {x, flatten ? ::umiak::Argument(nullptr) : ::umiak::Argument(axis.to<int64_t>()), keepdims, dtype}); \
  }
UMIAK_ARG(argmax)
UMIAK_ARG(argmin)
#undef UMIAK_ARG
/* Sorted elements, and where they were. */
inline std::tuple<Tensor, Tensor> argsort(const Tensor& x, int axis = -1, bool descending = false, bool stable = false) {
  const Tensor order = call("argsort", {x, axis, descending, stable});
  return {call("take_along_axis", {x, order, axis}), order};
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, const Scalar& k = 1, int axis = -1, bool largest = true, bool sorted = true) {
  const std::vector<Tensor> both = ::umiak::call_all("topk", {x, k.to<int64_t>(), axis, largest, sorted});
  return {both.at(0), both.at(1)};
}
inline Tensor logsumexp(const Tensor& x, const std::vector<int>& axis = {}, bool keepdim = false, bool reduce_all = false) {
  return call("logsumexp", {x, reduce_all ? ::umiak::Argument(nullptr) : ::umiak::axes(IntArray(axis)), keepdim});
}

/* --- shapes */

inline Tensor reshape(const Tensor& x, const IntArray& shape) { return call("reshape", {x, shape}); }
inline Tensor transpose(const Tensor& x, const std::vector<int>& perm) { return call("transpose", {x, IntArray(perm)}); }
inline Tensor expand(const Tensor& x, const IntArray& shape) { return call("expand", {x, shape}); }
inline Tensor tile(const Tensor& x, const IntArray& times) { return call("tile", {x, times}); }
inline Tensor flatten(const Tensor& x, int start_axis = 1, int stop_axis = 1) { return call("flatten", {x, start_axis, stop_axis}); }
inline Tensor squeeze(const Tensor& x, const IntArray& axis = {}) { return call("squeeze", {x, ::umiak::axes(axis)}); }
inline Tensor unsqueeze(const Tensor& x, const IntArray& axis = {}) { return call("unsqueeze", {x, axis}); }
inline Tensor concat(const std::vector<Tensor>& xs, const Scalar& axis = 0) { return call("concat", {xs, axis.to<int64_t>()}); }
inline Tensor stack(const std::vector<Tensor>& xs, int axis = 0) { return call("stack", {xs, axis}); }
inline std::vector<Tensor> split(const Tensor& x, const IntArray& sections, const Scalar& axis) {
  return ::umiak::call_all("split", {x, sections, axis.to<int64_t>()});
}
/* Sums up to each element, in x's dtype: without it where `exclusive`, from the end where `reverse`. */
inline Tensor cumsum(const Tensor& x, const Scalar& axis = -1, bool flatten = false, bool exclusive = false, bool reverse = false) {
  const Tensor given = flatten ? reshape(x, {-1}) : x;
  const int rank = static_cast<int>(given.shape().size());
  int at = flatten ? 0 : static_cast<int>(axis.to<int64_t>());
  if (at < 0) at += rank;
  const Tensor flipped = reverse && rank ? call("flip", {given, IntArray({at})}) : given;
  Tensor out = call("cumsum", {flipped, at, x.dtype()});
  if (exclusive && rank && out.shape()[at]) {
    const std::vector<int64_t> axes = {at};
    const Tensor first = call("slice", {out, axes, IntArray({0}), IntArray({1})});
    const Tensor rest = call("slice", {out, axes, IntArray({0}), IntArray({out.shape()[at] - 1})});
    out = concat({zeros_like(first), rest}, at);
  }
  return reverse && rank ? call("flip", {out, IntArray({at})}) : out;
}
inline Tensor gather(const Tensor& x, const Tensor& index, const Scalar& axis = 0) {
  return call("gather", {x, index, axis.to<int64_t>()});
}

inline Tensor index_select(const Tensor& x, const Tensor& index, int axis = 0) { return call("index_select", {x, index, axis}); }
/* These two take an index for each element that is read or written: none is repeated, as in Python. */
inline Tensor take_along_axis(const Tensor& x, const Tensor& indices, int axis) {
  return call("take_along_axis", {x, indices, axis, false});
}
inline Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Tensor& values, int axis,
                             const std::string& reduce = "assign", bool include_self = true) {
  return call("put_along_axis", {x, indices, values, axis, reduce.c_str(), include_self, false});
}
inline Tensor index_add(const Tensor& x, const Tensor& index, const Tensor& values, int axis = 0) {
  return call("index_add", {x, index, axis, values});
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) { return call("masked_fill", {x, mask, value}); }
inline Tensor repeat_interleave(const Tensor& x, int repeats, int axis, int64_t /* output_size, of no use here */ = -1) {
  return call("repeat_interleave", {x, repeats, axis});
}
/* Rows of the weight; zeros at `padding_idx`, unless it is -1. */
inline Tensor embedding(const Tensor& x, const Tensor& weight, int64_t padding_idx = -1, bool sparse = false) {
  const ::umiak::Argument padding = padding_idx == -1 ? ::umiak::Argument(nullptr) : ::umiak::Argument(padding_idx);
  return call("embedding", {x, weight, padding, nullptr, 2.0, sparse});
}
inline Tensor swiglu(const Tensor& x, const optional<Tensor>& y) {
  return call("swiglu", {x, y ? ::umiak::Argument(y.get()) : ::umiak::Argument(nullptr)});
}
inline Tensor nonzero(const Tensor& condition) { return call("nonzero", {condition}); }
inline Tensor one_hot(const Tensor& x, const Scalar& num_classes) { return call("one_hot", {x, num_classes.to<int64_t>()}); }
inline Tensor scatter(const Tensor& x, const Tensor& index, const Tensor& updates, bool overwrite = true) {
  return call("scatter", {x, index, updates, overwrite});
}
inline Tensor scatter_nd_add(const Tensor& x, const Tensor& index, const Tensor& updates) {
  return call("scatter_nd_add", {x, index, updates});
}
inline Tensor flip(const Tensor& x, const std::vector<int>& axis) { return call("flip", {x, IntArray(axis)}); }
inline Tensor roll(const Tensor& x, const IntArray& shifts = {}, const std::vector<int64_t>& axis = {}) {
  return call("roll", {x, shifts, ::umiak::axes(IntArray(axis))});
}
inline Tensor tril(const Tensor& x, int diagonal = 0) { return call("tril", {x, diagonal}); }
inline Tensor triu(const Tensor& x, int diagonal = 0) { return call("triu", {x, diagonal}); }
inline Tensor expand_as(const Tensor& x, const optional<Tensor>& y, const std::vector<int64_t>& target_shape = {}) {
  return expand(x, y ? IntArray(y.get().shape()) : IntArray(target_shape));
}
inline Tensor slice(const Tensor& x, const std::vector<int64_t>& axes, const IntArray& starts, const IntArray& ends,
                    const std::vector<int64_t>& = {}, const std::vector<int64_t>& decrease_axis = {}) {
  const Tensor out = call("slice", {x, axes, starts, ends});
  return decrease_axis.empty() ? out : squeeze(out, decrease_axis);
}
inline std::vector<Tensor> split_with_num(const Tensor& x, int num, const Scalar& axis) {
  return ::umiak::call_all("split", {x, num, axis.to<int64_t>()});
}
inline std::vector<Tensor> unbind(const Tensor& x, int axis = 0) { return ::umiak::call_all("unbind", {x, axis}); }
inline Tensor copy_to(const Tensor& x, const Place& place, bool blocking) { return x.copy_to(place, blocking); }

/* --- with the result in the first operand */

inline Tensor& assign_out_(const Tensor& x, Tensor& out) {
  call("assign", {x, out});
  return out;
}
#define UMIAK_IN_PLACE(NAME, FUNCTION) \
  inline Tensor& NAME(Tensor& x, const Tensor& y) { return assign_out_(FUNCTION(x, y), x); }
UMIAK_IN_PLACE(add_, add)
UMIAK_IN_PLACE(subtract_, subtract)
UMIAK_IN_PLACE(multiply_, multiply)
UMIAK_IN_PLACE(divide_, divide)
#undef UMIAK_IN_PLACE
inline Tensor& relu_(Tensor& x) { return assign_out_(relu(x), x); }
inline Tensor& clip_(Tensor& x, const Scalar& min, const Scalar& max) { return assign_out_(clip(x, min, max), x); }
inline Tensor& scale_(Tensor& x, const Scalar& factor = 1.0, const Scalar& bias = 0.0, bool bias_after_scale = true) {
  return assign_out_(scale(x, factor, bias, bias_after_scale), x);
}

}  // namespace experimental

using namespace experimental;  // NOLINT: the public names

inline Tensor Tensor::contiguous() const { return is_contiguous() ? *this : call("clone", {*this}); }
inline void Tensor::reshape(const std::vector<int64_t>& shape) {
  if (held_) *this = call("reshape", {*this, shape});
  else wanted_shape_ = shape;
}
inline Tensor Tensor::slice(int64_t begin, int64_t end) const {
  return call("slice", {*this, std::vector<int64_t>{0}, std::vector<int64_t>{begin}, std::vector<int64_t>{end}});
}
inline Tensor Tensor::cast(DataType dtype) const { return call("cast", {*this, dtype}); }
inline Tensor Tensor::copy_to(const Place& place, bool) const {
  Tensor out = empty_like(*this, dtype(), place);
  call("assign", {*this, out});
  return out;
}
inline void Tensor::copy_(const Tensor& source, const Place& place, bool blocking) {
  if (!held_) *this = source.copy_to(place_or(place, source), blocking);
  else call("assign", {source, *this});
}

#define UMIAK_BOTH(METHOD, OPERATOR, NAME)                                               \
  inline Tensor Tensor::METHOD(const Tensor& y) const { return call(#NAME, {*this, y}); } \
  inline Tensor Tensor::METHOD(const Scalar& y) const { return call(#NAME, {*this, y}); } \
  inline Tensor Tensor::operator OPERATOR(const Tensor& y) const { return METHOD(y); }    \
  inline Tensor Tensor::operator OPERATOR(const Scalar& y) const { return METHOD(y); }    \
  inline Tensor operator OPERATOR(const Scalar& x, const Tensor& y) { return call(#NAME, {full_like(y, x), y}); }
UMIAK_BOTH(add, +, add)
UMIAK_BOTH(subtract, -, subtract)
UMIAK_BOTH(multiply, *, multiply)
UMIAK_BOTH(divide, /, divide)
#undef UMIAK_BOTH
inline Tensor Tensor::pow(const Tensor& y) const { return call("pow", {*this, y}); }
inline Tensor Tensor::pow(const Scalar& y) const { return call("pow", {*this, y}); }

#define UMIAK_METHOD(METHOD, NAME) \
  inline Tensor Tensor::METHOD(const Tensor& y) const { return call(#NAME, {*this, y}); }
#define UMIAK_COMPARED(METHOD, OPERATOR) \
  UMIAK_METHOD(METHOD, METHOD)           \
  UMIAK_METHOD(operator OPERATOR, METHOD)
UMIAK_COMPARED(equal, ==)
UMIAK_COMPARED(not_equal, !=)
UMIAK_COMPARED(less_than, <)
UMIAK_COMPARED(less_equal, <=)
UMIAK_COMPARED(greater_than, >)
UMIAK_COMPARED(greater_equal, >=)
UMIAK_COMPARED(bitwise_and, &)
UMIAK_COMPARED(bitwise_or, |)
UMIAK_COMPARED(bitwise_xor, ^)
UMIAK_METHOD(maximum, maximum)
UMIAK_METHOD(minimum, minimum)
UMIAK_METHOD(elementwise_pow, pow)
UMIAK_METHOD(gather_nd, gather_nd)
#undef UMIAK_COMPARED
#undef UMIAK_METHOD

inline Tensor Tensor::operator-() const { return call("neg", {*this}); }
inline Tensor Tensor::operator~() const { return call("bitwise_not", {*this}); }
inline Tensor Tensor::bitwise_not() const { return call("bitwise_not", {*this}); }
inline Tensor Tensor::abs() const { return call("abs", {*this}); }
inline Tensor Tensor::exp() const { return call("exp", {*this}); }
inline Tensor Tensor::floor() const { return call("floor", {*this}); }
inline Tensor Tensor::log() const { return call("log", {*this}); }
inline Tensor Tensor::assign() const { return call("assign", {*this}); }
inline Tensor Tensor::matmul(const Tensor& y, bool transpose_x, bool transpose_y) const {
  return experimental::matmul(*this, y, transpose_x, transpose_y);
}
inline Tensor Tensor::sum(const IntArray& axis, DataType dtype, bool keepdim) const {
  return experimental::sum(*this, axis, dtype, keepdim);
}
inline Tensor Tensor::max(const IntArray& axis, bool keepdim) const { return experimental::max(*this, axis, keepdim); }
inline Tensor Tensor::expand(const IntArray& shape) const { return experimental::expand(*this, shape); }
inline Tensor Tensor::roll(const IntArray& shifts, const std::vector<int64_t>& axis) const {
  return experimental::roll(*this, shifts, axis);
}
inline Tensor Tensor::scatter(const Tensor& index, const Tensor& updates, bool overwrite) const {
  return experimental::scatter(*this, index, updates, overwrite);
}
inline Tensor Tensor::scatter_nd_add(const Tensor& index, const Tensor& updates) const {
  return experimental::scatter_nd_add(*this, index, updates);
}
inline Tensor Tensor::tile(const IntArray& times) const { return experimental::tile(*this, times); }
inline Tensor Tensor::scale(const Scalar& factor, const Scalar& bias, bool bias_after_scale) const {
  return experimental::scale(*this, factor, bias, bias_after_scale);
}

}  // namespace paddle
UMIAK_END
