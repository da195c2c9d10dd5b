// Operators of every kind that extensions have. Both these headers and those of the reference framework compile this file;
// both have the standard headers that it uses.
#include "paddle/extension.h"
#include "paddle/phi/api/ext/spmd_infer.h"
#include "paddle/phi/backends/context_pool.h"
#include "paddle/phi/infermeta/spmd_rules/rules.h"

#define CHECK_CPU(x) PD_CHECK((x).is_cpu(), #x " must be a tensor on the cpu")

// --- relu, with a gradient of the gradient

template <typename T>
void relu_elements(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > static_cast<T>(0) ? x[i] : static_cast<T>(0);
}

template <typename T>
void relu_slopes(const T* grad, const T* y, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = y[i] > static_cast<T>(0) ? grad[i] : static_cast<T>(0);
}

std::vector<paddle::Tensor> ReluForward(const paddle::Tensor& x) {
  CHECK_CPU(x);
  auto out = paddle::empty_like(x);
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(
      x.type(), "relu", ([&] { relu_elements<data_t>(x.data<data_t>(), out.data<data_t>(), x.numel()); }));
  return {out};
}

std::vector<paddle::Tensor> Masked(const paddle::Tensor& out, const paddle::Tensor& grad) {
  auto masked = paddle::empty(grad.shape(), grad.dtype(), grad.place());
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(grad.type(), "relu_grad", ([&] {
                                        relu_slopes<data_t>(
                                            grad.data<data_t>(), out.data<data_t>(), masked.data<data_t>(), grad.numel());
                                      }));
  return {masked};
}

std::vector<paddle::Tensor> ReluBackward(const paddle::Tensor& x, const paddle::Tensor& out, const paddle::Tensor& grad_out) {
  PD_CHECK(x.shape() == out.shape(), "x and out must have the same shape");
  return Masked(out, grad_out);
}

PD_BUILD_OP(test_relu)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(ReluForward))
    .SetInferSpmdFn(PD_INFER_SPMD_RULE(phi::distributed::ElementwiseUnaryInferSpmd));

PD_BUILD_GRAD_OP(test_relu)
    .Inputs({"X", "Out", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(ReluBackward));

PD_BUILD_DOUBLE_GRAD_OP(test_relu)
    .Inputs({"Out", paddle::Grad(paddle::Grad("X"))})
    .Outputs({paddle::Grad(paddle::Grad("Out"))})
    .SetKernelFn(PD_KERNEL(Masked));

// --- tanh: its second gradient reaches the result that the first one was computed of

std::vector<paddle::Tensor> TanhForward(const paddle::Tensor& x) { return {paddle::tanh(x)}; }

std::vector<paddle::Tensor> TanhBackward(const paddle::Tensor& out, const paddle::Tensor& grad) { return {grad * (1 - out * out)}; }

std::vector<paddle::Tensor> TanhTwice(const paddle::Tensor& out, const paddle::Tensor& slope, const paddle::Tensor& grad) {
  return {-2 * grad * out * slope, slope * (1 - out * out)};
}

std::vector<std::vector<int64_t>> TanhShape(const std::vector<int64_t>& out, const std::vector<int64_t>&) { return {out}; }

PD_BUILD_OP(test_tanh).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(TanhForward));

