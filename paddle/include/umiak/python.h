/* Functions that PYBIND11_MODULE declares: tensors, dtypes and places as parameters and results, errors as those of operators. */
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "umiak/tensor.h"

namespace py = pybind11;

UMIAK_BEGIN
namespace umiak {

/* What an object of Python is to the host: a tensor, of which this owns a reference, a dtype, a place, or nothing of that. */
inline umiak_value value_of(PyObject* object) {
  umiak_value value{};
  if (host().from_object(object, &value)) raise_host_error();
  return value;
}

inline bool take(PyObject* object, paddle::Tensor& x) {
  const umiak_value value = value_of(object);
  if (value.kind != UMIAK_TENSOR) return false;
  x = paddle::Tensor::own(value.as.tensor);
  return true;
}

inline bool take(PyObject* object, phi::DataType& dtype) {
  const umiak_value value = value_of(object);
  if (value.kind != UMIAK_IS_DTYPE) {
    if (value.kind == UMIAK_TENSOR) host().release(value.as.tensor);
    return false;
  }
  dtype = static_cast<phi::DataType>(value.as.integer);
  return true;
}

inline bool take(PyObject* object, phi::Place& place) {
  const umiak_value value = value_of(object);
  if (value.kind != UMIAK_IS_PLACE) {
    if (value.kind == UMIAK_TENSOR) host().release(value.as.tensor);
    return false;
  }
  const std::string name(value.as.text, static_cast<size_t>(value.count));
  const size_t colon = name.find(':');
  place = phi::Place(name.substr(0, colon), colon == std::string::npos ? 0 : std::stoi(name.substr(colon + 1)));
  return true;
}

inline PyObject* object_of(const umiak_value& value) {
  void* object = host().to_object(&value);
  if (!object) raise_host_error();
  return static_cast<PyObject*>(object);
}

/* A tensor that is not defined is None. */
inline PyObject* object_of(const paddle::Tensor& x) {
  umiak_value value{};
  value.kind = UMIAK_TENSOR;
  value.as.tensor = x.handle();
  return object_of(value);
}

inline PyObject* object_of(phi::DataType dtype) {
  umiak_value value{};
  value.kind = UMIAK_IS_DTYPE;
  value.as.integer = static_cast<int64_t>(dtype);
  return object_of(value);
}

inline PyObject* object_of(const phi::Place& place) {
  const std::string name = place.text();
  umiak_value value{};
  value.kind = UMIAK_IS_PLACE;
  value.count = static_cast<int64_t>(name.size());
  value.as.text = name.c_str();
  return object_of(value);
}

/* pybind11 asks this before it makes a RuntimeError of every std::exception. */
inline void as_python_raises(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const HostError& e) {
    host().raise_error(nullptr, e.what());
  } catch (const Error& e) {
    host().raise_error(e.kind(), e.what());
  }
}

/* When the library is loaded, which happens with Python's lock. */
inline const bool errors_are_those_of_python = [] {
  if (Py_IsInitialized()) pybind11::register_local_exception_translator(&as_python_raises);
  return true;
}();

}  // namespace umiak

#define UMIAK_CONVERTED(TYPE, NAME)                                                        \
  template <>                                                                              \
  struct type_caster<TYPE> {                                                               \
    PYBIND11_TYPE_CASTER(TYPE, const_name(NAME));                                          \
    bool load(handle source, bool) { return ::umiak::take(source.ptr(), value); }          \
    static handle cast(const TYPE& x, return_value_policy, handle) { return ::umiak::object_of(x); } \
  };

namespace pybind11 {
namespace detail {

UMIAK_CONVERTED(paddle::Tensor, "paddle.Tensor")
UMIAK_CONVERTED(phi::DataType, "paddle.dtype")
UMIAK_CONVERTED(phi::Place, "paddle.Place")

template <typename T>
struct type_caster<paddle::optional<T>> : optional_caster<paddle::optional<T>, T> {};

}  // namespace detail
}  // namespace pybind11
UMIAK_END
