module {
  func.func @onnx_if(%arg0: !torch.vtensor<[],i1>, %arg1: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.If"(%arg0) : (!torch.vtensor<[],i1>) -> !torch.vtensor<[4],f32> {
      %none_0 = torch.constant.none
      %1 = torch.operator "onnx.Abs"(%arg1) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> 
      torch.operator_terminator %1 : !torch.vtensor<[4],f32>
    }, {
      %none_0 = torch.constant.none
      %1 = torch.operator "onnx.Neg"(%arg1) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> 
      torch.operator_terminator %1 : !torch.vtensor<[4],f32>
    }
    return %0 : !torch.vtensor<[4],f32>
  }
}