PD_BUILD_GRAD_OP(test_tanh)
    .Inputs({"Out", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(TanhBackward))
    .SetInferShapeFn(PD_INFER_SHAPE(TanhShape));

PD_BUILD_DOUBLE_GRAD_OP(test_tanh)
    .Inputs({"Out", paddle::Grad(paddle::Grad("X")), paddle::Grad("Out")})
    .Outputs({paddle::New(paddle::Grad("Out")), paddle::Grad(paddle::Grad("Out"))})
    .SetKernelFn(PD_KERNEL(TanhTwice));

// --- an input that may be none

std::vector<paddle::Tensor> AddForward(const paddle::Tensor& x, const paddle::optional<paddle::Tensor>& y) {
  if (!y) return {x + x};
  return {x + y.get() * 2.0};
}

std::vector<std::vector<int64_t>> AddShape(const std::vector<int64_t>& x, const paddle::optional<std::vector<int64_t>>& y) {
  if (y) PD_CHECK(y.get() == x, "x and y must have the same shape");
  return {x};
}

std::vector<paddle::DataType> AddDtype(const paddle::DataType& x, const paddle::optional<paddle::DataType>& y) {
  (void)y;
  return {x};
}

std::vector<paddle::Tensor> AddBackward(const paddle::Tensor& x,
                                        const paddle::optional<paddle::Tensor>& y,
                                        const paddle::Tensor& grad_out) {
  (void)x;
  if (!y) return {grad_out * 2.0};
  return {grad_out * 1.0, grad_out * 2.0};
}

PD_BUILD_OP(test_add_optional)
    .Inputs({"X", paddle::Optional("Y")})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(AddForward))
    .SetInferShapeFn(PD_INFER_SHAPE(AddShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(AddDtype));

PD_BUILD_GRAD_OP(test_add_optional)
    .Inputs({"X", paddle::Optional("Y"), paddle::Grad("Out")})
    .Outputs({paddle::Grad("X"), paddle::Grad(paddle::Optional("Y"))})
    .SetKernelFn(PD_KERNEL(AddBackward));

// --- a list of inputs

std::vector<paddle::Tensor> JoinForward(const std::vector<paddle::Tensor>& xs, int64_t axis) {
  auto shape = xs[0].shape();
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  int64_t outer = 1, inner = 1, total = 0;
  for (int64_t d = 0; d < axis; ++d) outer *= shape[static_cast<size_t>(d)];
  for (size_t d = static_cast<size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
  for (const auto& x : xs) total += x.shape()[static_cast<size_t>(axis)];
  shape[static_cast<size_t>(axis)] = total;
  auto out = paddle::empty(shape, xs[0].dtype(), xs[0].place());
  PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(xs[0].type(), "join", ([&] {
                                            auto* to = out.data<data_t>();
                                            for (int64_t o = 0; o < outer; ++o) {
                                              for (const auto& x : xs) {
                                                const int64_t n = x.shape()[static_cast<size_t>(axis)] * inner;
                                                const auto* from = x.data<data_t>() + o * n;
                                                for (int64_t i = 0; i < n; ++i) *to++ = from[i];
                                              }
                                            }
                                          }));
  return {out};
}

std::vector<paddle::Tensor> JoinBackward(const std::vector<paddle::Tensor>& xs, const paddle::Tensor& grad_out, int64_t axis) {
  std::vector<paddle::Tensor> grads;
  auto rest = grad_out;
  std::vector<int64_t> sizes;
  if (axis < 0) axis += static_cast<int64_t>(xs[0].shape().size());
  for (const auto& x : xs) sizes.push_back(x.shape()[static_cast<size_t>(axis)]);
  return paddle::split(grad_out, sizes, axis);
}

std::vector<std::vector<int64_t>> JoinShape(const std::vector<std::vector<int64_t>>& xs, int64_t axis) {
  PD_CHECK(!xs.empty(), "at least one tensor is required");
  auto shape = xs[0];
  const size_t d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  for (size_t i = 1; i < xs.size(); ++i) shape[d] += xs[i][d];
  return {shape};
}

std::vector<paddle::DataType> JoinDtype(const std::vector<paddle::DataType>& xs) { return {xs[0]}; }

// Sharded alike along all axes but that along which they are joined.
phi::distributed::SpmdInfo JoinSpmd(const std::vector<phi::distributed::DistMetaTensor>& xs, int64_t axis) {
  const int64_t rank = xs[0].dims().size();
  std::vector<int64_t> merged(static_cast<size_t>(rank), -1);
  for (const auto& x : xs) {
    const auto& mapping = x.dist_attr().dims_mapping();
    for (int64_t d = 0; d < rank; ++d) {
      const size_t i = static_cast<size_t>(d);
      if (merged[i] < 0 && d != (axis < 0 ? axis + rank : axis)) merged[i] = mapping[i];
    }
  }
  phi::distributed::TensorDistAttr out(xs[0].dist_attr());
  out.set_dims_mapping(merged);
  std::vector<phi::distributed::ArgDistAttr> inputs, outputs;
  inputs.emplace_back(std::vector<phi::distributed::TensorDistAttr>(xs.size(), out));
  outputs.emplace_back(out);
  return {inputs, outputs};
}

PD_BUILD_OP(test_join)
    .Inputs({paddle::Vec("X")})
    .Outputs({"Out"})
    .Attrs({"axis: int64_t"})
    .SetKernelFn(PD_KERNEL(JoinForward))
    .SetInferShapeFn(PD_INFER_SHAPE(JoinShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(JoinDtype))
    .SetInferSpmdFn(PD_INFER_SPMD_RULE(JoinSpmd));

PD_BUILD_GRAD_OP(test_join)
    .Inputs({paddle::Vec("X"), paddle::Grad("Out")})
    .Outputs({paddle::Grad(paddle::Vec("X"))})
    .Attrs({"axis: int64_t"})
    .SetKernelFn(PD_KERNEL(JoinBackward));

// --- inputs that are written to

void AddInplace(paddle::Tensor& x, const paddle::Tensor& y) {
  PD_DISPATCH_FLOATING_TYPES(x.type(), "add_", ([&] {
                               auto* to = x.data<data_t>();
                               const auto* from = y.data<data_t>();
                               for (int64_t i = 0; i < x.numel(); ++i) to[i] += from[i];
                             }));
}

std::vector<paddle::Tensor> AddInplaceBackward(paddle::Tensor& grad_out) { return {grad_out * 1.0}; }

PD_BUILD_OP(test_add_)
    .Inputs({"X", "Y"})
    .Outputs({"Out"})
    .SetInplaceMap({{"X", "Out"}})
    .SetKernelFn(PD_KERNEL(AddInplace));

PD_BUILD_GRAD_OP(test_add_)
    .Inputs({paddle::Grad("Out")})
    .Outputs({paddle::Grad("X"), paddle::Grad("Y")})
    .SetInplaceMap({{paddle::Grad("Out"), paddle::Grad("X")}})
    .SetKernelFn(PD_KERNEL(AddInplaceBackward));

void ReluInplace(paddle::Tensor& x) {
  PD_DISPATCH_FLOATING_TYPES(x.type(), "relu_", ([&] { relu_elements(x.data<data_t>(), x.data<data_t>(), x.numel()); }));
}

// `x` is what the kernel has made of it.
void ReluInplaceBackward(const paddle::Tensor& x, const paddle::Tensor& out, paddle::Tensor& grad) {
  PADDLE_ENFORCE_EQ(x.numel(), out.numel(), common::errors::InvalidArgument("x and out differ"));
  PD_DISPATCH_FLOATING_TYPES(grad.type(), "relu_grad_", ([&] {
                               relu_slopes(grad.data<data_t>(), x.data<data_t>(), grad.data<data_t>(), grad.numel());
                             }));
}

PD_BUILD_OP(test_relu_).Inputs({"X"}).Outputs({"Out"}).SetInplaceMap({{"X", "Out"}}).SetKernelFn(PD_KERNEL(ReluInplace));

PD_BUILD_GRAD_OP(test_relu_)
    .Inputs({"X", "Out", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetInplaceMap({{paddle::Grad("Out"), paddle::Grad("X")}})
    .SetKernelFn(PD_KERNEL(ReluInplaceBackward));

void ScaleAll(std::vector<paddle::Tensor>& xs, float by) {
  for (auto& x : xs) {
    auto* to = x.data<float>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] *= by;
  }
}

PD_BUILD_OP(test_scale_all_)
    .Inputs({paddle::Vec("X")})
    .Outputs({paddle::Vec("Out")})
    .Attrs({"by: float"})
    .SetInplaceMap({{paddle::Vec("X"), paddle::Vec("Out")}})
    .SetKernelFn(PD_KERNEL(ScaleAll));

void ScaleBy(std::vector<paddle::Tensor>& xs, const paddle::optional<paddle::Tensor>&, const std::vector<int>& by) {
  for (int factor : by) ScaleAll(xs, static_cast<float>(factor));
}

std::vector<paddle::Tensor> ScaleByBackward(const std::vector<paddle::Tensor>& grads, const std::vector<int>& by) {
  std::vector<paddle::Tensor> found;
  for (auto& g : grads) {
    found.push_back(g);
    for (int factor : by) found.back() = found.back() * factor;
  }
  return found;
}

PD_BUILD_OP(test_scale_by_)
    .Inputs({paddle::Vec("X"), paddle::Optional("Unused")})
    .Outputs({paddle::Vec("Out")})
    .Attrs({"by: std::vector<int>"})
    .SetInplaceMap({{paddle::Vec("X"), paddle::Vec("Out")}})
    .SetKernelFn(PD_KERNEL(ScaleBy));

PD_BUILD_GRAD_OP(test_scale_by_)
    .Inputs({paddle::Grad(paddle::Vec("Out"))})
    .Outputs({paddle::Grad(paddle::Vec("X"))})
    .Attrs({"by: std::vector<int>"})
    .SetKernelFn(PD_KERNEL(ScaleByBackward));

// --- attributes of all types

std::vector<paddle::Tensor> Attributes(const paddle::Tensor& x,
                                       bool flag,
                                       int i,
                                       float f,
                                       int64_t l,
                                       std::string text,
                                       const std::vector<int>& is,
                                       const std::vector<float>& fs,
                                       const std::vector<int64_t>& ls,
                                       const std::vector<std::string>& texts) {
  double sum = (flag ? 1 : 0) + i + f + static_cast<double>(l) + static_cast<double>(text.size());
  for (int v : is) sum += v;
  for (float v : fs) sum += v;
  for (int64_t v : ls) sum += static_cast<double>(v);
  for (const auto& t : texts) sum += static_cast<double>(t.size());
  return {x + sum};
}

PD_BUILD_OP(test_attributes)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"flag: bool",
            "i: int",
            "f: float",
            "l: int64_t",
            "text: std::string",
            "ints: std::vector<int>",
            "floats: std::vector<float>",
            "longs: std::vector<int64_t>",
            "texts: std::vector<std::string>"})
    .SetKernelFn(PD_KERNEL(Attributes));

// --- results of other shapes and dtypes

std::vector<paddle::Tensor> Ends(const paddle::Tensor& x, int count) {
  const int64_t n = x.shape()[0];
  const int64_t inner = n ? x.numel() / n : 0;
  auto shape = x.shape();
  shape[0] = count;
  auto head = paddle::full(shape, 0, x.dtype(), x.place());
  auto sizes = paddle::empty({n}, paddle::DataType::INT64, x.place());
  for (int64_t i = 0; i < n; ++i) sizes.data<int64_t>()[i] = inner;
  PD_DISPATCH_FLOATING_TYPES(x.type(), "ends", ([&] {
                               for (int64_t i = 0; i < count * inner && i < x.numel(); ++i) {
                                 head.data<data_t>()[i] = x.data<data_t>()[i];
                               }
                             }));
  return {head, sizes};
}

std::vector<std::vector<int64_t>> EndsShape(const std::vector<int64_t>& x, int count) {
  auto shape = x;
  shape[0] = count;
  return {shape, {x[0]}};
}

std::vector<paddle::DataType> EndsDtype(const paddle::DataType& x) { return {x, paddle::DataType::INT64}; }

PD_BUILD_OP(test_ends)
    .Inputs({"X"})
    .Outputs({"Head", "Sizes"})
    .Attrs({"count: int"})
    .SetKernelFn(PD_KERNEL(Ends))
    .SetInferShapeFn(PD_INFER_SHAPE(EndsShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(EndsDtype));

// --- results whose sizes the declaration leaves open

std::vector<paddle::Tensor> Turned(paddle::Tensor& x) {
  const auto turned = paddle::experimental::transpose(x.contiguous(), {1, 0});
  PD_CHECK(!turned.is_contiguous(), "a view is required");
  return {turned.contiguous()};
}

PD_BUILD_OP(test_turned).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Turned));

std::vector<paddle::Tensor> Positive(const paddle::Tensor& x) {
  std::vector<float> kept;
  std::vector<int64_t> from;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x.data<float>()[i] <= 0) continue;
    kept.push_back(x.data<float>()[i]);
    from.push_back(i);
  }
  const auto n = static_cast<int64_t>(kept.size());
  auto y = paddle::empty({n}, x.dtype(), x.place());
  auto at = paddle::empty({n}, paddle::DataType::INT64, x.place());
  std::copy(kept.begin(), kept.end(), y.data<float>());
  std::copy(from.begin(), from.end(), at.data<int64_t>());
  return {y, at};
}

