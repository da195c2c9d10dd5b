// Uses of the interface as in programs that read text: a folder, precisions by name, engines where there are GPUs, passes taken out.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "paddle_api.h"
#include "paddle_inference_api.h"

using namespace paddle_infer;

class Recogniser {
 public:
  Recogniser(const std::string& model_dir, bool use_gpu, int threads, bool use_mkldnn, const std::string& precision)
      : use_gpu_(use_gpu), threads_(threads), use_mkldnn_(use_mkldnn), precision_(precision) {
    LoadModel(model_dir);
  }

  void LoadModel(const std::string& model_dir) {
    paddle_infer::Config config;
    config.SetModel(model_dir + "/inference.json", model_dir + "/inference.pdiparams");
    if (use_gpu_) {
      config.EnableUseGpu(500, 0);
      auto precision = paddle_infer::Config::Precision::kFloat32;
      if (precision_ == "fp16") precision = paddle_infer::Config::Precision::kHalf;
      if (precision_ == "int8") precision = paddle_infer::Config::Precision::kInt8;
      config.EnableTensorRtEngine(1 << 20, 10, 3, precision, false, false);
      config.CollectShapeRangeInfo("./shapes.txt");
      config.EnableTunedTensorRtDynamicShape("./shapes.txt", true);
    } else {
      config.DisableGpu();
      if (use_mkldnn_) {
        config.EnableMKLDNN();
        config.SetMkldnnCacheCapacity(10);
        if (precision_ == "bf16") config.EnableMkldnnBfloat16();
      }
      config.SetCpuMathLibraryNumThreads(threads_);
    }
    auto pass_builder = config.pass_builder();
    pass_builder->DeletePass("conv_transpose_eltwiseadd_bn_fuse_pass");
    pass_builder->DeletePass("matmul_transpose_reshape_fuse_pass");
    config.SwitchUseFeedFetchOps(false);
    config.SwitchSpecifyInputNames(true);
    config.SwitchIrOptim(true);
    config.EnableMemoryOptim();
    config.DisableGlogInfo();
    predictor_ = paddle_infer::CreatePredictor(config);
  }

  std::vector<float> Run(const std::vector<float>& input, int height, int width) {
    auto input_names = predictor_->GetInputNames();
    auto input_t = predictor_->GetInputHandle(input_names[0]);
    input_t->Reshape({1, 3, height, width});
    input_t->CopyFromCpu(input.data());
    predictor_->Run();
    std::vector<float> predict_batch;
    auto output_names = predictor_->GetOutputNames();
    auto output_t = predictor_->GetOutputHandle(output_names[0]);
    auto predict_shape = output_t->shape();
    predict_batch.resize(std::accumulate(predict_shape.begin(), predict_shape.end(), 1, std::multiplies<int>()));
    output_t->CopyToCpu(predict_batch.data());
    return predict_batch;
  }

 private:
  std::shared_ptr<Predictor> predictor_;
  bool use_gpu_;
  int threads_;
  bool use_mkldnn_;
  std::string precision_;
};

int main(int, char** argv) {
  const std::vector<float> image(3 * 8 * 8, 0.5f);
  for (const char* precision : {"fp32", "bf16"}) {
    Recogniser recogniser(argv[1], false, 2, true, precision);
    auto out = recogniser.Run(image, 8, 8);
    std::cout << std::accumulate(out.begin(), out.end(), 0.0) << std::endl;
  }
  return 0;
}
