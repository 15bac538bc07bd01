module {
  func.func @onnx_bf16(%arg0: !torch.vtensor<[?,2],bf16>) -> !torch.vtensor<[?,2],bf16> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Mul"(%arg0, %arg0) : (!torch.vtensor<[?,2],bf16>, !torch.vtensor<[?,2],bf16>) -> !torch.vtensor<[?,2],bf16> 
    return %0 : !torch.vtensor<[?,2],bf16>
  }
}