std::vector<paddle::Tensor> PositiveGrad(const paddle::Tensor& x, const paddle::Tensor& at, const paddle::Tensor& g) {
  auto dx = paddle::zeros(x.shape(), x.dtype(), x.place());
  for (int64_t i = 0; i < at.numel(); ++i) dx.data<float>()[at.data<int64_t>()[i]] = g.data<float>()[i];
  return {dx};
}

std::vector<std::vector<int64_t>> PositiveShape(const std::vector<int64_t>&) { return {{-1}, {-1}}; }
std::vector<paddle::DataType> PositiveDtype(const paddle::DataType& x) { return {x, paddle::DataType::INT64}; }

PD_BUILD_OP(test_positive)
    .Inputs({"X"})
    .Outputs({"Out", "At"})
    .SetKernelFn(PD_KERNEL(Positive))
    .SetInferShapeFn(PD_INFER_SHAPE(PositiveShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(PositiveDtype));

PD_BUILD_GRAD_OP(test_positive)
    .Inputs({"X", "At", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(PositiveGrad));

// The rows whose first element is above a floor, with columns of ones behind; functions of shapes that know little.
std::vector<int64_t> Above(const paddle::Tensor& x, float floor) {
  std::vector<int64_t> rows;
  const int64_t width = x.shape()[1];
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    if (x.data<float>()[i * width] > floor) rows.push_back(i);
  }
  return rows;
}

std::vector<paddle::Tensor> RowsAbove(const paddle::Tensor& x, float floor, int more) {
  const auto rows = Above(x, floor);
  const int64_t width = x.shape()[1], wide = width + more;
  auto out = paddle::full({static_cast<int64_t>(rows.size()), wide}, 1, x.dtype(), x.place());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(x.data<float>() + rows[i] * width, width, out.data<float>() + static_cast<int64_t>(i) * wide);
  }
  return {out};
}

