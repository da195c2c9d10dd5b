// The reference framework's C++ interface of inference, in the namespace paddle_infer, over umiak_inference.h: headers alone.
//
// Programs link libumiak_inference.so or a compiled model. Errors are thrown as std::runtime_error, with the words of the
// library. A compiled model is created with a Config that names no model, or its file of weights as the program's; what it cannot do
// throws, too. Not here, so that programs which need it are not compiled: tensors of texts (ReshapeStrings, CopyStringsFromCpu), the
// interface before paddle_infer (PaddlePredictor, ZeroCopyTensor, ToNativeConfig), structs of settings of IPUs and XPUs, and
// paddle_infer::contrib and ::experimental.
#ifndef PADDLE_INFERENCE_API_H
#define PADDLE_INFERENCE_API_H

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "paddle_analysis_config.h"
#include "paddle_tensor.h"
#include "paddle_tensor_value.h"
#include "umiak_inference.h"

namespace paddle_infer {

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
    state_->Run();
    return true;
  }
  /// A run of tensors: one that has a name is the input of that name, others are the inputs in order. Results are copies, with the
  /// names of the outputs.
  bool Run(const std::vector<paddle::Tensor>& inputs, std::vector<paddle::Tensor>* outputs) {
    if (!outputs) throw std::runtime_error("Run requires a vector for outputs, got nullptr");
    if (inputs.size() != Count(true))
      throw std::runtime_error("Run requires " + std::to_string(Count(true)) + " inputs, got " + std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); i++) {
      const paddle::Tensor& x = inputs[i];
      size_t index = i;
      if (!x.name().empty()) details::Check(umiak_input_index(state_->predictor, x.name().c_str(), &index));
      details::Check(umiak_set_input(state_->predictor, index, x.data(), static_cast<umiak_dtype>(x.dtype()),
                                     static_cast<int32_t>(x.shape().size()), x.shape().data()));
      state_->inputs[index].shape = x.shape();
      state_->Give(index);
      state_->inputs[index].has_staged = false;
    }
    Run();
    outputs->clear();
    for (size_t i = 0; i < Count(false); i++) {
      const umiak_tensor_info info = state_->Info(i, false);
      const void* data = nullptr;
      size_t bytes = 0;
      details::Check(umiak_output_data(state_->predictor, i, &data, &bytes));
      paddle::Tensor y(std::vector<int64_t>(info.shape, info.shape + info.rank), static_cast<paddle::DataType>(info.dtype));
      if (bytes) std::memcpy(y.data(), data, bytes);
      y.set_name(info.name);
      outputs->push_back(y);
    }
    return true;
  }
  /// Have a function called with the operation, a name and the tensor, for every operand or every result. Operations then run one by
  /// one. What it throws ends the run. The tensor's data are there during the call only.
  void RegisterInputHook(const InputTensorHookFunc& hook) { state_->AddHook(UMIAK_HOOK_INPUTS, hook); }
  void RegisterOutputHook(const OutputTensorHookFunc& hook) { state_->AddHook(UMIAK_HOOK_OUTPUTS, hook); }
  std::unique_ptr<Predictor> Clone(void* stream = nullptr) const {
    if (stream) throw std::runtime_error("there are no streams: Clone takes none");
    umiak_predictor* clone = nullptr;
    details::Check(umiak_predictor_clone(state_->predictor, &clone));
    return std::unique_ptr<Predictor>(new Predictor(clone));
  }
  /// Let go of values inside that are kept between runs, and of outputs.
  void ClearIntermediateTensor() { details::Check(umiak_clear_intermediates(state_->predictor)); }
  uint64_t TryShrinkMemory() {
    uint64_t bytes = 0;
    details::Check(umiak_shrink_memory(state_->predictor, &bytes));
    return bytes;
  }
  void* GetExecStream() const { return nullptr; }

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

inline int GetNumBytesOfDataType(DataType dtype) { return static_cast<int>(umiak_dtype_bytes(details::FromDataType(dtype))); }
inline std::string GetVersion() { return std::string("version: ") + umiak_version(); }
inline std::tuple<int, int, int> GetTrtCompileVersion() { return std::make_tuple(0, 0, 0); }
inline std::tuple<int, int, int> GetTrtRuntimeVersion() { return std::make_tuple(0, 0, 0); }

/// Write a model as one that computes in float16 or bfloat16 what loses little by it; files are the same for all devices.
inline void ConvertToMixedPrecision(const std::string& model_file, const std::string& params_file, const std::string& mixed_model_file,
                                    const std::string& mixed_params_file, PrecisionType mixed_precision, PlaceType backend,
                                    bool keep_io_types = true, std::unordered_set<std::string> black_list = {},
                                    std::unordered_set<std::string> white_list = {}) {
  static_cast<void>(backend);
  if (mixed_precision != PrecisionType::kHalf && mixed_precision != PrecisionType::kBf16)
    throw std::runtime_error("ConvertToMixedPrecision requires PrecisionType::kHalf or PrecisionType::kBf16");
  details::Settings settings;
  settings.Add("keep_io_types", keep_io_types ? "1" : "0");
  if (!black_list.empty()) settings.Add("black_list", details::Joined(black_list));
  if (!white_list.empty()) settings.Add("white_list", details::Joined(white_list));
  const umiak_options options = settings.Options(0);
  const auto given = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
  details::Check(umiak_convert_to_mixed_precision(model_file.c_str(), given(params_file), mixed_model_file.c_str(),
                                                  given(mixed_params_file),
                                                  mixed_precision == PrecisionType::kHalf ? UMIAK_FLOAT16 : UMIAK_BFLOAT16, &options));
}

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
  Predictor* Retrive(size_t index) { return Retrieve(index); }  // as PaddlePaddle 2 spells it

 private:
  std::vector<std::unique_ptr<Predictor>> predictors_;
};

}  // namespace services
}  // namespace paddle_infer

#endif
