/* Functions that Python calls, declared by pybind11. Compiles unchanged with the reference's headers. */
#include "paddle/extension.h"

#include <vector>

namespace {

/* A class of Python's that holds a tensor. */
class Scale {
 public:
  explicit Scale(paddle::Tensor by) : by_(std::move(by)) {}
  paddle::Tensor apply(const paddle::Tensor& x) const { return x * by_; }
  paddle::Tensor by() const { return by_; }

 private:
  paddle::Tensor by_;
};

paddle::Tensor Twice(const paddle::Tensor& x) {
  PD_CHECK(x.is_cpu() && x.is_contiguous(), "elements on the cpu, one after the other, are required");
  auto y = paddle::empty_like(x);
  PD_DISPATCH_FLOATING_TYPES(x.dtype(), "twice", ([&] {
                               for (int64_t i = 0; i < x.numel(); ++i) y.data<data_t>()[i] = 2 * x.data<data_t>()[i];
                             }));
  return y;
}

paddle::Tensor Product(const paddle::Tensor& x, const paddle::Tensor& y) { return paddle::matmul(x, y); }

paddle::Tensor Same(const paddle::Tensor& x) { return x; }

void Fill(paddle::Tensor& x, float value) {
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = value;
}

paddle::Tensor Nullable(bool is_none) { return is_none ? paddle::Tensor() : paddle::ones({2}); }

paddle::optional<paddle::Tensor> Doubled(const paddle::optional<paddle::Tensor>& x) {
  if (!x) return paddle::none;
  return x.get() + x.get();
}

std::vector<paddle::Tensor> Reversed(const std::vector<paddle::Tensor>& xs) { return {xs.rbegin(), xs.rend()}; }

paddle::Tensor Zeros(const std::vector<int64_t>& shape, paddle::DataType dtype, const paddle::Place& place) {
  return paddle::zeros(shape, dtype, place);
}

std::string Refused(int how) {
  if (how == 0) PD_THROW("refused ", how);
  if (how == 1) PADDLE_THROW(common::errors::InvalidArgument("%d is invalid", how));
  if (how == 2) throw std::out_of_range("an index");
  if (how == 3) paddle::matmul(paddle::ones({2, 3}), paddle::ones({2, 3}));
  return "right";
}

std::vector<paddle::Tensor> Relu(const paddle::Tensor& x) { return {paddle::experimental::relu(x)}; }

}  // namespace

PD_BUILD_OP(bound_relu).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Relu));

PYBIND11_MODULE(umiak_bound, m) {
  m.def("twice", &Twice, "2 x", py::arg("x"));
  m.def("twice", [](double x) { return 2 * x; });  // another overload
  m.def("product", &Product);
  m.def("same", &Same);
  m.def("fill", &Fill);
  m.def("nullable", &Nullable);
  m.def("doubled", &Doubled, py::arg("x") = py::none());
  m.def("reversed", &Reversed);
  m.def("zeros", &Zeros);
  m.def("dtype_of", [](const paddle::Tensor& x) { return x.dtype(); });
  m.def("place_of", [](const paddle::Tensor& x) { return x.place(); });
  m.def("refused", &Refused);
  m.def("without_lock", [](const paddle::Tensor& x) {
    py::gil_scoped_release free;
    return paddle::Tensor(x) + x;
  });
  m.def("called", [](const py::function& f, const paddle::Tensor& x) { return f(x).cast<paddle::Tensor>(); });
  py::class_<Scale>(m, "Scale").def(py::init<paddle::Tensor>()).def("apply", &Scale::apply).def_property_readonly("by", &Scale::by);
}