std::vector<paddle::Tensor> RowsAboveGrad(const paddle::Tensor& x, const paddle::Tensor& g, float floor) {
  const auto rows = Above(x, floor);
  const int64_t width = x.shape()[1], wide = g.shape()[1];
  auto dx = paddle::zeros(x.shape(), x.dtype(), x.place());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(g.data<float>() + static_cast<int64_t>(i) * wide, width, dx.data<float>() + rows[i] * width);
  }
  return {dx};
}

std::vector<std::vector<int64_t>> RowsAboveShape(const std::vector<int64_t>& x, float, int more) { return {{-1, x[1] + more}}; }
std::vector<paddle::DataType> SameDtype(const paddle::DataType& x) { return {x}; }
std::vector<std::vector<int64_t>> OpenShape(const std::vector<int64_t>&, const std::vector<int64_t>&) { return {{-1, -1}}; }

PD_BUILD_OP(test_rows_above)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"floor: float", "more: int"})
    .SetKernelFn(PD_KERNEL(RowsAbove))
    .SetInferShapeFn(PD_INFER_SHAPE(RowsAboveShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(SameDtype));

PD_BUILD_GRAD_OP(test_rows_above)
    .Inputs({"X", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .Attrs({"floor: float"})
    .SetKernelFn(PD_KERNEL(RowsAboveGrad))
    .SetInferShapeFn(PD_INFER_SHAPE(OpenShape));

// Says that data decide what they do not, and gives another dtype than it says.
std::vector<paddle::Tensor> Otherwise(const paddle::Tensor& x) { return {x.cast(paddle::DataType::FLOAT64)}; }

std::vector<std::vector<int64_t>> EitherShape(const std::vector<int64_t>&) { return {{-1, -1}}; }

PD_BUILD_OP(test_otherwise)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Otherwise))
    .SetInferShapeFn(PD_INFER_SHAPE(EitherShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(SameDtype));

std::vector<paddle::Tensor> Joined(const std::vector<paddle::Tensor>& xs, const paddle::Tensor& axis) {
  return {paddle::concat(xs, axis.data<int64_t>()[0])};
}

std::vector<std::vector<int64_t>> JoinedShape(const std::vector<std::vector<int64_t>>& xs, const std::vector<int64_t>&) {
  return {std::vector<int64_t>(xs[0].size(), -1)};
}

std::vector<paddle::DataType> JoinedDtype(const std::vector<paddle::DataType>& xs, const paddle::DataType&) { return {xs[0]}; }

PD_BUILD_OP(test_joined)
    .Inputs({paddle::Vec("X"), "Axis"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Joined))
    .SetInferShapeFn(PD_INFER_SHAPE(JoinedShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(JoinedDtype));

// Sizes that are no sums of sizes: the sums of pairs of elements.
std::vector<paddle::Tensor> Pairs(const paddle::Tensor& x) {
  const int64_t n = x.numel() / 2;
  auto out = paddle::empty({n}, x.dtype(), x.place());
  for (int64_t i = 0; i < n; ++i) out.data<float>()[i] = x.data<float>()[2 * i] + x.data<float>()[2 * i + 1];
  return {out};
}

std::vector<paddle::Tensor> PairsGrad(const paddle::Tensor& x, const paddle::Tensor& g) {
  auto dx = paddle::zeros(x.shape(), x.dtype(), x.place());
  for (int64_t i = 0; i < x.numel() / 2 * 2; ++i) dx.data<float>()[i] = g.data<float>()[i / 2];
  return {dx};
}

std::vector<std::vector<int64_t>> PairsShape(const std::vector<int64_t>& x) {
  int64_t n = 1;
  for (int64_t size : x) n *= size;
  return {{n / 2}};
}

PD_BUILD_OP(test_pairs)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Pairs))
    .SetInferShapeFn(PD_INFER_SHAPE(PairsShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(SameDtype));

PD_BUILD_GRAD_OP(test_pairs).Inputs({"X", paddle::Grad("Out")}).Outputs({paddle::Grad("X")}).SetKernelFn(PD_KERNEL(PairsGrad));

// --- no inputs, and a list that may be none

std::vector<paddle::Tensor> Filled(int64_t n, float value) {
  return {paddle::full({n}, value, paddle::DataType::FLOAT32, paddle::CPUPlace())};
}

std::vector<std::vector<int64_t>> FilledShape(int64_t n, float) { return {{n}}; }
std::vector<paddle::DataType> FilledDtype() { return {paddle::DataType::FLOAT32}; }

PD_BUILD_OP(test_filled)
    .Inputs({})
    .Outputs({"Out"})
    .Attrs({"n: int64_t", "value: float"})
    .SetKernelFn(PD_KERNEL(Filled))
    .SetInferShapeFn(PD_INFER_SHAPE(FilledShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(FilledDtype));

std::vector<paddle::Tensor> AddAll(const paddle::Tensor& x, const paddle::optional<std::vector<paddle::Tensor>>& ys) {
  auto sum = x * 1.0;
  if (ys) {
    for (const auto& y : ys.get()) sum = sum + y * 2.0;
  }
  return {sum};
}

std::vector<paddle::Tensor> AddAllGrad(const paddle::Tensor& grad, const paddle::optional<std::vector<paddle::Tensor>>& ys) {
  std::vector<paddle::Tensor> grads = {grad * 1.0};
  for (size_t i = 0; ys && i < ys.get().size(); ++i) grads.push_back(grad * 2.0);
  return grads;
}

std::vector<std::vector<int64_t>> AddAllShape(const std::vector<int64_t>& x, const paddle::optional<std::vector<std::vector<int64_t>>>&) {
  return {x};
}

std::vector<paddle::DataType> AddAllDtype(const paddle::DataType& x, const paddle::optional<std::vector<paddle::DataType>>&) { return {x}; }

PD_BUILD_OP(test_add_all)
    .Inputs({"X", paddle::Optional(paddle::Vec("Ys"))})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(AddAll))
    .SetInferShapeFn(PD_INFER_SHAPE(AddAllShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(AddAllDtype));

PD_BUILD_GRAD_OP(test_add_all)
    .Inputs({paddle::Grad("Out"), paddle::Optional(paddle::Vec("Ys"))})
    .Outputs({paddle::Grad("X"), paddle::Grad(paddle::Optional(paddle::Vec("Ys")))})
    .SetKernelFn(PD_KERNEL(AddAllGrad));

// --- functions of the library

// The elements of all results, one after the other.
std::vector<paddle::Tensor> Functions(const paddle::Tensor& x) {
  using namespace paddle::experimental;  // NOLINT
  const auto [sorted, order] = argsort(x, 1, true);
  const auto [most, where] = topk(x, 2);
  auto y = full(x.shape(), 0.5, x.dtype(), x.place());
  clip_(scale_(subtract_(multiply_(add_(y, x), x), x), 2.0, 1.0), -10.0, 10.0);
  std::vector<paddle::Tensor> all_of = {
      sorted, order, most, where, y, split_with_num(x, 2, 1)[1], unbind(x)[0], argmax(x, 1), argmin(x, 0, true), cumsum(x, 1),
      all(cast(x, paddle::DataType::BOOL)), amax(x, {1}, true), prod(x, {1}, false, false), gelu(x, true), leaky_relu(x),
      softplus(x), log_softmax(x), index_select(x, zeros({2}, paddle::DataType::INT64), 1), nonzero(x), flip(x, {1}),
      roll(x, {1}, {1}), triu(x, 1), slice(x, {0}, {0}, {1}, {1}, {0}), add_n({x, x}), mean_all(x), fill(x, 3),
      scatter_nd_add(x, zeros({1, 1}, paddle::DataType::INT64), ones({1, x.shape()[1]}, x.dtype())),
      addmm(zeros({1}), x, transpose(x, {1, 0}), 1.0f, 2.0f), expand_as(mean_all(x), x, x.shape()), one_hot(argmax(x, 1), 4)};
  for (auto& r : all_of) r = reshape(cast(r, x.dtype()), {-1});
  return {concat(all_of)};
}

PD_BUILD_OP(test_functions).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Functions));

// Sums in all directions; functions and methods of an index.
std::vector<paddle::Tensor> Indexed(const paddle::Tensor& x, const paddle::Tensor& i) {
  using namespace paddle::experimental;  // NOLINT
  const auto number = [](int64_t n) { return full({1}, n, paddle::DataType::INT64); };
  const auto column = reshape(i, {-1, 1});
  std::vector<paddle::Tensor> all_of = {
      cumsum(x, 0, false, true), cumsum(x, -1, false, false, true), cumsum(x, 1, false, true, true), cumsum(x, 0, true),
      logsumexp(x, {1}, true), put_along_axis(x, column, ones({2, 1}, x.dtype()), 1, "add"), index_add(x, i, x),
      masked_fill(x, x > zeros_like(x), zeros({1}, x.dtype())), repeat_interleave(x, 2, 1, 8), embedding(i, x),
      embedding(i, x, 1, true), put_along_axis(x, column, ones({2, 1}, x.dtype()), 0, "add"), take_along_axis(x, column, 0),
      put_along_axis(x, reshape(i, {1, 2}), ones({1, 2}, x.dtype()), 0),
      swiglu(x, paddle::make_optional<paddle::Tensor>(i.numel() > 9, x)), swiglu(x, paddle::make_optional<paddle::Tensor>(x)),
      paddle::get_optional_value_or(paddle::optional<paddle::Tensor>(), x), paddle::make_optional(x).get_value_or(i), swiglu(x, paddle::none),
      arange(number(1), number(7), number(2), paddle::DataType::INT64),
      x.roll({1}, {1}), x.scatter(i, x), x.scatter_nd_add(column, x)};
  for (auto& r : all_of) r = reshape(cast(r, x.dtype()), {-1});
  return {concat(all_of)};
}

PD_BUILD_OP(test_indexed).Inputs({"X", "I"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Indexed));

std::vector<paddle::Tensor> Sums(const paddle::Tensor& x) { return {paddle::experimental::cumsum(x, -1, false, true)}; }

PD_BUILD_OP(test_sums).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Sums));

