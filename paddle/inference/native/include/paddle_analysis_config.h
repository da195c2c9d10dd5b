// paddle_infer::Config: which model a predictor runs, and how.
//
// Settings go to the library when a predictor is made, by the names that they have in Python (umiak_setting), and mean what they
// mean there. libumiak_inference.so takes all; a compiled model takes SetCpuMathLibraryNumThreads and EnableProfile, and CreatePredictor
// throws for others. What asks for a device or library that is not there (GPUs, XPUs, TensorRT, OpenVINO, streams) throws at once.
// Settings that have no meaning here, since nothing depends on them, are kept and can be asked for; each group below says so.
#ifndef PADDLE_ANALYSIS_CONFIG_H
#define PADDLE_ANALYSIS_CONFIG_H

#include <map>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "paddle_tensor.h"
#include "umiak_inference.h"

namespace paddle_infer {

enum class PrecisionType { kFloat32 = 0, kInt8, kHalf, kBf16 };

namespace details {

/// Settings, in order.
class Settings {
 public:
  void Add(const std::string& name, const std::string& value = "") { pairs_.emplace_back(name, value); }
  void Put(const std::string& name, const std::string& value = "") {
    Drop(name);
    Add(name, value);
  }
  void Drop(const std::string& name) {
    for (size_t i = pairs_.size(); i-- > 0;)
      if (pairs_[i].first == name) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  bool Has(const std::string& name) const {
    for (const auto& pair : pairs_)
      if (pair.first == name) return true;
    return false;
  }
  void Add(const Settings& others) { pairs_.insert(pairs_.end(), others.pairs_.begin(), others.pairs_.end()); }
  /// As the interface in C takes them, as long as this lives and is left alone.
  umiak_options Options(int threads) {
    umiak_options options{};
    given_.clear();
    for (const auto& pair : pairs_) given_.push_back({pair.first.c_str(), pair.second.c_str()});
    options.threads = threads;
    options.setting_count = static_cast<int32_t>(given_.size());
    options.settings = given_.empty() ? nullptr : given_.data();
    return options;
  }
  const std::vector<std::pair<std::string, std::string>>& Pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::vector<umiak_setting> given_;
};

template <typename Names>
std::string Joined(const Names& names, const char* between = ",") {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

}  // namespace details

/// The list of passes that a model goes through, by the names that they have here; DeletePass knows the reference's names, too. What
/// is wrong with a name is thrown by AllPasses or CreatePredictor.
class PassStrategy {
 public:
  void AppendPass(const std::string& name) { edits_.Add("append_pass", name); }
  void AppendAnalysisPass(const std::string& name) { edits_.Add("append_analysis_pass", name); }
  void InsertPass(size_t index, const std::string& name) { edits_.Add("insert_pass", std::to_string(index) + "," + name); }
  void DeletePass(const std::string& name) { edits_.Add("delete_pass", name); }
  void DeletePass(size_t index) {
    std::vector<std::string> names = AllPasses();
    if (index >= names.size()) throw std::runtime_error("there are " + std::to_string(names.size()) + " passes");
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    edits_.Add("set_passes", details::Joined(names));
  }
  void ClearPasses() { edits_.Add("set_passes"); }
  void TurnOnDebug() { edits_.Add("turn_on_debug"); }
  std::vector<std::string> AllPasses() const { return PassNames(false); }
  std::vector<std::string> AnalysisPasses() const {
    std::vector<std::string> names = PassNames(true);
    names.resize(names.size() - PassNames(false).size());
    return names;
  }
  size_t GetPassIndex(const std::string& name) const {
    const std::vector<std::string> names = AllPasses();
    for (size_t i = 0; i < names.size(); i++)
      if (names[i] == name) return i;
    return static_cast<size_t>(-1);
  }
  std::string DebugString() const {
    std::string text = "Passes to apply:\n";
    for (const std::string& name : PassNames(true)) text += "  - " + name + "\n";
    return text;
  }

