module {
  func.func @onnx_softmax(%arg0: !torch.vtensor<[?,5],f32>) -> (!torch.vtensor<[?,5],f32>, !torch.vtensor<[?],si64>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Softmax"(%arg0) {torch.onnx.axis = -1 : si64} : (!torch.vtensor<[?,5],f32>) -> !torch.vtensor<[?,5],f32> 
    %1 = torch.operator "onnx.ArgMax"(%arg0) {torch.onnx.axis = 1 : si64, torch.onnx.keepdims = 0 : si64} : (!torch.vtensor<[?,5],f32>) -> !torch.vtensor<[?],si64> 
    return %0, %1 : !torch.vtensor<[?,5],f32>, !torch.vtensor<[?],si64>
  }
}