// --- memory of the library's own

int64_t given_back = 0;

std::vector<paddle::Tensor> Lent(const paddle::Tensor& x, int how) {
  double* memory = new double[6]{0, 1, 2, 3, 4, 5};
  const paddle::Deleter deleter = [memory](void* p) {
    const bool is_the_address = p >= memory && p < memory + 6;
    delete[] memory;
    given_back += is_the_address ? 1 : 1000;
  };
  const auto over = [&](void* at, const paddle::IntArray& shape, paddle::DataType dtype = paddle::DataType::FLOAT64) {
    return paddle::from_blob(at, shape, dtype, paddle::DataLayout::NCHW, x.place(), deleter);
  };
  const auto strided = [&](double* at, const paddle::IntArray& shape, const paddle::IntArray& strides) {
    return paddle::from_blob(at, shape, strides, x.dtype(), paddle::DataLayout::NCHW, x.place(), deleter);
  };
  static double lasting[] = {7, 8};
  try {
    switch (how) {
      case 0:
        return {over(memory, x.shape())};
      case 1:
        return {strided(memory, {3, 2}, {1, 3})};
      case 2:
        return {strided(memory + 5, {6, 1}, {-1, 1})};  // whose first element is the last
      case 3:
        return {over(memory, {0, 3})};
      case 4:
        delete[] memory;
        return {paddle::from_blob(lasting, {2, 1}, paddle::DataType::FLOAT64)};
      case 5:
        return {over(nullptr, {2, 3})};
      case 6:
        return {over(reinterpret_cast<char*>(memory) + 1, {2})};
      case 7:
        return {over(memory, {2, -3})};
      case 8:
        return {over(memory, {int64_t(1) << 40, int64_t(1) << 40})};
      case 9:
        return {over(memory, {2, 3}, paddle::DataType::UNDEFINED)};
      default:
        return {strided(memory, {3, 2}, {1})};
    }
  } catch (...) {
    delete[] memory;
    throw;
  }
}

