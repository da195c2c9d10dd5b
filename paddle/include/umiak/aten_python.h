/* Functions that PYBIND11_MODULE declares, with PyTorch's names for tensors and their dtypes. */
#pragma once

#include "umiak/aten.h"
#include "umiak/python.h"

UMIAK_BEGIN
namespace umiak {

inline bool take(PyObject* object, at::Tensor& x) {
  paddle::Tensor own;
  if (!take(object, own)) return false;
  x = at::Tensor(std::move(own));
  return true;
}

inline bool take(PyObject* object, c10::ScalarType& type) {
  phi::DataType dtype;
  if (!take(object, dtype)) return false;
  type = c10::scalar_type_of(dtype);
  return true;
}

inline PyObject* object_of(const at::Tensor& x) { return object_of(x.base()); }
inline PyObject* object_of(c10::ScalarType type) { return object_of(c10::dtype_of(type)); }

}  // namespace umiak

namespace pybind11 {
namespace detail {

UMIAK_CONVERTED(at::Tensor, "torch.Tensor")
UMIAK_CONVERTED(c10::ScalarType, "torch.dtype")

}  // namespace detail
}  // namespace pybind11
UMIAK_END
