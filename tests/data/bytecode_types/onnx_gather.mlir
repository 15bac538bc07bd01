module {
  func.func @onnx_gather(%arg0: !torch.vtensor<[?,?],si64>) -> (!torch.vtensor<[?,?,4],f32>, !torch.vtensor<[?,?],si32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<t> : tensor<10x4xf32>} : () -> !torch.vtensor<[10,4],f32> 
    %none = torch.constant.none
    %1 = torch.operator "onnx.Gather"(%0, %arg0) : (!torch.vtensor<[10,4],f32>, !torch.vtensor<[?,?],si64>) -> !torch.vtensor<[?,?,4],f32> 
    %2 = torch.operator "onnx.Cast"(%arg0) {torch.onnx.to = 6 : si64} : (!torch.vtensor<[?,?],si64>) -> !torch.vtensor<[?,?],si32> 
    return %1, %2 : !torch.vtensor<[?,?,4],f32>, !torch.vtensor<[?,?],si32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      t: "0x08000000000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C42"
    }
  }
#-}

