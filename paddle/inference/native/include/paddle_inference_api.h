// The reference framework's C++ interface of inference, in the namespace paddle_infer, over umiak_inference.h: a header alone.
//
// Programs link libumiak_inference.so or a compiled model. Errors are thrown as std::runtime_error, with the words of the
// library. Settings of Config that choose a device or a library which is not there are refused; those that nothing depends on are
// kept. A compiled model is created with a Config that names no model, or its file of weights as the program's.
#ifndef PADDLE_INFERENCE_API_H
#define PADDLE_INFERENCE_API_H

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "umiak_inference.h"

namespace paddle_infer {

enum class DataType { FLOAT32, INT64, INT32, UINT8, INT8, FLOAT16, BOOL, FLOAT64, BFLOAT16, INT16 };
enum class PlaceType { kUNK = -1, kCPU, kGPU, kXPU, kNPU, kIPU, kCUSTOM };
enum class PrecisionType { kFloat32 = 0, kInt8, kHalf, kBf16 };
enum class DataLayout { kUNK = -1, kAny, kNHWC, kNCHW };

namespace details {

inline void Check(umiak_status status) {
  if (status != UMIAK_OK) throw std::runtime_error(umiak_last_error());
}

struct TypePair {
  DataType ours;
  umiak_dtype theirs;
};
inline const std::vector<TypePair>& Types() {
  static const std::vector<TypePair> pairs = {
      {DataType::FLOAT32, UMIAK_FLOAT32}, {DataType::INT64, UMIAK_INT64},     {DataType::INT32, UMIAK_INT32},
      {DataType::UINT8, UMIAK_UINT8},     {DataType::INT8, UMIAK_INT8},       {DataType::FLOAT16, UMIAK_FLOAT16},
      {DataType::BOOL, UMIAK_BOOL},       {DataType::FLOAT64, UMIAK_FLOAT64}, {DataType::BFLOAT16, UMIAK_BFLOAT16},
      {DataType::INT16, UMIAK_INT16}};
  return pairs;
}
inline umiak_dtype FromDataType(DataType type) {
  for (const auto& pair : Types())
    if (pair.ours == type) return pair.theirs;
  throw std::runtime_error("there is no such DataType");
}
inline DataType ToDataType(umiak_dtype dtype) {
  for (const auto& pair : Types())
    if (pair.theirs == dtype) return pair.ours;
  throw std::runtime_error("there is no such dtype");
}

// The dtype of elements of T. Numbers of 16 bits stand for themselves and for both floats of that size.
template <typename T>
bool Holds(umiak_dtype dtype) {
  if (std::is_same<T, bool>::value) return dtype == UMIAK_BOOL;
  if (std::is_floating_point<T>::value) return dtype == (sizeof(T) == 4 ? UMIAK_FLOAT32 : UMIAK_FLOAT64);
  if (sizeof(T) == 2) return dtype == UMIAK_INT16 || dtype == UMIAK_FLOAT16 || dtype == UMIAK_BFLOAT16;
  if (sizeof(T) == 1) return dtype == (std::is_signed<T>::value ? UMIAK_INT8 : UMIAK_UINT8);
  return dtype == (sizeof(T) == 4 ? UMIAK_INT32 : UMIAK_INT64);
}

// A predictor, and what its handles know beside it.
struct State {
  umiak_predictor* predictor = nullptr;
  struct Input {
    std::vector<int64_t> shape;
    std::vector<char> staged;  // what mutable_data gave out, until the next run
    bool has_staged = false;
  };
  std::vector<Input> inputs;

  explicit State(umiak_predictor* p) : predictor(p) {
    size_t count = 0;
    Check(umiak_input_count(p, &count));
    inputs.resize(count);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { umiak_predictor_destroy(predictor); }

  umiak_tensor_info Info(size_t index, bool input) const {
    umiak_tensor_info info;
    Check(input ? umiak_input_info(predictor, index, &info) : umiak_output_info(predictor, index, &info));
    return info;
  }
  void Set(size_t index, const void* data) {
    const auto& shape = inputs[index].shape;
    Check(umiak_set_input(predictor, index, data, Info(index, true).dtype, static_cast<int32_t>(shape.size()), shape.data()));
    inputs[index].has_staged = false;
  }
  void Flush() {
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i].has_staged) Set(i, inputs[i].staged.data());
  }
};

}  // namespace details

