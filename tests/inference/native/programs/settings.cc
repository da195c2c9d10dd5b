// What the C++ face has beyond a run: settings, passes, hooks, runs of tensors, conversions. Prints a profile and "done".
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "paddle_inference_api.h"

using namespace paddle_infer;

template <typename F>
void Refused(F f, const std::string& words) {
  try {
    f();
    std::printf("not refused: %s\n", words.c_str());
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find(words) != std::string::npos) return;
    std::printf("%s\n", error.what());
  }
  std::exit(1);
}

static const std::vector<float> kImage(3 * 8 * 8, 0.3f);

static std::vector<float> Run(const Config& config) {
  auto predictor = CreatePredictor(config);
  auto input = predictor->GetInputHandle("x");
  input->Reshape({1, 3, 8, 8});
  input->CopyFromCpu(kImage.data());
  predictor->Run();
  std::vector<float> got(288);
  predictor->GetOutputHandle(predictor->GetOutputNames()[0])->CopyToCpu(got.data());
  return got;
}

static double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); i++) most = std::fmax(most, std::fabs(a[i] - b[i]));
  return most;
}

static void Settings(const Config& plain, const std::string& folder) {
  const std::vector<float> wanted = Run(plain);
  Config narrow = plain;
  narrow.EnableMkldnnBfloat16();
  assert(narrow.mkldnn_bfloat16_enabled() && !plain.mkldnn_bfloat16_enabled());
  const double off = Distance(Run(narrow), wanted);
  assert(off > 0 && off < 0.05);
  narrow.Exp_DisableMixedPrecisionOps({"conv2d"});
  assert(Distance(Run(narrow), wanted) < 1e-5);
  narrow.DisableONEDNN();
  assert(!narrow.mkldnn_bfloat16_enabled());

  Config raw = plain;
  raw.SwitchIrOptim(false);
  assert(!raw.ir_optim() && Distance(Run(raw), wanted) < 1e-5);
  raw.SwitchIrOptim(true);
  raw.SetOptimizationLevel(1);
  assert(Distance(Run(raw), wanted) < 1e-5);
  raw.SetOptimizationLevel(7);
  Refused([&] { Run(raw); }, "setting set_optimization_level to '7'");

  Config passes = plain;
  PassStrategy* builder = passes.pass_builder();
  const auto all = builder->AllPasses();
  assert(all.size() > 3 && builder->GetPassIndex(all[1]) == 1);
  passes.DeletePass("conv_bn_fuse_pass");  // as the reference calls it
  assert(builder->AllPasses().size() == all.size() - 1);
  builder->DeletePass(size_t{0});
  assert(builder->AllPasses().size() == all.size() - 2);
  builder->InsertPass(0, all[0]);
  builder->AppendAnalysisPass(all[1]);
  assert(builder->AllPasses()[0] == all[0] && builder->AnalysisPasses() == std::vector<std::string>{all[1]});
  assert(builder->DebugString().find("  - " + all[1]) != std::string::npos);
  assert(plain.pass_builder()->AllPasses() == all);
  assert(Distance(Run(passes), wanted) < 1e-5);
  builder->ClearPasses();
  assert(builder->AllPasses().empty());
  builder->AppendPass("no_such_pass");
  Refused([&] { Run(passes); }, "no_such_pass");

  Config recorded = plain;
  recorded.CollectShapeRangeInfo(folder + "/shapes.json");
  assert(recorded.shape_range_info_collected());
  Run(recorded);
  assert(std::ifstream(folder + "/shapes.json").good());
  Config tuned = plain;
  tuned.EnableTunedTensorRtDynamicShape(folder + "/shapes.json");
  assert(Distance(Run(tuned), wanted) == 0);
  tuned.EnableTunedTensorRtDynamicShape(folder + "/none.json");
  Refused([&] { Run(tuned); }, "none.json");
  Config sized = plain;
  sized.SetTRTDynamicShapeInfo({{"x", {1, 3, 8, 8}}}, {{"x", {4, 3, 8, 8}}}, {{"x", {1, 3, 8, 8}}});
  assert(Distance(Run(sized), wanted) == 0);
  assert(sized.Summary().find("set_trt_dynamic_shape_info: x:1x3x8x8:4x3x8x8:1x3x8x8") != std::string::npos);

  ConvertToMixedPrecision(plain.prog_file(), plain.params_file(), folder + "/mixed.json", folder + "/mixed.pdiparams", PrecisionType::kBf16,
                          PlaceType::kCPU, true, {"relu"});
  assert(std::fabs(Distance(Run(Config(folder + "/mixed.json", folder + "/mixed.pdiparams")), wanted) - off) < 0.02);
  Refused([&] { ConvertToMixedPrecision("a", "b", "c", "d", PrecisionType::kInt8, PlaceType::kCPU); }, "kHalf or");
}

