module {
  func.func @onnx_add(%arg0: !torch.vtensor<[?,4],f32>, %arg1: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Add"(%arg0, %arg1) : (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> 
    return %0 : !torch.vtensor<[?,4],f32>
  }
}