inline int GetNumBytesOfDataType(DataType dtype) { return static_cast<int>(umiak_dtype_bytes(details::FromDataType(dtype))); }
inline std::string GetVersion() { return std::string("version: ") + umiak_version(); }

/// Which model a predictor runs, and how.
class Config {
 public:
  Config() = default;
  explicit Config(const std::string& model_dir) { SetModel(model_dir); }
  Config(const std::string& prog_file, const std::string& params_file) { SetModel(prog_file, params_file); }

  void SetModel(const std::string& model_dir) { model_dir_ = model_dir, prog_file_.clear(), params_file_.clear(), buffered_ = false; }
  void SetModel(const std::string& prog_file, const std::string& params_file) {
    model_dir_.clear(), prog_file_ = prog_file, params_file_ = params_file, buffered_ = false;
  }
  void SetProgFile(const std::string& path) { prog_file_ = path, buffered_ = false; }
  void SetParamsFile(const std::string& path) { params_file_ = path, buffered_ = false; }
  void SetModelBuffer(const char* prog, size_t prog_size, const char* params, size_t params_size) {
    prog_buffer_.assign(prog, prog_size), params_buffer_.assign(params, params_size), buffered_ = true;
  }
  const std::string& model_dir() const { return model_dir_; }
  const std::string& prog_file() const { return prog_file_; }
  const std::string& params_file() const { return params_file_; }
  bool model_from_memory() const { return buffered_; }

  void SetCpuMathLibraryNumThreads(int threads) { threads_ = threads; }
  int cpu_math_library_num_threads() const { return threads_; }

  // Devices and libraries that are not there.
  void EnableUseGpu(uint64_t, int = 0, PrecisionType = PrecisionType::kFloat32) { Refuse("EnableUseGpu"); }
  void EnableXpu(int = 0) { Refuse("EnableXpu"); }
  void EnableTensorRtEngine(int64_t = 0, int32_t = 1, int = 3, PrecisionType = PrecisionType::kFloat32, bool = false, bool = true) {
    Refuse("EnableTensorRtEngine");
  }
  void EnableONNXRuntime() { Refuse("EnableONNXRuntime"); }
  void DisableGpu() {}
  bool use_gpu() const { return false; }
  bool use_xpu() const { return false; }
  bool tensorrt_engine_enabled() const { return false; }

  // Settings that nothing depends on.
  void SwitchIrOptim(int on = 1) { ir_optim_ = on != 0; }
  bool ir_optim() const { return ir_optim_; }
  void EnableMKLDNN() { mkldnn_ = true; }
  void DisableMKLDNN() { mkldnn_ = false; }
  bool mkldnn_enabled() const { return mkldnn_; }
  void SetMkldnnCacheCapacity(int) {}
  void EnableONEDNN() { EnableMKLDNN(); }
  void DisableONEDNN() { DisableMKLDNN(); }
  bool onednn_enabled() const { return mkldnn_; }
  void SetOnednnCacheCapacity(int) {}
  void EnableMemoryOptim(bool on = true) { memory_optim_ = on; }
  bool enable_memory_optim() const { return memory_optim_; }
  void SwitchUseFeedFetchOps(int = 0) {}
  void SwitchSpecifyInputNames(bool = true) {}
  void SwitchIrDebug(int = 0) {}
  void EnableNewExecutor(bool = true) {}
  void EnableNewIR(bool = true) {}
  void DisableGlogInfo() { glog_ = false; }
  bool glog_info_disabled() const { return !glog_; }

  std::string Summary() const {
    const std::string model = buffered_ ? "in memory" : model_dir_.empty() ? prog_file_ : model_dir_;
    return "model: " + model + "\nparameters: " + params_file_ + "\nthreads: " + std::to_string(threads_) + "\n";
  }

 private:
  friend class Predictor;
  static void Refuse(const char* name) { throw std::runtime_error(std::string(name) + " asks for what this library does not have"); }

