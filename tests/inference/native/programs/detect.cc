// Uses of the interface as in programs that find things in images: several inputs by name, outputs of two types, sizes for engines.
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "paddle_inference_api.h"

class Detector {
 public:
  void LoadModel(const std::string& model_dir, int batch_size, const std::string& run_mode, const std::string& device) {
    paddle_infer::Config config;
    std::string prog_file = model_dir + "/model.json";
    std::string params_file = model_dir + "/model.pdiparams";
    config.SetModel(prog_file, params_file);
    if (device == "GPU") {
      config.EnableUseGpu(200, 0);
      config.SwitchIrOptim(true);
      auto precision = paddle_infer::Config::Precision::kFloat32;
      if (run_mode == "trt_fp16") precision = paddle_infer::Config::Precision::kHalf;
      config.EnableTensorRtEngine(1 << 30, batch_size, 3, precision, false, true);
      const std::map<std::string, std::vector<int>> least = {{"image", {batch_size, 3, 8, 8}}};
      const std::map<std::string, std::vector<int>> most = {{"image", {batch_size, 3, 64, 64}}};
      const std::map<std::string, std::vector<int>> usual = {{"image", {batch_size, 3, 16, 16}}};
      config.SetTRTDynamicShapeInfo(least, most, usual);
    } else if (device == "XPU") {
      config.EnableXpu(10 * 1024 * 1024);
    } else {
      config.DisableGpu();
      config.EnableMKLDNN();
      config.SetMkldnnCacheCapacity(10);
      config.SetCpuMathLibraryNumThreads(1);
    }
    config.SwitchUseFeedFetchOps(false);
    config.SwitchIrOptim(true);
    config.DisableGlogInfo();
    config.EnableMemoryOptim();
    predictor_ = std::move(paddle_infer::CreatePredictor(config));
  }

  void Predict(const std::vector<float>& image, const std::vector<float>& scale) {
    auto input_names = predictor_->GetInputNames();
    for (const auto& tensor_name : input_names) {
      auto in_tensor = predictor_->GetInputHandle(tensor_name);
      if (tensor_name == "image") {
        in_tensor->Reshape({1, 3, 8, 8});
        in_tensor->CopyFromCpu(image.data());
      } else if (tensor_name == "scale_factor") {
        in_tensor->Reshape({1, 2});
        in_tensor->CopyFromCpu(scale.data());
      }
    }
    predictor_->Run();
    auto output_names = predictor_->GetOutputNames();
    for (size_t j = 0; j < output_names.size(); j++) {
      auto output_tensor = predictor_->GetOutputHandle(output_names[j]);
      std::vector<int> output_shape = output_tensor->shape();
      int out_num = std::accumulate(output_shape.begin(), output_shape.end(), 1, std::multiplies<int>());
      if (output_tensor->type() == paddle_infer::DataType::INT32) {
        out_num_data_.resize(out_num);
        output_tensor->CopyToCpu(out_num_data_.data());
        std::cout << "int32 " << std::accumulate(out_num_data_.begin(), out_num_data_.end(), 0) << std::endl;
      } else {
        std::vector<float> out_data(out_num);
        output_tensor->CopyToCpu(out_data.data());
        std::cout << "float " << std::accumulate(out_data.begin(), out_data.end(), 0.0) << std::endl;
      }
    }
  }

 private:
  std::shared_ptr<paddle_infer::Predictor> predictor_;
  std::vector<int> out_num_data_;
};

int main(int, char** argv) {
  Detector detector;
  detector.LoadModel(argv[1], 1, "paddle", "CPU");
  detector.Predict(std::vector<float>(3 * 8 * 8, 0.25f), {2.0f, 4.0f});
  return 0;
}
