/* Calls of the library's functions by name. */
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "umiak/tensor.h"

UMIAK_BEGIN
namespace umiak {

/* A value for the host; what it points to lives in it. */
class Argument {
 public:
  Argument(std::nullptr_t) { value_.kind = UMIAK_NONE; }
  Argument(const paddle::Tensor& x) : tensor_(x) {
    value_.kind = x.defined() ? UMIAK_TENSOR : UMIAK_NONE;
    value_.as.tensor = x.handle();
  }
  Argument(bool x) { integer(UMIAK_IS_BOOL, x); }
  Argument(int x) { integer(UMIAK_IS_INT, x); }
  Argument(int64_t x) { integer(UMIAK_IS_INT, x); }
  Argument(double x) {
    value_.kind = UMIAK_IS_FLOAT;
    value_.as.real = x;
  }
  Argument(const paddle::Scalar& x) : value_(x.value()) {}
  Argument(paddle::DataType x) {
    if (x == paddle::DataType::UNDEFINED) value_.kind = UMIAK_NONE;
    else integer(UMIAK_IS_DTYPE, static_cast<int64_t>(x));
  }
  Argument(const paddle::Place& x) : text_(x.text()) {
    value_.kind = text_.empty() ? UMIAK_NONE : UMIAK_IS_PLACE;
    take_text();
  }
  Argument(const char* x) : text_(x) {
    value_.kind = UMIAK_IS_TEXT;
    take_text();
  }
  Argument(const std::vector<int64_t>& x) : ints_(x) {
    value_.kind = UMIAK_INTS;
    value_.count = static_cast<int64_t>(ints_.size());
    value_.as.ints = ints_.data();
  }
  Argument(const paddle::IntArray& x) : Argument(x.GetData()) {}
  Argument(const std::vector<paddle::Tensor>& xs) : tensors_(xs) {
    for (const auto& x : tensors_) handles_.push_back(x.handle());
    value_.kind = UMIAK_TENSORS;
    value_.count = static_cast<int64_t>(handles_.size());
    value_.as.tensors = handles_.data();
  }
  const umiak_value& value() {
    // The object may have been moved since: a short text with it.
    if (value_.kind == UMIAK_IS_PLACE || value_.kind == UMIAK_IS_TEXT) take_text();
    return value_;
  }

 private:
  void integer(int32_t kind, int64_t x) {
    value_.kind = kind;
    value_.as.integer = x;
  }
  void take_text() {
    value_.count = static_cast<int64_t>(text_.size());
    value_.as.text = text_.c_str();
  }

  umiak_value value_{};
  paddle::Tensor tensor_;
  std::vector<paddle::Tensor> tensors_;
  std::vector<umiak_tensor*> handles_;
  std::vector<int64_t> ints_;
  std::string text_;
};

inline std::vector<paddle::Tensor> call_all(const char* name, std::vector<Argument> arguments) {
  constexpr int64_t room = 64;
  umiak_tensor* results[room];
  std::vector<umiak_value> values;
  for (auto& a : arguments) values.push_back(a.value());
  const int64_t n = host().call(name, values.data(), static_cast<int64_t>(values.size()), results, room);
  if (n < 0) raise_host_error();
  std::vector<paddle::Tensor> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(paddle::Tensor::own(results[i]));
  return out;
}

inline paddle::Tensor call(const char* name, std::vector<Argument> arguments) {
  std::vector<paddle::Tensor> out = call_all(name, std::move(arguments));
  if (out.size() != 1) throw Error(text_of(name, " requires one result here, got ", out.size()));
  return std::move(out[0]);
}

/* Axes for a function that takes None for all of them. */
inline Argument axes(const paddle::IntArray& axis) { return axis.size() ? Argument(axis) : Argument(nullptr); }

}  // namespace umiak
UMIAK_END
