// paddle::Tensor: a tensor of its own, as Predictor::Run takes and gives it by value, and hooks are told of. Copies share the data.
//
// It holds and gives data and computes nothing. Sources of operators (paddle/extension.h) have another class of the same name: no
// file includes both.
#ifndef PADDLE_TENSOR_VALUE_H
#define PADDLE_TENSOR_VALUE_H

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "umiak_inference.h"

namespace paddle {

enum class DataType { UNDEFINED = -1, FLOAT32, INT64, INT32, UINT8, INT8, FLOAT16, BFLOAT16, BOOL, FLOAT64, INT16 };

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::vector<int64_t> shape, DataType dtype) : shape_(std::move(shape)), dtype_(dtype) {
    own_ = std::make_shared<std::vector<double>>((Bytes() + sizeof(double)) / sizeof(double));  // aligned, never empty
    data_ = own_->data();
  }
  /// Over memory of the caller.
  Tensor(void* data, std::vector<int64_t> shape, DataType dtype) : data_(data), shape_(std::move(shape)), dtype_(dtype) {}

  const std::vector<int64_t>& shape() const { return shape_; }
  DataType dtype() const { return dtype_; }
  DataType type() const { return dtype_; }
  int64_t numel() const {
    int64_t count = 1;
    for (int64_t n : shape_) count *= n;
    return data_ ? count : 0;
  }
  int64_t size() const { return numel(); }
  const std::string& name() const { return name_; }
  void set_name(const std::string& name) { name_ = name; }
  bool defined() const { return data_ != nullptr; }
  bool initialized() const { return data_ != nullptr; }
  bool is_cpu() const { return true; }
  bool is_gpu() const { return false; }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <typename T>
  T* data() {
    Require(sizeof(T));
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* data() const {
    Require(sizeof(T));
    return static_cast<const T*>(data_);
  }

 private:
  size_t ElementBytes() const { return umiak_dtype_bytes(static_cast<umiak_dtype>(dtype_)); }
  size_t Bytes() const {
    size_t bytes = ElementBytes();
    for (int64_t n : shape_) {
      if (n < 0) throw std::runtime_error("sizes of a paddle::Tensor must not be negative");
      bytes *= static_cast<size_t>(n);
    }
    return bytes;
  }
  void Require(size_t bytes) const {
    if (data_ && bytes != ElementBytes()) throw std::runtime_error("the paddle::Tensor " + name_ + " has elements of another size");
  }

  std::shared_ptr<std::vector<double>> own_;
  void* data_ = nullptr;
  std::vector<int64_t> shape_;
  DataType dtype_ = DataType::UNDEFINED;
  std::string name_;
};

inline Tensor empty(const std::vector<int64_t>& shape, DataType dtype = DataType::FLOAT32) { return Tensor(shape, dtype); }
inline Tensor from_blob(void* data, const std::vector<int64_t>& shape, DataType dtype = DataType::FLOAT32) {
  return Tensor(data, shape, dtype);
}

}  // namespace paddle

#endif