std::vector<std::vector<int64_t>> LentShape(const std::vector<int64_t>& x, int how) {
  const std::vector<std::vector<int64_t>> all = {x, {3, 2}, {6, 1}, {0, 3}, {2, 1}};
  return {all[static_cast<size_t>(how) < all.size() ? static_cast<size_t>(how) : 0]};
}

PD_BUILD_OP(test_lent)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"how: int"})
    .SetKernelFn(PD_KERNEL(Lent))
    .SetInferShapeFn(PD_INFER_SHAPE(LentShape));

std::vector<paddle::Tensor> GivenBack(const paddle::Tensor& x) {
  return {paddle::full({1}, given_back, paddle::DataType::INT64, x.place())};
}

PD_BUILD_OP(test_given_back).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(GivenBack));

// --- errors

std::vector<paddle::Tensor> Refused(const paddle::Tensor& x, int how) {
  if (how == 0) PD_THROW("refused, with ", x.numel(), " elements");
  if (how == 1) throw std::invalid_argument("an argument that is invalid");
  if (how == 2) throw std::out_of_range("an index");
  if (how == 3) throw std::runtime_error("something");
  if (how == 4) throw 42;
  if (how == 5) throw std::bad_alloc();
  if (how == 6) return {};
  if (how == 7) return {paddle::Tensor()};
  if (how == 8) return {x.cast(paddle::DataType::INT32)};
  if (how == 9) return {paddle::zeros({1}, x.dtype(), x.place())};
  if (how == 10) return {paddle::matmul(x, paddle::zeros({1, 1, 97}, x.dtype(), x.place()))};
  if (how == 11) return {paddle::Tensor().copy_to(x.place(), true)};
  if (how == 12) x.data<int64_t>();
  if (how == 13) return {paddle::zeros({-3}, x.dtype(), x.place())};
  return {x};
}

