module {
  func.func @onnx_transpose(%arg0: !torch.vtensor<[?,?,3],f32>) -> (!torch.vtensor<[?,?,3],f32>, !torch.vtensor<[],f32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Transpose"(%arg0) {torch.onnx.perm = [1 : si64, 0 : si64, 2 : si64]} : (!torch.vtensor<[?,?,3],f32>) -> !torch.vtensor<[?,?,3],f32> 
    %1 = torch.operator "onnx.ReduceSum"(%arg0) {torch.onnx.keepdims = 0 : si64} : (!torch.vtensor<[?,?,3],f32>) -> !torch.vtensor<[],f32> 
    return %0, %1 : !torch.vtensor<[?,?,3],f32>, !torch.vtensor<[],f32>
  }
}

