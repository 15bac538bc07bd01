module {
  func.func @onnx_shape(%arg0: !torch.vtensor<[?,?,2],f32>) -> !torch.vtensor<[3],si64> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Shape"(%arg0) : (!torch.vtensor<[?,?,2],f32>) -> !torch.vtensor<[3],si64> 
    return %0 : !torch.vtensor<[3],si64>
  }
}

