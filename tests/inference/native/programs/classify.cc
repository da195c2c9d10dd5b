// A program as PaddlePaddle's users write it for one image: files on the command line, the sum of the first output on the output.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "paddle/include/paddle_inference_api.h"

using paddle_infer::Config;
using paddle_infer::CreatePredictor;
using paddle_infer::Predictor;

std::shared_ptr<Predictor> InitPredictor(const std::string& model, const std::string& params, bool use_gpu) {
  Config config;
  if (model != "-") config.SetModel(model, params);
  if (use_gpu) {
    config.EnableUseGpu(100, 0);
  } else if (model != "-") {
    config.EnableMKLDNN();
  }
  config.EnableMemoryOptim();
  return CreatePredictor(config);
}

void Run(Predictor* predictor, const std::vector<float>& input, const std::vector<int>& input_shape, std::vector<float>* out_data) {
  auto input_names = predictor->GetInputNames();
  auto input_t = predictor->GetInputHandle(input_names[0]);
  input_t->Reshape(input_shape);
  input_t->CopyFromCpu(input.data());
  if (!predictor->Run()) std::abort();
  auto output_names = predictor->GetOutputNames();
  auto output_t = predictor->GetOutputHandle(output_names[0]);
  std::vector<int> output_shape = output_t->shape();
  int out_num = std::accumulate(output_shape.begin(), output_shape.end(), 1, std::multiplies<int>());
  out_data->resize(out_num);
  output_t->CopyToCpu(out_data->data());
}

int main(int, char** argv) {
  auto predictor = InitPredictor(argv[1], argv[2], false);
  std::vector<int> input_shape = {2, 3, 8, 8};
  std::vector<float> input_data(2 * 3 * 8 * 8);
  for (size_t i = 0; i < input_data.size(); ++i) input_data[i] = static_cast<float>(i % 255) * 0.1f;
  std::vector<float> out_data;
  Run(predictor.get(), input_data, input_shape, &out_data);
  std::cout << std::accumulate(out_data.begin(), out_data.end(), 0.0) << std::endl;
  return 0;
}
