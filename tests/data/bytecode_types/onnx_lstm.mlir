module {
  func.func @onnx_lstm(%arg0: !torch.vtensor<[5,1,4],f32>) -> (!torch.vtensor<[5,1,1,3],f32>, !torch.vtensor<[1,1,3],f32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<w> : tensor<1x12x4xf32>} : () -> !torch.vtensor<[1,12,4],f32> 
    %1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<r> : tensor<1x12x3xf32>} : () -> !torch.vtensor<[1,12,3],f32> 
    %none = torch.constant.none
    %2:2 = torch.operator "onnx.LSTM"(%arg0, %0, %1) {torch.onnx.hidden_size = 3 : si64} : (!torch.vtensor<[5,1,4],f32>, !torch.vtensor<[1,12,4],f32>, !torch.vtensor<[1,12,3],f32>) -> (!torch.vtensor<[5,1,1,3],f32>, !torch.vtensor<[1,1,3],f32>) 
    return %2#0, %2#1 : !torch.vtensor<[5,1,1,3],f32>, !torch.vtensor<[1,1,3],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x080000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F",
      r: "0x080000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F"
    }
  }
#-}

