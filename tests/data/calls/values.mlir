module @values {
  func.func @i1(%a: i1) -> i1 {
    return %a : i1
  }
  func.func @i8(%a: i8) -> i8 {
    return %a : i8
  }
  func.func @i16(%a: i16) -> i16 {
    return %a : i16
  }
  func.func @i32(%a: i32) -> i32 {
    return %a : i32
  }
  func.func @i64(%a: i64) -> i64 {
    return %a : i64
  }
  func.func @f16(%a: f16) -> f16 {
    return %a : f16
  }
  func.func @bf16(%a: bf16) -> bf16 {
    return %a : bf16
  }
  func.func @f32(%a: f32) -> f32 {
    return %a : f32
  }
  func.func @f64(%a: f64) -> f64 {
    return %a : f64
  }
  func.func @index(%a: index) -> index {
    return %a : index
  }
  func.func @unchecked(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
  func.func @unused(%a: tensor<?xf32>, %b: tensor<3xi32>) -> tensor<?xf32> {
    %0 = arith.addf %a, %a : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  func.func @mixed(%a: tensor<?x3xf32>, %b: i32, %c: f32, %d: tensor<f32>) -> (tensor<?x3xf32>, i32, f32, tensor<f32>) {
    %0 = arith.addf %a, %a : tensor<?x3xf32>
    %1 = arith.addf %d, %d : tensor<f32>
    return %0, %b, %c, %1 : tensor<?x3xf32>, i32, f32, tensor<f32>
  }
  func.func @converted(%a: tensor<?x8xf32>, %b: i32) -> tensor<?x8xf32> attributes {
    iree.reflection = {"iree.abi" = "{\"v\":1,\"a\":[[\"ndarray\",\"f32\",2,null,8],\"i32\"],\"r\":[[\"ndarray\",\"f32\",2,null,8]]}"}
  } {
    %0 = arith.addf %a, %a : tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }
  func.func @flat(%a: i32, %b: tensor<4xf32>) -> tensor<4xf32> attributes {
    iree.reflection = {"iree.abi" = "{\"v\":1,\"a\":[[\"slist\",\"i32\",[\"ndarray\",\"f32\",1,4]]],\"r\":[[\"ndarray\",\"f32\",1,4]]}"}
  } {
    %0 = arith.addf %b, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  util.func public @nested(%a: !util.list<?>) -> i32 attributes {
    iree.reflection = {"iree.abi" = "{\"v\":1,\"a\":[[\"sdict\",[\"x\",[\"ndarray\",\"f32\",1,4]],[\"y\",\"i32\"]]],\"r\":[\"i32\"]}"}
  } {
    %c1 = arith.constant 1 : index
    %0 = util.list.get %a[%c1] : !util.list<?> -> i32
    util.return %0 : i32
  }
  util.func public @equal(%a: !hal.buffer_view, %b: !hal.buffer_view) -> !hal.buffer_view {
    %c0 = arith.constant 0 : index
    %rows = hal.buffer_view.dim<%a : !hal.buffer_view>[0] : index
    %0 = hal.tensor.import %a : !hal.buffer_view -> tensor<?x8xf32>{%rows}
    %1 = hal.tensor.import %b : !hal.buffer_view -> tensor<?x8xf32>{%rows}
    %2 = arith.addf %0, %1 : tensor<?x8xf32>
    %3 = hal.tensor.export %2 : tensor<?x8xf32>{%rows} -> !hal.buffer_view
    util.return %3 : !hal.buffer_view
  }
}