  umiak_predictor* Create() const {
    umiak_predictor* predictor = nullptr;
    umiak_options options{};
    options.threads = threads_;
    if (buffered_) {
      details::Check(umiak_predictor_create_from_memory(prog_buffer_.data(), prog_buffer_.size(), params_buffer_.data(),
                                                        params_buffer_.size(), &options, &predictor));
    } else {
      const std::string& model = model_dir_.empty() ? prog_file_ : model_dir_;
      details::Check(umiak_predictor_create(model.empty() ? nullptr : model.c_str(),
                                            params_file_.empty() ? nullptr : params_file_.c_str(), &options, &predictor));
    }
    return predictor;
  }

  std::string model_dir_, prog_file_, params_file_, prog_buffer_, params_buffer_;
  bool buffered_ = false, ir_optim_ = true, mkldnn_ = true, memory_optim_ = false, glog_ = true;
  int threads_ = 1;
};

/// An input or output of a predictor, as long as that lives.
class Tensor {
 public:
  /// Say which sizes the next data of an input have.
  void Reshape(const std::vector<int>& shape) { Input().shape.assign(shape.begin(), shape.end()); }

  /// Copy data to an input of the sizes that Reshape was given, or that the model has.
  template <typename T>
  void CopyFromCpu(const T* data) {
    Require<T>();
    Sizes();
    state_->Set(index_, data);
  }

  /// Take data for the next runs; they are copied.
  template <typename T>
  void ShareExternalData(const T* data, const std::vector<int>& shape, PlaceType place, DataLayout = DataLayout::kNCHW) {
    RequireCpu(place);
    Reshape(shape);
    CopyFromCpu(data);
  }

  /// Memory of an input, to be filled before the next run.
  template <typename T>
  T* mutable_data(PlaceType place) {
    RequireCpu(place);
    Require<T>();
    size_t bytes = sizeof(T);
    for (int64_t n : Sizes()) bytes *= static_cast<size_t>(n);
    auto& input = Input();
    input.staged.resize(bytes + alignof(T));
    input.has_staged = true;
    return reinterpret_cast<T*>(input.staged.data());
  }

  /// Copy an output, whose data must have room.
  template <typename T>
  void CopyToCpu(T* data) const {
    PlaceType place;
    int size = 0;
    const T* from = this->data<T>(&place, &size);
    std::memcpy(data, from, static_cast<size_t>(size) * sizeof(T));
  }

  /// The data of an output; `size` elements.
  template <typename T>
  T* data(PlaceType* place, int* size) const {
    Require<T>();
    const void* data = nullptr;
    size_t bytes = 0;
    if (input_) throw std::runtime_error(name_ + " is an input: its data were copied");
    details::Check(umiak_output_data(state_->predictor, index_, &data, &bytes));
    if (place) *place = PlaceType::kCPU;
    if (size) *size = static_cast<int>(bytes / sizeof(T));
    return static_cast<T*>(const_cast<void*>(data));
  }

  std::vector<int> shape() const {
    if (input_ && !state_->inputs[index_].shape.empty()) {
      const auto& set = state_->inputs[index_].shape;
      return std::vector<int>(set.begin(), set.end());
    }
    const umiak_tensor_info info = state_->Info(index_, input_);
    return std::vector<int>(info.shape, info.shape + info.rank);
  }
  DataType type() const { return details::ToDataType(state_->Info(index_, input_).dtype); }
  PlaceType place() const { return PlaceType::kCPU; }
  const std::string& name() const { return name_; }

 private:
  friend class Predictor;
  Tensor(std::shared_ptr<details::State> state, std::string name, size_t index, bool input)
      : state_(std::move(state)), name_(std::move(name)), index_(index), input_(input) {}

  details::State::Input& Input() {
    if (!input_) throw std::runtime_error(name_ + " is an output");
    return state_->inputs[index_];
  }
  /// The sizes of an input: those that were set, else the model's.
  const std::vector<int64_t>& Sizes() {
    auto& input = Input();
    const umiak_tensor_info info = state_->Info(index_, true);
    if (input.shape.empty()) {
      for (int i = 0; i < info.rank; i++)
        if (info.shape[i] < 0) throw std::runtime_error("Reshape " + name_ + " first: the model leaves its sizes open");
      input.shape.assign(info.shape, info.shape + info.rank);
    }
    return input.shape;
  }
  template <typename T>
  void Require() const {
    if (!details::Holds<T>(state_->Info(index_, input_).dtype)) throw std::runtime_error(name_ + " has elements of another type");
  }
  static void RequireCpu(PlaceType place) {
    if (place != PlaceType::kCPU) throw std::runtime_error("only memory of the host is there: PlaceType::kCPU");
  }