std::vector<std::vector<int64_t>> RefusedShape(const std::vector<int64_t>& x, int) { return {x}; }

PD_BUILD_OP(test_refused)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"how: int"})
    .SetKernelFn(PD_KERNEL(Refused))
    .SetInferShapeFn(PD_INFER_SHAPE(RefusedShape));

std::vector<paddle::Tensor> Enforced(const paddle::Tensor& x, int how) {
  const size_t rank = x.shape().size();
  const float* nothing = nullptr;
  const std::string word = "op";
  if (how == 0) PADDLE_ENFORCE_EQ(rank, 3, common::errors::InvalidArgument("%d of %s, 100%%: %5.2f|%-3d|%03d|%x", rank, word, 1.5, 7, 7, 255));
  if (how == 1) PADDLE_ENFORCE_NE(nothing, nullptr, phi::errors::NotFound("nothing"));
  if (how == 2) PADDLE_ENFORCE_NOT_NULL(nothing, common::errors::OutOfRange("null"));
  if (how == 3) PADDLE_ENFORCE_EQ(x.dtype(), paddle::DataType::INT32, common::errors::InvalidType("dtype %s", x.dtype()));
  if (how == 4) PADDLE_THROW(common::errors::Unimplemented("%s is not there", word));
  if (how == 5) PADDLE_ENFORCE_EQ(x.is_gpu(), true, common::errors::Fatal("no device"));
  if (how == 6) PADDLE_ENFORCE_EQ(x.dims(), common::make_ddim({1}), common::errors::ResourceExhausted("dims [%s]", x.dims()));
  if (how == 7) PADDLE_ENFORCE_LE(rank, 1, common::errors::External("outside"));
  if (how == 8) PADDLE_ENFORCE_LT(rank, 1, common::errors::PreconditionNotMet("before"));
  if (how == 9) PADDLE_ENFORCE(x.is_gpu(), common::errors::InvalidArgument("flag %d", true));
  if (how == 10) PD_CHECK(x.place() == paddle::PlaceType::kGPU, "place");
  PD_CHECK(x.place() == paddle::PlaceType::kCPU, "x must be on the cpu");
  return {paddle::full(x.shape(), 2.0, x.dtype(), paddle::PlaceType::kCPU)};
}

PD_BUILD_OP(test_enforced).Inputs({"X"}).Outputs({"Out"}).Attrs({"how: int"}).SetKernelFn(PD_KERNEL(Enforced));

// --- a gradient operator that gives as many results with an optional input as without it

std::vector<paddle::Tensor> ShiftedForward(const paddle::Tensor& x,
                                           const paddle::optional<paddle::Tensor>& shift,
                                           const paddle::Tensor& scale) {
  auto y = x * scale;
  return {shift ? y + shift.get() : y};
}

std::vector<paddle::Tensor> ShiftedBackward(const paddle::Tensor& x,
                                            const paddle::optional<paddle::Tensor>& shift,
                                            const paddle::Tensor& scale,
                                            const paddle::Tensor& grad_out) {
  paddle::Tensor grad_shift;
  if (shift) grad_shift = grad_out * 1.0;
  return {grad_out * scale, grad_shift, grad_out * x};
}

std::vector<std::vector<int64_t>> ShiftedShape(const std::vector<int64_t>& x,
                                               const paddle::optional<std::vector<int64_t>>&,
                                               const std::vector<int64_t>&) {
  return {x};
}

std::vector<paddle::DataType> ShiftedDtype(const paddle::DataType& x,
                                           const paddle::optional<paddle::DataType>&,
                                           const paddle::DataType&) {
  return {x};
}

