module @elements {
  func.func @i1(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
    %0 = stablehlo.and %a, %b : tensor<4xi1>
    return %0 : tensor<4xi1>
  }
  func.func @i8(%a: tensor<4xi8>) -> tensor<4xi8> {
    %0 = stablehlo.add %a, %a : tensor<4xi8>
    return %0 : tensor<4xi8>
  }
  func.func @i16(%a: tensor<4xi16>) -> tensor<4xi16> {
    %0 = stablehlo.add %a, %a : tensor<4xi16>
    return %0 : tensor<4xi16>
  }
  func.func @i32(%a: tensor<4xi32>) -> tensor<4xi32> {
    %0 = stablehlo.add %a, %a : tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func @i64(%a: tensor<4xi64>) -> tensor<4xi64> {
    %0 = stablehlo.add %a, %a : tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func @ui8(%a: tensor<4xui8>) -> tensor<4xui8> {
    %0 = stablehlo.add %a, %a : tensor<4xui8>
    return %0 : tensor<4xui8>
  }
  func.func @ui16(%a: tensor<4xui16>) -> tensor<4xui16> {
    %0 = stablehlo.add %a, %a : tensor<4xui16>
    return %0 : tensor<4xui16>
  }
  func.func @ui32(%a: tensor<4xui32>) -> tensor<4xui32> {
    %0 = stablehlo.add %a, %a : tensor<4xui32>
    return %0 : tensor<4xui32>
  }
  func.func @ui64(%a: tensor<4xui64>) -> tensor<4xui64> {
    %0 = stablehlo.add %a, %a : tensor<4xui64>
    return %0 : tensor<4xui64>
  }
  func.func @f16(%a: tensor<4xf16>) -> tensor<8xf16> {
    %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>
    return %0 : tensor<8xf16>
  }
  func.func @bf16(%a: tensor<4xbf16>) -> tensor<8xbf16> {
    %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<8xbf16>
    return %0 : tensor<8xbf16>
  }
  func.func @f32(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @f64(%a: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.add %a, %a : tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func @f8E4M3FN(%a: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
    %0 = stablehlo.add %a, %a : tensor<4xf8E4M3FN>
    return %0 : tensor<4xf8E4M3FN>
  }
  func.func @i4(%a: tensor<4xi4>) -> tensor<4xi4> {
    %0 = stablehlo.add %a, %a : tensor<4xi4>
    return %0 : tensor<4xi4>
  }
  func.func @complex_f32(%a: tensor<4xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
    %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    return %0 : tensor<8xcomplex<f32>>
  }
}