 private:
  friend class Config;
  /// The names, of which the library knows those that are there by itself; with the first ones, which run before all others.
  std::vector<std::string> PassNames(bool with_analysis) const {
    details::Settings own;
    for (const auto& pair : edits_.Pairs())
      if (with_analysis || pair.first != "append_analysis_pass") own.Add(pair.first, pair.second);
    const umiak_options options = own.Options(0);
    const char* text = nullptr;
    details::Check(umiak_pass_names(&options, &text));
    std::vector<std::string> names;
    for (std::string rest = text; !rest.empty();) {
      const size_t end = rest.find('\n');
      names.push_back(rest.substr(0, end));
      rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    return names;
  }

  details::Settings edits_;
};

class Config {
 public:
  using Precision = PrecisionType;

  Config() = default;
  explicit Config(const std::string& model_dir) { SetModel(model_dir); }
  Config(const std::string& prog_file, const std::string& params_file) { SetModel(prog_file, params_file); }

  // The model: a folder, or its files, or their contents.
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

  // Narrow types.
  void EnableOnednnBfloat16() { mkldnn_ = true, settings_.Put("enable_onednn_bfloat16"); }
  void EnableMkldnnBfloat16() { EnableOnednnBfloat16(); }
  bool onednn_bfloat16_enabled() const { return settings_.Has("enable_onednn_bfloat16"); }
  bool mkldnn_bfloat16_enabled() const { return onednn_bfloat16_enabled(); }
  void SetBfloat16Op(std::unordered_set<std::string> ops) { settings_.Put("set_bfloat16_op", details::Joined(ops)); }
  void Exp_EnableMixedPrecisionOps(const std::unordered_set<std::string>& ops) {
    settings_.Add("exp_enable_mixed_precision_ops", details::Joined(ops));
  }
  void Exp_DisableMixedPrecisionOps(const std::unordered_set<std::string>& ops) {
    settings_.Add("exp_disable_mixed_precision_ops", details::Joined(ops));
  }
  void EnableLowPrecisionIO(bool on = true) { Switch("enable_low_precision_io", on); }

  // Passes.
  void SwitchIrOptim(int on = 1) {
    settings_.Drop("switch_ir_optim");
    if (!on) settings_.Put("switch_ir_optim", "0");
  }
  bool ir_optim() const { return !settings_.Has("switch_ir_optim"); }
  void SwitchIrDebug(int on = 1, const std::vector<std::string>& passes = {}) {
    settings_.Drop("switch_ir_debug");
    if (on) settings_.Put("switch_ir_debug", "1:" + details::Joined(passes));
  }
  void SetOptimizationLevel(int level) {
    settings_.Drop("set_optimization_level");
    if (level != 2) settings_.Put("set_optimization_level", std::to_string(level));  // 2 is what is done in any case
  }
  PassStrategy* pass_builder() const { return &passes_; }
  void DeletePass(const std::string& name) { passes_.DeletePass(name); }
  void EnableCustomPasses(const std::vector<std::string>& passes, bool custom_pass_only = false) {
    passes_.edits_.Add("enable_custom_passes", (custom_pass_only ? "1:" : "0:") + details::Joined(passes));
  }

  // What is written: times of operations, or of the steps of a compiled model, when the last predictor of a model is gone; sizes
  // of inputs, then too; the model as passes have left it.
  void EnableProfile() { settings_.Put("enable_profile"); }
  bool profile_enabled() const { return settings_.Has("enable_profile"); }
  void CollectShapeRangeInfo(const std::string& path) { shape_file_ = path, settings_.Put("collect_shape_range_info", path); }
  const std::string& shape_range_info_path() const { return shape_file_; }
  bool shape_range_info_collected() const { return !shape_file_.empty(); }
  void SetOptimCacheDir(const std::string& folder) { settings_.Put("set_optim_cache_dir", folder); }
  void EnableSaveOptimModel(bool on = false) { Switch("enable_save_optim_model", on); }
  void UseOptimizedModel(bool on = true) { Switch("use_optimized_model", on); }

