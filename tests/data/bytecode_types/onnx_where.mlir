module {
  func.func @onnx_where(%arg0: !torch.vtensor<[?],f32>, %arg1: !torch.vtensor<[?],f32>) -> (!torch.vtensor<[?],i1>, !torch.vtensor<[?],f32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Greater"(%arg0, %arg1) : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],i1> 
    %1 = torch.operator "onnx.Where"(%0, %arg0, %arg1) : (!torch.vtensor<[?],i1>, !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> 
    return %0, %1 : !torch.vtensor<[?],i1>, !torch.vtensor<[?],f32>
  }
}