static void Runs(const Config& config) {
  auto predictor = CreatePredictor(config);
  std::vector<int64_t> shape = {2, 3, 8, 8};
  paddle::Tensor x = paddle::empty(shape);
  for (int64_t i = 0; i < x.numel(); i++) x.data<float>()[i] = 0.3f;
  std::vector<paddle::Tensor> outputs;
  assert(predictor->Run({x}, &outputs));
  assert(outputs.size() == 1 && outputs[0].name() == predictor->GetOutputNames()[0]);
  assert((outputs[0].shape() == std::vector<int64_t>{2, 288}) && outputs[0].dtype() == paddle::DataType::FLOAT32);
  const std::vector<float> wanted = Run(config);
  for (size_t i = 0; i < 2 * 288; i++) assert(std::fabs(outputs[0].data<float>()[i] - wanted[i % 288]) < 1e-5);
  const std::vector<paddle::Tensor> kept = outputs;
  x.set_name("y");
  Refused([&] { predictor->Run({x}, &outputs); }, "no input called y");
  Refused([&] { predictor->Run({}, &outputs); }, "requires 1 inputs, got 0");
  Refused([&] { predictor->Run({paddle::empty({1, 3, 8, 8}, paddle::DataType::INT64)}, &outputs); }, "as float32");

  auto output = predictor->GetOutputHandle(predictor->GetOutputNames()[0]);
  std::vector<float> got(2 * 288);
  bool done = false;
  output->CopyToCpuAsync(got.data(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &done);
  assert(done && got[7] == kept[0].data<float>()[7]);
  output->CopyToCpuAsync(got.data(), nullptr);
  Refused([&] { output->CopyToCpuAsync(got.data(), &done); }, "there are no streams");
  assert(output->lod().empty());
  Refused([&] { predictor->GetInputHandle("x")->SetLoD({{0, 2}}); }, "[set_lod]");

  predictor->ClearIntermediateTensor();
  Refused([&] { output->CopyToCpu(got.data()); }, "has no data before a run");
  predictor->TryShrinkMemory();
  assert(predictor->Run() && output->shape()[0] == 2);

  std::vector<std::string> before, after;
  predictor->RegisterInputHook([&](const std::string& op, const std::string&, const paddle::Tensor& t) {
    assert(t.initialized());
    before.push_back(op);
  });
  predictor->RegisterOutputHook([&](const std::string& op, const std::string& name, const paddle::Tensor& t) {
    assert(!name.empty() && t.numel() > 0 && t.dtype() == paddle::DataType::FLOAT32);
    after.push_back(op);
  });
  predictor->Run();
  assert(before.size() >= after.size() && !after.empty());
  output->CopyToCpu(got.data());
  assert(std::fabs(got[7] - kept[0].data<float>()[7]) < 1e-5);
  const size_t told = after.size();
  auto clone = predictor->Clone();  // has no hooks
  clone->Run({paddle::empty(shape)}, &outputs);
  assert(after.size() == told);
  predictor->RegisterOutputHook([](const std::string&, const std::string&, const paddle::Tensor&) { throw std::runtime_error("enough"); });
  Refused([&] { predictor->Run(); }, "enough");
}

int main(int, char** arguments) {
  const Config config(arguments[1], arguments[2]);
  Settings(config, arguments[3]);
  Runs(config);
  Config profiled = config;
  profiled.EnableProfile();
  assert(profiled.profile_enabled());
  Run(profiled);  // prints where the time went
  std::puts("done");
}