  std::shared_ptr<details::State> state_;
  std::string name_;
  size_t index_;
  bool input_;
};

/// A model that was loaded. One thread at a time uses it; others use clones.
class Predictor {
 public:
  explicit Predictor(const Config& config) : state_(std::make_shared<details::State>(config.Create())) {}
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  std::vector<std::string> GetInputNames() const { return Names(true); }
  std::vector<std::string> GetOutputNames() const { return Names(false); }
  std::map<std::string, std::vector<int64_t>> GetInputTensorShape() const { return Shapes(true); }
  std::map<std::string, DataType> GetInputTypes() const { return Types(true); }
  /// Sizes that are known only later are -1; all are known after a run.
  std::map<std::string, std::vector<int64_t>> GetOutputTensorShape() const { return Shapes(false); }
  std::map<std::string, DataType> GetOutputTypes() const { return Types(false); }
  std::unique_ptr<Tensor> GetInputHandle(const std::string& name) { return Handle(name, true); }
  std::unique_ptr<Tensor> GetOutputHandle(const std::string& name) { return Handle(name, false); }

  bool Run() {
    state_->Flush();
    details::Check(umiak_run(state_->predictor));
    return true;
  }
  std::unique_ptr<Predictor> Clone(void* stream = nullptr) const {
    if (stream) throw std::runtime_error("there are no streams: Clone takes none");
    umiak_predictor* clone = nullptr;
    details::Check(umiak_predictor_clone(state_->predictor, &clone));
    return std::unique_ptr<Predictor>(new Predictor(clone));
  }
  void ClearIntermediateTensor() {}
  uint64_t TryShrinkMemory() { return 0; }

 private:
  explicit Predictor(umiak_predictor* predictor) : state_(std::make_shared<details::State>(predictor)) {}

  size_t Count(bool input) const {
    size_t count = 0;
    details::Check(input ? umiak_input_count(state_->predictor, &count) : umiak_output_count(state_->predictor, &count));
    return count;
  }
  std::vector<std::string> Names(bool input) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < Count(input); i++) names.emplace_back(state_->Info(i, input).name);
    return names;
  }
  std::map<std::string, std::vector<int64_t>> Shapes(bool input) const {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (size_t i = 0; i < Count(input); i++) {
      const umiak_tensor_info info = state_->Info(i, input);
      shapes[info.name].assign(info.shape, info.shape + info.rank);
    }
    return shapes;
  }
  std::map<std::string, DataType> Types(bool input) const {
    std::map<std::string, DataType> types;
    for (size_t i = 0; i < Count(input); i++) types[state_->Info(i, input).name] = details::ToDataType(state_->Info(i, input).dtype);
    return types;
  }
  std::unique_ptr<Tensor> Handle(const std::string& name, bool input) {
    size_t index = 0;
    details::Check(input ? umiak_input_index(state_->predictor, name.c_str(), &index)
                         : umiak_output_index(state_->predictor, name.c_str(), &index));
    return std::unique_ptr<Tensor>(new Tensor(state_, name, index, input));
  }

  std::shared_ptr<details::State> state_;
};

inline std::shared_ptr<Predictor> CreatePredictor(const Config& config) { return std::make_shared<Predictor>(config); }

namespace services {

/// Several predictors of one model, for as many threads.
class PredictorPool {
 public:
  explicit PredictorPool(const Config& config, size_t size = 1) {
    if (size < 1) throw std::runtime_error("a pool has at least one predictor");
    predictors_.emplace_back(new Predictor(config));
    while (predictors_.size() < size) predictors_.push_back(predictors_[0]->Clone());
  }
  Predictor* Retrieve(size_t index) {
    if (index >= predictors_.size()) throw std::runtime_error("the pool has fewer predictors");
    return predictors_[index].get();
  }

 private:
  std::vector<std::unique_ptr<Predictor>> predictors_;
};

}  // namespace services
}  // namespace paddle_infer

#endif
