module {
  func.func @onnx_ints(%arg0: !torch.vtensor<[4],ui8>, %arg1: !torch.vtensor<[2,2],si64>, %arg2: !torch.vtensor<[3],ui32>, %arg3: !torch.vtensor<[],si32>) -> (!torch.vtensor<[4],ui8>, !torch.vtensor<[2,2],si64>, !torch.vtensor<[3],ui32>, !torch.vtensor<[],si32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %none = torch.constant.none
    %0 = torch.operator "onnx.Add"(%arg0, %arg0) : (!torch.vtensor<[4],ui8>, !torch.vtensor<[4],ui8>) -> !torch.vtensor<[4],ui8> 
    %1 = torch.operator "onnx.Add"(%arg1, %arg1) : (!torch.vtensor<[2,2],si64>, !torch.vtensor<[2,2],si64>) -> !torch.vtensor<[2,2],si64> 
    %2 = torch.operator "onnx.Add"(%arg2, %arg2) : (!torch.vtensor<[3],ui32>, !torch.vtensor<[3],ui32>) -> !torch.vtensor<[3],ui32> 
    %3 = torch.operator "onnx.Add"(%arg3, %arg3) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],si32> 
    return %0, %1, %2, %3 : !torch.vtensor<[4],ui8>, !torch.vtensor<[2,2],si64>, !torch.vtensor<[3],ui32>, !torch.vtensor<[],si32>
  }
}