PD_BUILD_OP(test_shifted)
    .Inputs({"X", paddle::Optional("Shift"), "Scale"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(ShiftedForward))
    .SetInferShapeFn(PD_INFER_SHAPE(ShiftedShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(ShiftedDtype));

PD_BUILD_GRAD_OP(test_shifted)
    .Inputs({"X", paddle::Optional("Shift"), "Scale", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X"), paddle::Grad(paddle::Optional("Shift")), paddle::Grad("Scale")})
    .SetKernelFn(PD_KERNEL(ShiftedBackward));

// Numbers that decide a rank and a dtype; sizes that decide a rank.

std::vector<paddle::Tensor> TotalsForward(const paddle::Tensor& x, int keep) {
  return {paddle::experimental::sum(x, {1}, x.dtype(), keep != 0)};
}

std::vector<paddle::Tensor> TotalsBackward(const paddle::Tensor& x, const paddle::Tensor& grad_out, int) {
  return {paddle::experimental::expand(paddle::experimental::reshape(grad_out, {x.shape()[0], 1}), x.shape())};
}

std::vector<std::vector<int64_t>> TotalsShape(const std::vector<int64_t>& x, int keep) {
  if (keep) return {{x[0], 1}};
  return {{x[0]}};
}

PD_BUILD_OP(test_totals)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"keep: int"})
    .SetKernelFn(PD_KERNEL(TotalsForward))
    .SetInferShapeFn(PD_INFER_SHAPE(TotalsShape));

PD_BUILD_GRAD_OP(test_totals)
    .Inputs({"X", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .Attrs({"keep: int"})
    .SetKernelFn(PD_KERNEL(TotalsBackward));

paddle::DataType KindOf(int kind) {
  return kind == 0 ? paddle::DataType::FLOAT32 : kind == 1 ? paddle::DataType::FLOAT64 : paddle::DataType::INT64;
}

std::vector<paddle::Tensor> Converted(const paddle::Tensor& x, int kind) {
  return {paddle::experimental::cast(x, KindOf(kind))};
}

std::vector<paddle::DataType> ConvertedDtype(const paddle::DataType&, int kind) { return {KindOf(kind)}; }

PD_BUILD_OP(test_converted)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"kind: int"})
    .SetKernelFn(PD_KERNEL(Converted))
    .SetInferDtypeFn(PD_INFER_DTYPE(ConvertedDtype));

std::vector<int64_t> WithoutOnes(const std::vector<int64_t>& x) {
  std::vector<int64_t> shape;
  for (auto n : x) {
    if (n != 1) shape.push_back(n);
  }
  return shape;
}

std::vector<paddle::Tensor> Squeezed(const paddle::Tensor& x) {
  return {paddle::experimental::reshape(x, WithoutOnes(x.shape()))};
}

std::vector<std::vector<int64_t>> SqueezedShape(const std::vector<int64_t>& x) { return {WithoutOnes(x)}; }

PD_BUILD_OP(test_squeezed)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Squeezed))
    .SetInferShapeFn(PD_INFER_SHAPE(SqueezedShape));

// A number that chooses an axis: any other than those that are there would write out of bounds.

std::vector<paddle::Tensor> DoubledAlong(const paddle::Tensor& x, int axis) {
  return {paddle::experimental::concat({x, x}, axis)};
}

std::vector<std::vector<int64_t>> DoubledAlongShape(const std::vector<int64_t>& x, int axis) {
  PD_CHECK(axis >= 0 && axis < static_cast<int>(x.size()), "an axis of x is required, got ", axis);
  auto shape = x;
  shape[axis] *= 2;
  return {shape};
}

PD_BUILD_OP(test_doubled_along)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"axis: int"})
    .SetKernelFn(PD_KERNEL(DoubledAlong))
    .SetInferShapeFn(PD_INFER_SHAPE(DoubledAlongShape));

// Two inputs that are written to, one element after the other.

void Swapped(paddle::Tensor& a, paddle::Tensor& b) {
  PD_DISPATCH_FLOATING_TYPES(a.dtype(), "test_swap_", ([&] {
    for (int64_t i = 0; i < a.numel(); ++i) std::swap(a.data<data_t>()[i], b.data<data_t>()[i]);
  }));
}

PD_BUILD_OP(test_swap_)
    .Inputs({"A", "B"})
    .Outputs({"OutA", "OutB"})
    .SetInplaceMap({{"A", "OutA"}, {"B", "OutB"}})
    .SetKernelFn(PD_KERNEL(Swapped));

// Contexts of devices, which sources ask for their place, and a function of <numeric>.

std::vector<paddle::Tensor> NumberedOnContext(const paddle::Tensor& x) {
  auto* context = paddle::experimental::DeviceContextPool::Instance().Get<phi::AllocationType::CPU>(
      paddle::Place(phi::AllocationType::CPU));
  PD_CHECK(context->GetPlace() == phi::DeviceContextPool::Instance().Get(x.place())->GetPlace());
  auto out = paddle::empty(x.shape(), paddle::DataType::INT64, context->GetPlace());
  std::iota(out.data<int64_t>(), out.data<int64_t>() + out.numel(), int64_t{0});
  return {out};
}

std::vector<paddle::DataType> NumberedDtype(const paddle::DataType&) { return {paddle::DataType::INT64}; }

PD_BUILD_OP(test_numbered)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(NumberedOnContext))
    .SetInferDtypeFn(PD_INFER_DTYPE(NumberedDtype));