  // Sizes that are usual, for which a predictor prepares itself.
  void SetTRTDynamicShapeInfo(const std::map<std::string, std::vector<int>>& least, const std::map<std::string, std::vector<int>>& most,
                              const std::map<std::string, std::vector<int>>& usual, bool = false) {
    std::string text;
    for (const auto& input : usual) {
      if (!least.count(input.first) || !most.count(input.first) || least.size() != usual.size() || most.size() != usual.size())
        throw std::runtime_error("SetTRTDynamicShapeInfo requires the same inputs in all three");
      text += (text.empty() ? "" : "\n") + input.first;
      for (const auto* sizes : {&least.at(input.first), &most.at(input.first), &input.second}) {
        text += ":";
        for (size_t i = 0; i < sizes->size(); i++) text += (i ? "x" : "") + std::to_string((*sizes)[i]);
      }
    }
    settings_.Put("set_trt_dynamic_shape_info", text);
  }
  bool tensorrt_dynamic_shape_enabled() const { return settings_.Has("set_trt_dynamic_shape_info"); }
  void EnableTunedTensorRtDynamicShape(const std::string& path = "", bool allow_build_at_runtime = true) {
    settings_.Put("enable_tuned_tensorrt_dynamic_shape", (allow_build_at_runtime ? "1:" : "0:") + path);
  }
  bool tuned_tensorrt_dynamic_shape() const { return settings_.Has("enable_tuned_tensorrt_dynamic_shape"); }

  // ONNX Runtime, where the environment of libumiak_inference.so has it.
  void EnableONNXRuntime() { settings_.Put("enable_onnxruntime"); }
  void DisableONNXRuntime() { settings_.Drop("enable_onnxruntime"); }
  bool use_onnxruntime() const { return settings_.Has("enable_onnxruntime"); }

  // Devices and libraries that are not there.
  void EnableUseGpu(uint64_t, int = 0, PrecisionType = PrecisionType::kFloat32) { Refuse("EnableUseGpu"); }
  void EnableXpu(int = 0xfffc00, bool = false, bool = true, const std::string& = "", const std::string& = "", bool = false,
                 bool = false) {
    Refuse("EnableXpu");
  }
  void EnableIpu(int = 1, int = 1, bool = false, int = 1) { Refuse("EnableIpu"); }
  void EnableCustomDevice(const std::string&, int = 0, PrecisionType = PrecisionType::kFloat32) { Refuse("EnableCustomDevice"); }
  void EnableTensorRtEngine(int64_t = 1 << 30, int32_t = 1, int = 3, PrecisionType = PrecisionType::kFloat32, bool = false,
                            bool = true, bool = false) {
    Refuse("EnableTensorRtEngine");
  }
  void EnableOpenVINOEngine(PrecisionType = PrecisionType::kFloat32) { Refuse("EnableOpenVINOEngine"); }
  void SetXpuDeviceId(int = 0) { Refuse("SetXpuDeviceId"); }
  void EnableCUDNN() { Refuse("EnableCUDNN"); }
  void SetExecStream(void*) { Refuse("SetExecStream"); }
  void DisableGpu() {}
  bool use_gpu() const { return false; }
  bool use_xpu() const { return false; }
  bool use_custom_device() const { return false; }
  int gpu_device_id() const { return 0; }
  int memory_pool_init_size_mb() const { return 0; }
  float fraction_of_gpu_memory_for_pool() const { return 0; }
  bool tensorrt_engine_enabled() const { return false; }
  bool openvino_engine_enabled() const { return false; }
  bool external_stream_enabled() const { return false; }
  void* GetExecStream() const { return nullptr; }

  // Settings of TensorRT and of GPUs, which mean nothing without them.
  void EnableVarseqlen() {}
  void EnableTensorRtDLA(int = 0) {}
  void EnableTensorRtInspector(bool = false) {}
  void EnableTensorRtExplicitQuantization() {}
  void EnableTensorRTMemoryOptim(bool = true, int = 0) {}
  void SetTensorRtOptimizationLevel(int) {}
  void Exp_DisableTensorRtOPs(const std::vector<std::string>&) {}
  void Exp_DisableTensorRtSubgraph(const std::vector<std::string>&) {}
  void Exp_DisableTensorRTDynamicShapeOPs(bool) {}
  void Exp_SpecifyTensorRTSubgraphPrecision(const std::vector<std::string>&, const std::vector<std::string>&,
                                            const std::vector<std::string>&) {}
  void MarkTrtEngineOutputs(const std::vector<std::string>& = {}) {}
  bool tensorrt_varseqlen_enabled() const { return false; }
  bool tensorrt_dla_enabled() const { return false; }
  bool tensorrt_inspector_enabled() const { return false; }
  bool tensorrt_explicit_quantization_enabled() const { return false; }
  void Exp_EnableUseCutlass() {}
  void EnableGpuMultiStream() {}

  // Settings that nothing depends on: oneDNN is asked where it is fastest, memory is shared and programs are compiled in any case,
  // inputs have names, and nothing is logged.
  void EnableMKLDNN() { mkldnn_ = true; }
  void DisableMKLDNN() {
    mkldnn_ = int8_ = false;
    settings_.Drop("enable_onednn_bfloat16"), settings_.Drop("set_bfloat16_op");
  }
  bool mkldnn_enabled() const { return mkldnn_; }
  void SetMkldnnCacheCapacity(int) {}
  void SetMKLDNNOp(std::unordered_set<std::string>) {}
  void DisableMkldnnFcPasses() {}
  void EnableMkldnnInt8(const std::unordered_set<std::string>& = {}) { mkldnn_ = int8_ = true; }
  bool mkldnn_int8_enabled() const { return int8_; }
  void EnableONEDNN() { EnableMKLDNN(); }
  void DisableONEDNN() { DisableMKLDNN(); }
  bool onednn_enabled() const { return mkldnn_; }
  void SetOnednnCacheCapacity(int) {}
  void SetONEDNNOp(std::unordered_set<std::string>) {}
  void DisableOnednnFcPasses() {}
  void EnableOnednnInt8(const std::unordered_set<std::string>& = {}) { EnableMkldnnInt8(); }
  bool onednn_int8_enabled() const { return int8_; }
  void EnableORTOptimization() {}
  void EnableMemoryOptim(bool on = true) { memory_optim_ = on; }
  bool enable_memory_optim() const { return memory_optim_; }
  void SwitchUseFeedFetchOps(int on = 1) { feed_fetch_ = on != 0; }
  bool use_feed_fetch_ops_enabled() const { return feed_fetch_; }
  void SwitchSpecifyInputNames(bool on = true) { names_ = on; }
  bool specify_input_name() const { return names_; }
  void EnableNewExecutor(bool = true) {}
  void EnableNewIR(bool on = true) { new_ir_ = on; }
  bool new_ir_enabled() const { return new_ir_; }
  void EnableCINN() { cinn_ = true; }
  bool cinn_enabled() const { return cinn_; }
  void DisableFCPadding() {}
  void DisableGlogInfo() { glog_ = false; }
  bool glog_info_disabled() const { return !glog_; }

  std::string Summary() const {
    const std::string model = buffered_ ? "in memory" : model_dir_.empty() ? prog_file_ : model_dir_;
    std::string text = "model: " + model + "\nparameters: " + params_file_ + "\nthreads: " + std::to_string(threads_) + "\n";
    const details::Settings all = All();
    for (const auto& pair : all.Pairs()) text += pair.first + ": " + (pair.second.empty() ? "yes" : pair.second) + "\n";
    return text;
  }

 private:
  friend class Predictor;
  static void Refuse(const char* name) { throw std::runtime_error(std::string(name) + " asks for what this library does not have"); }

  void Switch(const char* name, bool on) {
    settings_.Drop(name);
    if (on) settings_.Put(name, "1");
  }

  details::Settings All() const {
    details::Settings all = settings_;
    all.Add(passes_.edits_);
    return all;
  }

  umiak_predictor* Create() const {
    umiak_predictor* predictor = nullptr;
    details::Settings all = All();
    const umiak_options options = all.Options(threads_);
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

  std::string model_dir_, prog_file_, params_file_, prog_buffer_, params_buffer_, shape_file_;
  details::Settings settings_;
  mutable PassStrategy passes_;
  bool buffered_ = false, mkldnn_ = true, int8_ = false, memory_optim_ = false, glog_ = true, feed_fetch_ = false, names_ = false,
       new_ir_ = false, cinn_ = false;
  int threads_ = 1;
};

}  // namespace paddle_infer

namespace paddle {
using AnalysisConfig = paddle_infer::Config;
using PassStrategy = paddle_infer::PassStrategy;
using PaddlePassBuilder = paddle_infer::PassStrategy;
}  // namespace paddle

#endif
